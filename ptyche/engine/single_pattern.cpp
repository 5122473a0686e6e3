#include "ptyche/engine/single_pattern.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <omp.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/cpu/buffers.h"
#include "ptyche/engine/cuda/device_kernels.h"
#include "ptyche/engine/reference/reference.h"

namespace ptyche {
namespace {

void check(const at::Tensor& probes, const at::Tensor& amplitudes, const at::Tensor& mask,
           const SinglePatternOptions& options) {
  const bool fit = probes.dim() == 4 && probes.is_complex() && probes.size(0) > 0 &&
                   amplitudes.sizes() == probes.select(1, 0).sizes() &&
                   mask.sizes() == amplitudes[0].sizes() && mask.scalar_type() == at::kBool;
  require(
      fit,
      "single pattern: expected complex probes (k, modes, N, N), amplitudes (k, N, N) and a mask "
      "(N, N) of bool; found {}, {} and {}",
      describe(probes), describe(amplitudes), describe(mask));
  const auto& steps = options.steps;
  require(!steps.empty() && steps.front() >= 1 &&
              std::ranges::adjacent_find(steps, std::ranges::greater_equal()) == steps.end(),
          "single pattern: expected steps of at least 1, each above the one before");
  require(options.regularisation > 0 && options.regularisation <= 1,
          "single pattern: expected a regularisation above 0 and at most 1, found {}",
          options.regularisation);
}

/// One thread with the probe and the step of the pattern that it works on.
template <class T>
struct Worker {
  Worker(std::int64_t size, std::int64_t modes, const bool* mask)
      : context(size, modes, false, nullptr), scratch(context), memory(size * context.stride) {
    context.load_mask(mask);
    context.floor = static_cast<T>(kSinglePatternFloor);
    factor = memory.take(size * context.stride);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  cpu::KernelContext<T> context;
  cpu::ThreadScratch<T> scratch;
  cpu::Scratch<T> memory;
  T* factor = nullptr;
};

/// The probe, and the factor of the object's step, 1 / ((1 - alpha) |P|^2 + alpha max |P|^2).
template <class T>
void load_probe(const T* probe, T alpha, Worker<T>& own) {
  const std::int64_t count = own.context.size * own.context.size;
  own.context.load_probe(probe);
  T peak = 0;
  cpu::for_pixels(own.context, [&](std::int64_t at, std::int64_t pixel) {
    T power = 0;
    for (std::int64_t mode = 0; mode < own.context.modes; ++mode) {
      const T re = probe[2 * (mode * count + pixel)], im = probe[2 * (mode * count + pixel) + 1];
      power += re * re + im * im;
    }
    own.factor[at] = power;
    peak = std::max(peak, power);
  });
  cpu::for_pixels(own.context, [&](std::int64_t at, std::int64_t) {
    own.factor[at] = 1 / ((1 - alpha) * own.factor[at] + alpha * peak);
  });
}

/// One pattern by one thread, without leaving the cache.
///   amplitudes  (N, N)
///   objects     (steps, N, N, 2)
template <class T>
void do_pattern(const T* amplitudes, const std::vector<std::int64_t>& steps, Worker<T>& own,
                T* objects) {
  cpu::ThreadScratch<T>& scratch = own.scratch;
  cpu::for_detector(own.context, [&](std::int64_t at, std::int64_t pixel) {
    scratch.counts[at] = amplitudes[pixel];
  });
  cpu::for_pixels(own.context, [&](std::int64_t at, std::int64_t) {
    scratch.patch.re[at] = 1;
    scratch.patch.im[at] = 0;
  });
  std::int64_t done = 0;
  for (const std::int64_t step : steps) {
    own.context.kernels.single_pattern_step(own.context, scratch.counts, own.factor, step - done,
                                            scratch);
    done = step;
    cpu::for_pixels(own.context, [&](std::int64_t at, std::int64_t pixel) {
      objects[2 * pixel] = scratch.patch.re[at];
      objects[2 * pixel + 1] = scratch.patch.im[at];
    });
    objects += 2 * own.context.size * own.context.size;
  }
}

/// The thread count does not show in the result.
template <class T>
at::Tensor fused(const at::Tensor& probes, const at::Tensor& amplitudes, const at::Tensor& mask,
                 const SinglePatternOptions& options) {
  using Pair = c10::complex<T>;
  const at::Tensor waves = probes.contiguous(), measured = amplitudes.contiguous();
  const at::Tensor counted = mask.contiguous();
  const auto kept = static_cast<std::int64_t>(options.steps.size());
  const std::int64_t patterns = probes.size(0), modes = probes.size(1), size = probes.size(-1);
  at::Tensor objects = at::empty({patterns, kept, size, size}, probes.options());
  const auto* probe = reinterpret_cast<const T*>(waves.data_ptr<Pair>());
  const T* pattern = measured.data_ptr<T>();
  auto* object = reinterpret_cast<T*>(objects.data_ptr<Pair>());
  const auto threads = static_cast<int>(std::min<std::int64_t>(at::get_num_threads(), patterns));
  std::deque<Worker<T>> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(size, modes, counted.data_ptr<bool>());
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::int64_t i = 0; i < patterns; ++i) {
    Worker<T>& own = workers[static_cast<std::size_t>(omp_get_thread_num())];
    load_probe(probe + 2 * i * modes * size * size, static_cast<T>(options.regularisation), own);
    do_pattern(pattern + i * size * size, options.steps, own, object + 2 * i * kept * size * size);
  }
  return objects;
}

}  // namespace

at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& measured,
                                  const at::Tensor& mask, const SinglePatternOptions& options) {
  check(probes, measured, mask, options);
  const at::NoGradGuard no_grad;
  const at::Tensor amplitudes = measured.to(c10::toRealValueType(probes.scalar_type()));
  if (options.engine == Engine::fused && cuda::covers_single_pattern(probes))
    return cuda::single_pattern_objects(probes, amplitudes, mask, options.steps,
                                        options.regularisation, kSinglePatternFloor);
  if (options.engine == Engine::reference || !probes.is_cpu())
    return reference::single_pattern_objects(probes, amplitudes, mask, options);
  require_fused_covers(probes, probes.size(-1));
  return probes.scalar_type() == at::kComplexDouble
             ? fused<double>(probes, amplitudes, mask, options)
             : fused<float>(probes, amplitudes, mask, options);
}

}  // namespace ptyche
