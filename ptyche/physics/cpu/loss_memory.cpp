#include "ptyche/physics/cpu/loss_memory.h"

namespace ptyche::cpu {
namespace {

std::int64_t padded(std::int64_t size, int strip) { return (size + strip - 1) / strip * strip; }

/// (N, N) in FFT order -> turned plane.
template <class T, class Value>
void turn(const LossTask<T>& task, const Value* values, T* plane) {
  for (std::int64_t p = 0; p < task.size; ++p)
    for (std::int64_t r = 0; r < task.size; ++r)
      plane[p * task.stride + r] = static_cast<T>(values[r * task.size + task.fft.order[p]]);
}

/// (N, N) interleaved -> natural planes.
template <class T>
void take_apart(const T* image, std::int64_t size, std::int64_t stride, T* re, T* im) {
  for (std::int64_t r = 0; r < size; ++r)
    for (std::int64_t c = 0; c < size; ++c) {
      re[r * stride + c] = image[2 * (r * size + c)];
      im[r * stride + c] = image[2 * (r * size + c) + 1];
    }
}

template <class T>
LossTask<T> basic_task(const LossCall<T>& call, const FftPlan<T>& plan, int strip) {
  LossTask<T> task;
  task.fft = plan.tables();
  task.size = call.size;
  task.stride = padded(call.size, strip);
  task.modes = call.modes;
  task.kind = call.kind;
  task.floor = static_cast<T>(call.floor);
  task.moved_probe = call.moved_probe;
  task.want_gradient = call.want_gradient;
  return task;
}

template <class T>
void fill_probe(const LossCall<T>& call, const Kernels<T>& kernels, LossTask<T>& task,
                Scratch<T>& memory) {
  const std::int64_t plane = task.stride * task.stride;
  T* probe = memory.take(2 * task.modes * plane);
  T* strip = memory.take(2 * task.size * kernels.strip);
  T* other = memory.take(2 * plane);
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    T *re = probe + mode * plane, *im = probe + (task.modes + mode) * plane;
    take_apart(call.probe + 2 * mode * task.size * task.size, task.size, task.stride, re, im);
    if (task.moved_probe)
      kernels.to_turned(task.fft, task.stride, {re, im}, 1 / static_cast<T>(task.size * task.size),
                        strip, other);
  }
  (task.moved_probe ? task.spectrum_re : task.probe_re) = probe;
  (task.moved_probe ? task.spectrum_im : task.probe_im) = probe + task.modes * plane;
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
    : plan(make_fft_plan<T>(call.size)),
      memory((2 * call.modes + 6) * padded(call.size, kernels.strip) *
                 padded(call.size, kernels.strip) +
             3 * padded(call.size, kernels.strip) * kernels.strip),
      task(basic_task(call, plan, kernels.strip)) {
  const std::int64_t plane = task.stride * task.stride;
  fill_probe(call, kernels, task, memory);
  fill_frequencies(task, memory.take(task.stride));
  T *mask = memory.take(plane), *background = memory.take(plane), *weight = memory.take(plane);
  turn(task, call.mask, mask);
  if (call.background) turn(task, call.background, background);
  for (std::int64_t r = 0; call.merge_weight && r < task.size; ++r)
    for (std::int64_t c = 0; c < task.size; ++c)
      weight[r * task.stride + c] = call.merge_weight[r * task.size + c];
  task.mask = mask;
  task.background = background;
  task.merge_weight = weight;
}

template <class T>
ThreadMemory<T>::ThreadMemory(const LossTask<T>& task, const LossCall<T>& call, int strip)
    : memory(2 * task.modes * task.size * strip + (6 * task.modes + 6) * task.stride * task.stride +
             12 * (task.stride + strip) + 5 * (call.rows + 2) * (call.cols + 2)) {
  const std::int64_t plane = task.stride * task.stride;
  state.strips = memory.take(2 * task.modes * task.size * strip);
  state.waves = memory.take(2 * task.modes * plane);
  if (task.moved_probe) state.moved = memory.take(2 * task.modes * plane);
  state.probe_gradient = memory.take(2 * task.modes * plane);
  state.patch = {memory.take(plane), memory.take(plane)};
  state.patch_gradient = {memory.take(plane), memory.take(plane)};
  state.counts = memory.take(plane);
  state.background_gradient = memory.take(plane);
  state.phases = memory.take(4 * task.stride);
  state.row_buffer = memory.take(8 * (task.stride + strip));
  // A row and a column more: what a patch between pixels touches with weight 0.
  const std::int64_t stride = call.cols + 1, area = (call.rows + 1) * stride;
  gradient = {memory.take(area), memory.take(area), nullptr, call.rows, call.cols, stride};
  canvas = {memory.take(area), memory.take(area), memory.take(area), call.rows, call.cols, stride};
}

template <class T>
void add_turned(const LossTask<T>& task, const T* plane, T* to) {
  for (std::int64_t p = 0; p < task.size; ++p)
    for (std::int64_t r = 0; r < task.size; ++r)
      to[r * task.size + task.fft.order[p]] += plane[p * task.stride + r];
}

template struct SharedTables<float>;
template struct SharedTables<double>;
template struct ThreadMemory<float>;
template struct ThreadMemory<double>;
template void add_turned(const LossTask<float>&, const float*, float*);
template void add_turned(const LossTask<double>&, const double*, double*);

}  // namespace ptyche::cpu
