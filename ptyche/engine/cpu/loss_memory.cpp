#include "ptyche/engine/cpu/loss_memory.h"

namespace ptyche::cpu {
namespace {

std::int64_t padded(std::int64_t size, int strip) { return (size + strip - 1) / strip * strip; }

/// Numbers in the planes of the tables, and in those of a thread.
template <class T>
std::int64_t table_numbers(const LossCall<T>& call, int strip) {
  const std::int64_t stride = padded(call.size, strip);
  return (4 * call.modes + (call.transfer ? 4 : 2)) * call.size * stride + stride;
}

/// (N, N) in FFT order -> a plane at the detector.
template <class T, class Value>
void take_detector(const LossTask<T>& task, int strip, const Value* values, T* plane) {
  for_detector(task, strip, [&](std::int64_t at, std::int64_t pixel) {
    plane[at] = static_cast<T>(values[pixel]);
  });
}

/// Divided by N: what comes back from the Fourier space is N^2 times too large, and the wave in the
/// far field N times.
template <class T>
void take_transfer(const LossCall<T>& call, int strip, LossTask<T>& task, Scratch<T>& memory) {
  const std::int64_t plane = task.size * task.stride;
  const Planes<T> to{memory.take(plane), memory.take(plane)};
  const T scale = 1 / static_cast<T>(task.size);
  for_striped(task.size, strip, [&](std::int64_t at, std::int64_t p, std::int64_t row) {
    const T* from = call.transfer + 2 * (row * task.size + task.fft.order[p]);
    to.re[at] = from[0] * scale;
    to.im[at] = from[1] * scale;
  });
  task.transfer = to;
}

/// (N, N) interleaved -> natural planes.
template <class T>
void take_apart(const T* image, std::int64_t size, int strip, Planes<T> to) {
  for_striped(size, strip, [&](std::int64_t at, std::int64_t row, std::int64_t col) {
    to.re[at] = image[2 * (row * size + col)];
    to.im[at] = image[2 * (row * size + col) + 1];
  });
}

template <class T>
LossTask<T> basic_task(const LossCall<T>& call, const FftPlan<T>& plan, int strip) {
  LossTask<T> task;
  task.fft = plan.tables();
  task.size = call.size;
  task.stride = padded(call.size, strip);
  task.frame = task.stride + 2 * kFrame;
  task.modes = call.modes;
  task.kind = call.kind;
  task.floor = static_cast<T>(call.floor);
  task.moved_probe = call.moved_probe;
  task.want_gradient = call.want_gradient;
  task.want_place = call.want_place && !call.moved_probe;
  return task;
}

template <class T>
std::vector<Planes<T>> probe_planes(const LossCall<T>& call, const Kernels<T>& kernels,
                                    const LossTask<T>& task, Scratch<T>& memory) {
  const std::int64_t plane = task.size * task.stride;
  std::vector<Planes<T>> planes;
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const Planes<T> natural{memory.take(plane), memory.take(plane)};
    take_apart(call.probe + 2 * mode * task.size * task.size, task.size, kernels.strip, natural);
    planes.push_back(natural);
    if (!task.moved_probe) continue;
    planes.back() = {memory.take(plane), memory.take(plane)};
    kernels.to_turned(task.fft, task.stride, natural, planes.back(),
                      1 / static_cast<T>(task.size * task.size));
  }
  return planes;
}

template <class T>
void fill_frequencies(LossTask<T>& task, T* frequencies) {
  for (std::int64_t i = 0; i < task.size; ++i)
    frequencies[i] =
        static_cast<T>(i < (task.size + 1) / 2 ? i : i - task.size) / static_cast<T>(task.size);
  task.frequencies = frequencies;
}

}  // namespace

template <class T>
SharedTables<T>::SharedTables(const LossCall<T>& call, const Kernels<T>& kernels)
    : plan(fft_plan<T>(call.size)),
      memory(table_numbers(call, kernels.strip)),
      probe(),
      task(basic_task(call, plan, kernels.strip)) {
  const std::int64_t plane = task.size * task.stride;
  probe = probe_planes(call, kernels, task, memory);
  (task.moved_probe ? task.spectrum : task.probe) = probe.data();
  fill_frequencies(task, memory.take(task.stride));
  if (call.transfer) take_transfer(call, kernels.strip, task, memory);
  T* mask = memory.take(plane);
  take_detector(task, kernels.strip, call.mask, mask);
  task.mask = mask;
  if (!call.background) return;
  T* background = memory.take(plane);
  take_detector(task, kernels.strip, call.background, background);
  task.background = background;
}

template <class T>
ThreadMemory<T>::ThreadMemory(const LossTask<T>& task, const LossCall<T>& call, int strip)
    : memory(2 * task.size * strip +
             ((task.transfer.re ? 10 : 6) * task.modes + 5) * task.size * task.stride +
             2 * (task.size + 1) * strip + 6 * task.frame + 4 * task.stride),
      canvas_memory(5 * (call.rows + 1) * (call.cols + 2 * kFrame), false) {
  const std::int64_t plane = task.size * task.stride;
  state.strip = {memory.take(task.size * strip), memory.take(task.size * strip)};
  state.waves = memory.take(2 * task.modes * plane);
  if (task.moved_probe) {
    state.moved = memory.take(2 * task.modes * plane);
    state.weight = memory.take(plane);
  }
  if (task.transfer.re) state.seen = memory.take(2 * task.modes * plane);
  if (task.transfer.re && task.moved_probe) state.spectrum = memory.take(2 * task.modes * plane);
  state.probe_gradient = memory.take(2 * task.modes * plane);
  state.patch = {memory.take(plane), memory.take(plane)};
  state.carry = memory.take(2 * (task.size + 1) * strip);
  for (MergeRow<T>& row : state.merge_row)
    row = {memory.take(task.frame) + kFrame, memory.take(task.frame) + kFrame,
           memory.take(task.frame) + kFrame};
  state.counts = memory.take(plane);
  if (task.background) state.background_gradient = memory.take(plane);
  state.phases = memory.take(4 * task.stride);
  // A row and some columns more: what a patch between pixels touches with weight 0.
  const std::int64_t stride = call.cols + 2 * kFrame, area = (call.rows + 1) * stride;
  const auto plane_of_canvas = [&] { return canvas_memory.take(area); };
  gradient = {plane_of_canvas(), plane_of_canvas(), nullptr, call.rows, call.cols, stride};
  canvas = {plane_of_canvas(), plane_of_canvas(), plane_of_canvas(), call.rows, call.cols, stride};
}

template struct SharedTables<float>;
template struct SharedTables<double>;
template struct ThreadMemory<float>;
template struct ThreadMemory<double>;

}  // namespace ptyche::cpu
