#include "ptyche/engine/cpu/single_pattern.h"

#include <omp.h>

#include <algorithm>
#include <deque>

#include "ptyche/engine/cpu/buffers.h"

namespace ptyche::cpu {
namespace {

/// One thread with the probe and the step of the pattern that it works on.
template <class T>
struct Worker {
  Worker(const KernelContext<T>& shared, int strip_columns)
      : scratch(shared, shared.size, shared.size, strip_columns),
        memory((2 * shared.modes + 1) * (shared.size * shared.stride + 16)),
        context(shared),
        strip(strip_columns) {
    const std::int64_t plane = context.size * context.stride;
    factor = memory.take(plane);
    for (std::int64_t mode = 0; mode < context.modes; ++mode)
      probe.push_back({memory.take(plane), memory.take(plane)});
    context.probe = probe.data();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// visit(index in a plane, number of its pixel)
  template <class Visit>
  void pixels(const Visit& visit) const {
    for_striped(context.size, strip, [&](std::int64_t at, std::int64_t row, std::int64_t col) {
      visit(at, row * context.size + col);
    });
  }

  ThreadBuffers<T> scratch;
  Scratch<T> memory;
  KernelContext<T> context;
  int strip;
  std::vector<Planes<T>> probe;
  T* factor = nullptr;
};

template <class T>
void load_probe(const SinglePatternInputs<T>& inputs, std::int64_t pattern, Worker<T>& own) {
  const std::int64_t count = inputs.size * inputs.size;
  const T* from = inputs.probes + 2 * pattern * inputs.modes * count;
  T peak = 0;
  own.pixels([&](std::int64_t at, std::int64_t pixel) {
    T power = 0;
    for (std::int64_t mode = 0; mode < inputs.modes; ++mode) {
      const T re = from[2 * (mode * count + pixel)], im = from[2 * (mode * count + pixel) + 1];
      const Planes<T>& to = own.probe[static_cast<std::size_t>(mode)];
      to.re[at] = re;
      to.im[at] = im;
      power += re * re + im * im;
    }
    own.factor[at] = power;
    peak = std::max(peak, power);
  });
  const T alpha = static_cast<T>(inputs.regularisation);
  own.pixels([&](std::int64_t at, std::int64_t) {
    own.factor[at] = 1 / ((1 - alpha) * own.factor[at] + alpha * peak);
  });
}

template <class T>
void start(const SinglePatternInputs<T>& inputs, std::int64_t pattern, Worker<T>& own) {
  load_probe(inputs, pattern, own);
  const ThreadScratch<T>& scratch = own.scratch;
  const T* amplitudes = inputs.amplitudes + pattern * inputs.size * inputs.size;
  for_detector(own.context, own.strip, [&](std::int64_t at, std::int64_t pixel) {
    scratch.counts[at] = amplitudes[pixel];
  });
  own.pixels([&](std::int64_t at, std::int64_t) {
    scratch.patch.re[at] = 1;
    scratch.patch.im[at] = 0;
  });
}

template <class T>
void do_pattern(const SinglePatternInputs<T>& inputs, const Kernels<T>& kernels,
                std::int64_t pattern, Worker<T>& own) {
  start(inputs, pattern, own);
  ThreadScratch<T>& scratch = own.scratch;
  const auto kept = static_cast<std::int64_t>(inputs.steps.size());
  T* to = inputs.objects + 2 * pattern * kept * inputs.size * inputs.size;
  std::int64_t done = 0;
  for (const std::int64_t step : inputs.steps) {
    kernels.single_pattern_step(own.context, scratch.counts, own.factor, step - done, scratch);
    done = step;
    own.pixels([&](std::int64_t at, std::int64_t pixel) {
      to[2 * pixel] = scratch.patch.re[at];
      to[2 * pixel + 1] = scratch.patch.im[at];
    });
    to += 2 * inputs.size * inputs.size;
  }
}

}  // namespace

template <class T>
void single_pattern_objects(const SinglePatternInputs<T>& inputs, int threads) {
  const Kernels<T>& chosen = kernels<T>();
  Geometry<T> geometry;
  geometry.size = geometry.rows = geometry.cols = inputs.size;
  geometry.modes = inputs.modes;
  geometry.probe = inputs.probes;  // the first one's; every worker has its own
  geometry.mask = inputs.mask;
  OwnedContext<T> context(geometry, chosen);
  context.floor = static_cast<T>(inputs.floor);
  const auto count = static_cast<int>(std::min<std::int64_t>(threads, inputs.patterns));
  std::deque<Worker<T>> workers;
  for (int thread = 0; thread < count; ++thread) workers.emplace_back(context, chosen.strip);
#pragma omp parallel for num_threads(count) schedule(dynamic, 1)
  for (std::int64_t pattern = 0; pattern < inputs.patterns; ++pattern)
    do_pattern(inputs, chosen, pattern, workers[static_cast<std::size_t>(omp_get_thread_num())]);
}

template void single_pattern_objects(const SinglePatternInputs<float>&, int);
template void single_pattern_objects(const SinglePatternInputs<double>&, int);

}  // namespace ptyche::cpu
