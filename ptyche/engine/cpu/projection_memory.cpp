#include "ptyche/engine/cpu/projection_memory.h"

#include <algorithm>

namespace ptyche::cpu {
namespace {

template <class T>
std::int64_t numbers(const LossTask<T>& task, const LossCall<T>& call, std::int64_t batch,
                     int threads, int strip) {
  const std::int64_t plane = task.size * task.stride, modes = 2 * task.modes * plane;
  const std::int64_t area = (call.rows + 1) * (call.cols + 2 * kFrame);
  const std::int64_t thread = 2 * task.size * strip + 3 * modes + 2 * plane + 4 * task.stride;
  const std::int64_t share = 3 * (task.size + 2) * task.frame + modes;
  // What is handed out begins at a cache line each time.
  const std::int64_t pieces = 16 * (batch + threads + 2);
  return 5 * area + modes + plane + threads * thread + batch * share + 16 * pieces;
}

/// A cache line for each piece more.
template <class T>
std::int64_t pattern_numbers(const LossTask<T>& task, const LossCall<T>& call, bool keep_waves) {
  const std::int64_t plane = task.size * task.stride;
  return call.patterns * plane * (keep_waves ? 1 + 2 * task.modes : 1) + 64;
}

/// One place of striped planes to interleaved, or back.
template <class T, class Move>
void for_pixels(const LossTask<T>& task, int strip, const Move& move) {
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t c = 0; c < task.size; ++c)
      move(striped_index(task.size, strip, r, c), 2 * (r * task.size + c));
}

}  // namespace

template <class T>
ProjectionMemory<T>::ProjectionMemory(const LossCall<T>& call, bool keep_waves, std::int64_t batch,
                                      int thread_count)
    : kernels(cpu::kernels<T>()),
      tables(call, kernels),
      task(tables.task),
      places(call.places),
      memory(numbers(task, call, batch, thread_count, kernels.strip)),
      pattern_memory(pattern_numbers(task, call, keep_waves)) {
  task.floor = static_cast<T>(kProjectionFloor);
  probe = memory.take(mode_numbers());
  for (std::int64_t mode = 0; mode < task.modes; ++mode)
    probe_planes.push_back({probe + 2 * mode * plane(), probe + (2 * mode + 1) * plane()});
  (task.moved_probe ? task.spectrum : task.probe) = probe_planes.data();
  amplitudes = pattern_memory.take(call.patterns * plane());
  if (keep_waves) waves = pattern_memory.take(call.patterns * mode_numbers());
  background = memory.take(plane());
  take_canvases(call);
  for (int thread = 0; thread < thread_count; ++thread) take_thread(kernels.strip);
  for (std::int64_t slot = 0; slot < batch; ++slot) take_share();
  take_object(call.object);
  take_probe(call.probe);
}

template <class T>
void ProjectionMemory<T>::take_canvases(const LossCall<T>& call) {
  // A row and some columns more: what a patch between pixels touches with weight 0.
  const std::int64_t stride = call.cols + 2 * kFrame, area = (call.rows + 1) * stride;
  object = {memory.take(area), memory.take(area), nullptr, call.rows, call.cols, stride};
  sums = {memory.take(area), memory.take(area), memory.take(area), call.rows, call.cols, stride};
}

template <class T>
void ProjectionMemory<T>::take_thread(int strip) {
  ThreadState<T> state;
  state.strip = {memory.take(task.size * strip), memory.take(task.size * strip)};
  state.waves = memory.take(mode_numbers());
  if (task.moved_probe) state.moved = memory.take(mode_numbers());
  if (task.transfer.re) state.seen = memory.take(mode_numbers());
  state.patch = {memory.take(plane()), memory.take(plane())};
  state.phases = memory.take(4 * task.stride);
  threads.push_back(state);
}

template <class T>
void ProjectionMemory<T>::take_share() {
  const std::int64_t framed = (task.size + 2) * task.frame, origin = task.frame + kFrame;
  Share<T> share;
  share.object = {memory.take(framed) + origin, memory.take(framed) + origin};
  share.power = memory.take(framed) + origin;
  share.probe = memory.take(mode_numbers());
  shares.push_back(share);
}

template <class T>
void ProjectionMemory<T>::take_counts(std::int64_t first, std::int64_t count, const T* counts) {
#pragma omp parallel for num_threads(thread_count())
  for (std::int64_t i = 0; i < count; ++i)
    kernels.take_amplitudes(task, counts + i * task.size * task.size,
                            amplitudes + (first + i) * plane());
}

template <class T>
void ProjectionMemory<T>::take_object(const T* from) {
  for (std::int64_t r = 0; r < object.rows; ++r)
    for (std::int64_t c = 0; c < object.cols; ++c) {
      object.re[r * object.stride + c] = *from++;
      object.im[r * object.stride + c] = *from++;
    }
}

template <class T>
void ProjectionMemory<T>::give_object(T* to) const {
  for (std::int64_t r = 0; r < object.rows; ++r)
    for (std::int64_t c = 0; c < object.cols; ++c) {
      *to++ = object.re[r * object.stride + c];
      *to++ = object.im[r * object.stride + c];
    }
}

template <class T>
void ProjectionMemory<T>::take_probe(const T* from) {
  const std::int64_t pixels = 2 * task.size * task.size;
  const Planes<T> natural{threads.front().waves, threads.front().waves + plane()};
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const Planes<T> to = task.moved_probe ? natural : probe_planes[static_cast<std::size_t>(mode)];
    for_pixels(task, kernels.strip, [&](std::int64_t at, std::int64_t pair) {
      to.re[at] = from[mode * pixels + pair];
      to.im[at] = from[mode * pixels + pair + 1];
    });
    if (task.moved_probe)
      kernels.to_turned(task.fft, task.stride, natural,
                        probe_planes[static_cast<std::size_t>(mode)],
                        1 / static_cast<T>(task.size * task.size));
  }
}

template <class T>
void ProjectionMemory<T>::take_background(const T* from) {
  task.background = from ? background : nullptr;
  if (!from) return;
  for_detector(task, kernels.strip,
               [&](std::int64_t at, std::int64_t pixel) { background[at] = from[pixel]; });
}

template <class T>
void ProjectionMemory<T>::give_probe(T* to) {
  const std::int64_t pixels = 2 * task.size * task.size;
  const ThreadState<T>& scratch = threads.front();
  const Planes<T> natural{scratch.waves, scratch.waves + plane()};
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    Planes<T> from = probe_planes[static_cast<std::size_t>(mode)];
    if (task.moved_probe) {  // the transform destroys what it reads
      std::copy(from.re, from.re + plane(), scratch.patch.re);
      std::copy(from.im, from.im + plane(), scratch.patch.im);
      kernels.to_natural(task.fft, task.stride, scratch.patch, natural, T(1));
      from = natural;
    }
    for_pixels(task, kernels.strip, [&](std::int64_t at, std::int64_t pair) {
      to[mode * pixels + pair] = from.re[at];
      to[mode * pixels + pair + 1] = from.im[at];
    });
  }
}

template struct ProjectionMemory<float>;

}  // namespace ptyche::cpu
