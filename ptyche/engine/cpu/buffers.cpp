#include "ptyche/engine/cpu/buffers.h"

#include "ptyche/engine/cpu/fft_plan.h"

namespace ptyche::cpu {
namespace {

std::int64_t padded(std::int64_t size, int strip) { return (size + strip - 1) / strip * strip; }

/// Numbers in the planes of the tables.
template <class T>
std::int64_t table_numbers(const Geometry<T>& geometry, int strip) {
  const std::int64_t stride = padded(geometry.size, strip);
  return (4 * geometry.modes + (geometry.transfer ? 4 : 2)) * geometry.size * stride + stride;
}

/// Numbers in the planes of a thread.
template <class T>
std::int64_t thread_numbers(const KernelContext<T>& context, int strip) {
  return 2 * context.size * strip +
         ((context.transfer.re ? 10 : 6) * context.modes + 5) * context.size * context.stride +
         2 * (context.size + 1) * strip + 6 * context.frame + 4 * context.stride;
}

/// (N, N) in FFT order -> a plane at the detector.
template <class T, class Value>
const T* load_detector(const KernelContext<T>& context, int strip, const Value* values, T* plane) {
  for_detector(context, strip, [&](std::int64_t at, std::int64_t pixel) {
    plane[at] = static_cast<T>(values[pixel]);
  });
  return plane;
}

/// Divided by N: what comes back from the Fourier space is N^2 times too large, and the wave in the
/// far field N times.
template <class T>
Planes<T> load_transfer(const T* transfer, const KernelContext<T>& context, int strip,
                        Scratch<T>& memory) {
  const std::int64_t plane = context.size * context.stride;
  const Planes<T> to{memory.take(plane), memory.take(plane)};
  const T scale = 1 / static_cast<T>(context.size);
  for_striped(context.size, strip, [&](std::int64_t at, std::int64_t p, std::int64_t row) {
    const T* from = transfer + 2 * (row * context.size + context.fft.order[p]);
    to.re[at] = from[0] * scale;
    to.im[at] = from[1] * scale;
  });
  return to;
}

/// Row-major, or the spectra of a moved probe.
template <class T>
std::vector<Planes<T>> load_probe(const T* probe, const Kernels<T>& kernels,
                                  const KernelContext<T>& context, Scratch<T>& memory) {
  const std::int64_t plane = context.size * context.stride;
  std::vector<Planes<T>> planes;
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    const Planes<T> row_major{memory.take(plane), memory.take(plane)};
    deinterleave(probe + 2 * mode * context.size * context.size, context.size, kernels.strip,
                 row_major);
    planes.push_back(row_major);
    if (!context.moved_probe) continue;
    planes.back() = {memory.take(plane), memory.take(plane)};
    kernels.fft2_transposed(context.fft, context.stride, row_major, planes.back(),
                            1 / static_cast<T>(context.size * context.size));
  }
  return planes;
}

template <class T>
const T* make_frequencies(std::int64_t size, T* frequencies) {
  for (std::int64_t i = 0; i < size; ++i)
    frequencies[i] = static_cast<T>(i < (size + 1) / 2 ? i : i - size) / static_cast<T>(size);
  return frequencies;
}

}  // namespace

template <class T>
OwnedContext<T>::OwnedContext(const Geometry<T>& geometry, const Kernels<T>& kernels)
    : memory_(table_numbers(geometry, kernels.strip)) {
  this->fft = fft_plan<T>(geometry.size).tables();
  this->size = geometry.size;
  this->stride = padded(geometry.size, kernels.strip);
  this->frame = this->stride + 2 * kFrame;
  this->modes = geometry.modes;
  this->moved_probe = geometry.moved_probe;
  const std::int64_t plane = this->size * this->stride;
  probe_planes = load_probe(geometry.probe, kernels, *this, memory_);
  (this->moved_probe ? this->spectrum : this->probe) = probe_planes.data();
  this->frequencies = make_frequencies(this->size, memory_.take(this->stride));
  if (geometry.transfer)
    this->transfer = load_transfer(geometry.transfer, *this, kernels.strip, memory_);
  this->mask = load_detector(*this, kernels.strip, geometry.mask, memory_.take(plane));
  if (geometry.background)
    this->background =
        load_detector(*this, kernels.strip, geometry.background, memory_.take(plane));
}

template <class T>
ThreadBuffers<T>::ThreadBuffers(const KernelContext<T>& context, std::int64_t rows,
                                std::int64_t cols, int strip)
    : memory_(thread_numbers(context, strip)),
      canvas_memory_(5 * (rows + 1) * (cols + 2 * kFrame), false) {
  const std::int64_t plane = context.size * context.stride, modes = 2 * context.modes * plane;
  this->strip = {memory_.take(context.size * strip), memory_.take(context.size * strip)};
  this->waves = memory_.take(modes);
  if (context.moved_probe) {
    this->moved = memory_.take(modes);
    this->weight = memory_.take(plane);
  }
  if (context.transfer.re) this->seen = memory_.take(modes);
  if (context.transfer.re && context.moved_probe) this->spectrum = memory_.take(modes);
  this->probe_gradient = memory_.take(modes);
  this->patch = {memory_.take(plane), memory_.take(plane)};
  this->carry = memory_.take(2 * (context.size + 1) * strip);
  for (MergeRow<T>& row : this->merge_row)
    row = {memory_.take(context.frame) + kFrame, memory_.take(context.frame) + kFrame,
           memory_.take(context.frame) + kFrame};
  this->counts = memory_.take(plane);
  if (context.background) this->background_gradient = memory_.take(plane);
  this->phases = memory_.take(4 * context.stride);
  // A row and some columns more: what a patch between pixels touches with weight 0.
  const std::int64_t stride = cols + 2 * kFrame, area = (rows + 1) * stride;
  const auto canvas_plane = [&] { return canvas_memory_.take(area); };
  gradient = {canvas_plane(), canvas_plane(), nullptr, rows, cols, stride};
  canvas = {canvas_plane(), canvas_plane(), canvas_plane(), rows, cols, stride};
}

template struct OwnedContext<float>;
template struct OwnedContext<double>;
template struct ThreadBuffers<float>;
template struct ThreadBuffers<double>;

}  // namespace ptyche::cpu
