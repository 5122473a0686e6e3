#include "ptyche/engine/cpu/buffers.h"

namespace ptyche::cpu {
namespace {

std::int64_t padded(std::int64_t size, int strip) { return (size + strip - 1) / strip * strip; }

/// Divided by N: what comes back from the Fourier space is N^2 times too large, and the wave in the
/// far field N times.
template <class T>
void load_transfer(const KernelContext<T>& context, const T* transfer) {
  const T scale = 1 / static_cast<T>(context.size);
  for_striped(context.size, context.kernels.strip, [&](std::int64_t at, auto p, auto row) {
    const T* from = transfer + 2 * (row * context.size + context.fft.order[p]);
    context.transfer.re[at] = from[0] * scale;
    context.transfer.im[at] = from[1] * scale;
  });
}

template <class T>
const T* make_frequencies(std::int64_t size, T* frequencies) {
  for (std::int64_t i = 0; i < size; ++i)
    frequencies[i] = static_cast<T>(i < (size + 1) / 2 ? i : i - size) / static_cast<T>(size);
  return frequencies;
}

/// Where a mode of a moved probe is row-major.
template <class T>
Planes<T> take_planes(const KernelContext<T>& context, Scratch<T>& memory) {
  const std::int64_t plane = context.moved_probe ? context.size * context.stride : 0;
  return {memory.take(plane), memory.take(plane)};
}

}  // namespace

template <class T>
KernelContext<T>::KernelContext(std::int64_t pixels, std::int64_t mode_count, bool moved,
                                const T* transfer_function)
    : kernels(cpu::kernels<T>()),
      fft(fft_tables<T>(pixels)),
      size(pixels),
      stride(padded(pixels, kernels.strip)),
      frame(stride + 2 * kFrame),
      modes(mode_count),
      moved_probe(moved) {
  const std::int64_t plane = size * stride;
  memory_ = new Scratch<T>((2 * modes + (transfer_function ? 4 : 2)) * plane + stride);
  probe = memory_->take(2 * modes * plane);
  frequencies = make_frequencies(size, memory_->take(stride));
  mask_memory_ = memory_->take(plane);
  mask = mask_memory_;
  background_memory_ = memory_->take(plane);
  if (!transfer_function) return;
  transfer = {memory_->take(plane), memory_->take(plane)};
  load_transfer(*this, transfer_function);
}

template <class T>
KernelContext<T>::~KernelContext() {
  delete memory_;
}

template <class T>
void KernelContext<T>::load_mask(const bool* from) {
  for_detector(*this, [&](std::int64_t at, auto pixel) { mask_memory_[at] = from[pixel] ? 1 : 0; });
}

template <class T>
void KernelContext<T>::load_background(const T* from) {
  background = from ? background_memory_ : nullptr;
  if (!from) return;
  for_detector(*this, [&](std::int64_t at, auto pixel) { background_memory_[at] = from[pixel]; });
}

template <class T>
void KernelContext<T>::load_probe(const T* from) {
  Scratch<T> memory(moved_probe ? 2 * size * stride : 0);
  const Planes<T> row_major = take_planes(*this, memory);
  for (std::int64_t mode = 0; mode < modes; ++mode, from += 2 * size * size) {
    const Planes<T> own = mode_planes(*this, probe, mode), to = moved_probe ? row_major : own;
    for_pixels(*this, [&](std::int64_t at, auto pixel) {
      to.re[at] = from[2 * pixel];
      to.im[at] = from[2 * pixel + 1];
    });
    if (moved_probe) kernels.fft2_transposed(fft, stride, to, own, 1 / static_cast<T>(size * size));
  }
}

template <class T>
void interleave_modes(const KernelContext<T>& context, T* block, T scale, T* to) {
  Scratch<T> memory(context.moved_probe ? 2 * context.size * context.stride : 0);
  const Planes<T> row_major = take_planes(context, memory);
  for (std::int64_t mode = 0; mode < context.modes; ++mode, to += 2 * context.size * context.size) {
    Planes<T> from = mode_planes(context, block, mode);
    if (context.moved_probe) {
      context.kernels.ifft2_transposed(context.fft, context.stride, from, row_major, scale);
      from = row_major;
    }
    for_pixels(context, [&](std::int64_t at, auto pixel) {
      to[2 * pixel] = from.re[at];
      to[2 * pixel + 1] = from.im[at];
    });
  }
}

template <class T>
ThreadScratch<T>::ThreadScratch(const KernelContext<T>& shared, std::int64_t rows,
                                std::int64_t cols, std::int64_t groups, Canvases wanted)
    : context(shared) {
  const std::int64_t plane = context.size * context.stride, all_modes = 2 * context.modes * plane;
  const std::int64_t one_strip = context.size * context.kernels.strip;
  const bool near = context.transfer.re != nullptr;
  memory_ = new Scratch<T>(((near ? 10 : 6) * context.modes + 6) * plane + 4 * one_strip +
                               2 * context.kernels.strip + 6 * context.frame + 4 * context.stride,
                           false);
  const auto take = [&](std::int64_t count) { return memory_->take(count); };
  strip = {take(one_strip), take(one_strip)};
  waves = take(all_modes);
  probe = context.moved_probe ? take(all_modes) : context.probe;
  if (context.moved_probe) weight = take(plane);
  if (near) seen = take(all_modes);
  if (near && context.moved_probe) spectrum = take(all_modes);
  probe_gradient = take(all_modes);
  patch = {take(plane), take(plane)};
  carry = take(2 * one_strip + 2 * context.kernels.strip);
  for (MergeRow<T>& row : merge_row)
    row = {take(context.frame) + kFrame, take(context.frame) + kFrame,
           take(context.frame) + kFrame};
  counts = take(plane);
  in_order = take(plane);
  if (context.background) background_gradient = take(plane);
  phases = take(4 * context.stride);
  if (rows == 0) return;
  // A row and some columns more: what a patch between pixels touches with weight 0.
  const std::int64_t canvas_stride = cols + 2 * kFrame, area = (rows + 1) * canvas_stride;
  const std::int64_t planes =
      2 * (wanted.object ? 1 : 0) + (wanted.weight ? 1 : 0) + 2 * (wanted.gradient ? 1 : 0);
  canvas_memory_ = new Scratch<T>(planes * area, false);
  const auto plane_if = [&](bool is) { return is ? canvas_memory_->take(area) : nullptr; };
  gradient = {
      plane_if(wanted.gradient), plane_if(wanted.gradient), nullptr, rows, cols, canvas_stride};
  canvas = {plane_if(wanted.object),
            plane_if(wanted.object),
            plane_if(wanted.weight),
            rows,
            cols,
            canvas_stride};
  moments_memory_ = new Scratch<double>(3 * groups);
  moments = moments_memory_->take(3 * groups);
}

template <class T>
void ThreadScratch<T>::clear() {
  memory_->clear();
}

template <class T>
ThreadScratch<T>::~ThreadScratch() {
  delete memory_;
  delete canvas_memory_;
  delete moments_memory_;
}

template struct KernelContext<float>;
template struct KernelContext<double>;
template struct ThreadScratch<float>;
template struct ThreadScratch<double>;
template void interleave_modes(const KernelContext<float>&, float*, float, float*);
template void interleave_modes(const KernelContext<double>&, double*, double, double*);

}  // namespace ptyche::cpu
