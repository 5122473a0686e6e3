#include "ptyche/nn/physics_stem.h"

#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/engine/single_pattern.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {

std::vector<Field> fields(StemOptions& options) {
  return {{.name = "stem-steps",
           .target = &options.steps,
           .range = {1, 1e4},
           .internal = true,
           .record_name = "steps"},
          {.name = "stem-regularisation",
           .target = &options.regularisation,
           .range = {1e-9, 1},
           .internal = true,
           .record_name = "regularisation"},
          {.name = "stem-optics",
           .target = &options.optics,
           .internal = true,
           .record_name = "optics"}};
}

std::int64_t stem_channels(const StemOptions& options) {
  return 2 * static_cast<std::int64_t>(options.steps.size()) + (options.optics ? 5 : 2);
}

namespace {

/// (k, 3, N, N): what a network of many probes and doses has to know.
at::Tensor optics_channels(const at::Tensor& amplitudes, const at::Tensor& probes) {
  const at::Tensor first = probes.select(1, 0), power = at::real(first * first.conj());
  const at::Tensor mean = (first * power).sum({1, 2}, true);
  const at::Tensor turn = mean.conj() / mean.abs().clamp_min(1e-30);
  const at::Tensor shape = at::view_as_real(first * turn / power.amax({1, 2}, true).sqrt());
  const at::Tensor photons = amplitudes.square().sum({1, 2}, true).clamp_min(1);
  const at::Tensor dose = ((photons.log10() - 4.5) / 1.5).expand_as(power);
  return at::cat({shape.permute({0, 3, 1, 2}), dose.unsqueeze(1)}, 1);
}

}  // namespace

at::Tensor physics_stem(const at::Tensor& amplitudes, const at::Tensor& mask,
                        const at::Tensor& probes, double input_scale, const StemOptions& options,
                        Engine engine) {
  const at::Tensor objects = single_pattern_objects(
      probes, amplitudes, mask,
      {.steps = options.steps, .regularisation = options.regularisation, .engine = engine});
  // Re, Im after the first step, Re, Im after the second...
  const at::Tensor images = at::view_as_real(objects).permute({0, 1, 4, 2, 3}).flatten(1, 2);
  images.slice(1, 0, images.size(1), 2).sub_(1);
  const at::Tensor power = mode_power(probes);
  const at::Tensor shape = (power / power.amax({1, 2}, true)).sqrt();
  const at::Tensor seen = to_centred(amplitudes) * input_scale;
  std::vector<at::Tensor> channels{images, shape.unsqueeze(1), seen.unsqueeze(1)};
  if (options.optics) channels.push_back(optics_channels(amplitudes, probes));
  return at::cat(channels, 1);
}

}  // namespace ptyche
