#include "ptyche/physics/single_pattern.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/physics/cpu/single_pattern.h"
#include "ptyche/physics/exit_wave.h"
#include "ptyche/physics/fourier.h"

namespace ptyche {
namespace {

at::Tensor power_of(const at::Tensor& waves) {
  return at::view_as_real(waves).square().sum(at::IntArrayRef{1, 4});
}

at::Tensor reference(const at::Tensor& probes, const at::Tensor& amplitudes, const at::Tensor& mask,
                     const SinglePatternOptions& options) {
  const at::Tensor power = power_of(probes);
  const at::Tensor peak = power.amax({1, 2}, true);
  const double alpha = options.regularisation;
  const at::Tensor step = probes.conj() / ((1 - alpha) * power + alpha * peak).unsqueeze(1);
  at::Tensor object = at::ones_like(probes.select(1, 0));
  std::vector<at::Tensor> objects;
  for (std::int64_t iteration = 1; iteration <= options.steps.back(); ++iteration) {
    const at::Tensor waves = propagate(exit_wave(probes, object));
    const at::Tensor modelled = power_of(waves).sqrt();
    const at::Tensor excess = (amplitudes - modelled) * mask / (modelled + kSinglePatternFloor);
    object = object + (step * back_propagate(waves * excess.unsqueeze(1))).sum(1);
    if (iteration == options.steps[objects.size()]) objects.push_back(object);
  }
  return at::stack(objects, 1);
}

template <class T>
at::Tensor fused(const at::Tensor& probes, const at::Tensor& amplitudes, const at::Tensor& mask,
                 const SinglePatternOptions& options) {
  using Pair = c10::complex<T>;
  const auto real = c10::CppTypeToScalarType<T>::value;
  const at::Tensor waves = probes.contiguous(), measured = amplitudes.to(real).contiguous();
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

at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& amplitudes,
                                  const at::Tensor& mask, const SinglePatternOptions& options) {
  require(!options.steps.empty() && options.steps.front() >= 1 &&
              std::ranges::is_sorted(options.steps, std::less_equal<>()),
          "single pattern: expected steps of at least 1, each above the one before");
  const at::NoGradGuard no_grad;
  if (options.engine == Engine::reference) return reference(probes, amplitudes, mask, options);
  require_fused_covers(probes, probes.size(-1), ComputeDevice::cpu, false);
  return probes.scalar_type() == at::kComplexDouble
             ? fused<double>(probes, amplitudes, mask, options)
             : fused<float>(probes, amplitudes, mask, options);
}

}  // namespace ptyche
