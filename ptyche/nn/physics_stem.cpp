#include "ptyche/nn/physics_stem.h"

#include <algorithm>

#include "ptyche/physics/exit_wave.h"
#include "ptyche/physics/fourier.h"

namespace ptyche {
namespace {

constexpr double kAmplitudeFloor =
    1e-3;  // sqrt(photon); dark model pixels do not blow up the ratio

}  // namespace

std::int64_t stem_channels(const StemOptions& options) {
  return 2 * static_cast<std::int64_t>(options.steps.size()) + 2;
}

at::Tensor physics_stem(const at::Tensor& amplitudes, const at::Tensor& mask,
                        const at::Tensor& probes, double input_scale, const StemOptions& options) {
  const at::Tensor power = at::view_as_real(probes).square().sum(at::IntArrayRef{1, 4});
  const at::Tensor peak = power.amax({1, 2}, true);
  const double alpha = options.regularisation;
  const at::Tensor step = probes.conj() / ((1 - alpha) * power + alpha * peak).unsqueeze(1);
  at::Tensor object = at::ones_like(probes.select(1, 0));
  std::vector<at::Tensor> channels;
  const std::int64_t last = *std::max_element(options.steps.begin(), options.steps.end());
  for (std::int64_t iteration = 1; iteration <= last; ++iteration) {
    const at::Tensor waves = propagate(exit_wave(probes, object));
    const at::Tensor modelled = at::view_as_real(waves).square().sum(at::IntArrayRef{1, 4}).sqrt();
    const at::Tensor ratio = (amplitudes / (modelled + kAmplitudeFloor) - 1) * mask;
    object = object + (step * back_propagate(waves * ratio.unsqueeze(1))).sum(1);
    if (std::count(options.steps.begin(), options.steps.end(), iteration) == 0) continue;
    channels.push_back(at::real(object) - 1);
    channels.push_back(at::imag(object));
  }
  channels.push_back((power / peak).sqrt());
  channels.push_back(to_centred(amplitudes) * input_scale);
  return at::stack(channels, 1);
}

}  // namespace ptyche
