#include "ptyche/engine/cpu/single_pattern.h"

#include <omp.h>

#include <algorithm>
#include <deque>

#include "ptyche/engine/cpu/loss_memory.h"

namespace ptyche::cpu {
namespace {

template <class T>
LossCall<T> call_of_tables(const SinglePatternCall<T>& call) {
  LossCall<T> tables;
  tables.size = tables.rows = tables.cols = call.size;
  tables.modes = call.modes;
  tables.floor = call.floor;
  tables.want_gradient = false;
  tables.probe = call.probes;  // the first one's; every worker has its own
  tables.mask = call.mask;
  return tables;
}

/// One thread with the probe and the step of the pattern that it works on.
template <class T>
struct Worker {
  Worker(const LossTask<T>& shared, const LossCall<T>& tables, int strip_columns)
      : scratch(shared, tables, strip_columns),
        memory((2 * shared.modes + 1) * (shared.size * shared.stride + 16)),
        task(shared),
        strip(strip_columns) {
    const std::int64_t plane = task.size * task.stride;
    factor = memory.take(plane);
    for (std::int64_t mode = 0; mode < task.modes; ++mode)
      probe.push_back({memory.take(plane), memory.take(plane)});
    task.probe = probe.data();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// visit(place in a plane, number of its pixel)
  template <class Visit>
  void pixels(const Visit& visit) const {
    for_striped(task.size, strip, [&](std::int64_t at, std::int64_t row, std::int64_t col) {
      visit(at, row * task.size + col);
    });
  }

  ThreadMemory<T> scratch;
  Scratch<T> memory;
  LossTask<T> task;
  int strip;
  std::vector<Planes<T>> probe;
  T* factor = nullptr;
};

template <class T>
void take_probe(const SinglePatternCall<T>& call, std::int64_t pattern, Worker<T>& own) {
  const std::int64_t count = call.size * call.size;
  const T* from = call.probes + 2 * pattern * call.modes * count;
  T peak = 0;
  own.pixels([&](std::int64_t at, std::int64_t pixel) {
    T power = 0;
    for (std::int64_t mode = 0; mode < call.modes; ++mode) {
      const T re = from[2 * (mode * count + pixel)], im = from[2 * (mode * count + pixel) + 1];
      const Planes<T>& to = own.probe[static_cast<std::size_t>(mode)];
      to.re[at] = re;
      to.im[at] = im;
      power += re * re + im * im;
    }
    own.factor[at] = power;
    peak = std::max(peak, power);
  });
  const T alpha = static_cast<T>(call.regularisation);
  own.pixels([&](std::int64_t at, std::int64_t) {
    own.factor[at] = 1 / ((1 - alpha) * own.factor[at] + alpha * peak);
  });
}

template <class T>
void start(const SinglePatternCall<T>& call, std::int64_t pattern, Worker<T>& own) {
  take_probe(call, pattern, own);
  const ThreadState<T>& state = own.scratch.state;
  const T* amplitudes = call.amplitudes + pattern * call.size * call.size;
  for_detector(own.task, own.strip,
               [&](std::int64_t at, std::int64_t pixel) { state.counts[at] = amplitudes[pixel]; });
  own.pixels([&](std::int64_t at, std::int64_t) {
    state.patch.re[at] = 1;
    state.patch.im[at] = 0;
  });
}

template <class T>
void do_pattern(const SinglePatternCall<T>& call, const Kernels<T>& kernels, std::int64_t pattern,
                Worker<T>& own) {
  start(call, pattern, own);
  ThreadState<T>& state = own.scratch.state;
  const auto kept = static_cast<std::int64_t>(call.steps.size());
  T* to = call.objects + 2 * pattern * kept * call.size * call.size;
  std::int64_t done = 0;
  for (const std::int64_t step : call.steps) {
    kernels.step_alone(own.task, state.counts, own.factor, step - done, state);
    done = step;
    own.pixels([&](std::int64_t at, std::int64_t pixel) {
      to[2 * pixel] = state.patch.re[at];
      to[2 * pixel + 1] = state.patch.im[at];
    });
    to += 2 * call.size * call.size;
  }
}

}  // namespace

template <class T>
void single_pattern_objects(const SinglePatternCall<T>& call, int threads) {
  const Kernels<T>& chosen = kernels<T>();
  const LossCall<T> shared = call_of_tables(call);
  const SharedTables<T> tables(shared, chosen);
  const auto count = static_cast<int>(std::min<std::int64_t>(threads, call.patterns));
  std::deque<Worker<T>> workers;
  for (int thread = 0; thread < count; ++thread)
    workers.emplace_back(tables.task, shared, chosen.strip);
#pragma omp parallel for num_threads(count) schedule(dynamic, 1)
  for (std::int64_t pattern = 0; pattern < call.patterns; ++pattern)
    do_pattern(call, chosen, pattern, workers[static_cast<std::size_t>(omp_get_thread_num())]);
}

template void single_pattern_objects(const SinglePatternCall<float>&, int);
template void single_pattern_objects(const SinglePatternCall<double>&, int);

}  // namespace ptyche::cpu
