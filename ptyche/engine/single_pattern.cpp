#include "ptyche/engine/single_pattern.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/cpu/single_pattern.h"
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

template <class T>
at::Tensor fused(const at::Tensor& probes, const at::Tensor& amplitudes, const at::Tensor& mask,
                 const SinglePatternOptions& options) {
  using Pair = c10::complex<T>;
  const at::Tensor waves = probes.contiguous(), measured = amplitudes.contiguous();
  const at::Tensor counted = mask.contiguous();
  const auto kept = static_cast<std::int64_t>(options.steps.size()), size = probes.size(-1);
  at::Tensor objects = at::empty({probes.size(0), kept, size, size}, probes.options());
  cpu::single_pattern_objects<T>({.size = size,
                                  .modes = probes.size(1),
                                  .patterns = probes.size(0),
                                  .probes = reinterpret_cast<const T*>(waves.data_ptr<Pair>()),
                                  .amplitudes = measured.data_ptr<T>(),
                                  .mask = counted.data_ptr<bool>(),
                                  .regularisation = options.regularisation,
                                  .floor = kSinglePatternFloor,
                                  .steps = options.steps,
                                  .objects = reinterpret_cast<T*>(objects.data_ptr<Pair>())},
                                 at::get_num_threads());
  return objects;
}

}  // namespace

at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& measured,
                                  const at::Tensor& mask, const SinglePatternOptions& options) {
  check(probes, measured, mask, options);
  const at::NoGradGuard no_grad;
  const at::Tensor amplitudes = measured.to(c10::toRealValueType(probes.scalar_type()));
  if (options.engine == Engine::reference)
    return reference::single_pattern_objects(probes, amplitudes, mask, options);
  require_fused_covers(probes, probes.size(-1), ComputeDevice::cpu, false);
  return probes.scalar_type() == at::kComplexDouble
             ? fused<double>(probes, amplitudes, mask, options)
             : fused<float>(probes, amplitudes, mask, options);
}

}  // namespace ptyche
