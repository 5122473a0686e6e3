#include "ptyche/nn/physics_stem.h"

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
           .record_name = "regularisation"}};
}

std::int64_t stem_channels(const StemOptions& options) {
  return 2 * static_cast<std::int64_t>(options.steps.size()) + 2;
}

at::Tensor physics_stem(const at::Tensor& amplitudes, const at::Tensor& mask,
                        const at::Tensor& probes, double input_scale, const StemOptions& options,
                        Engine engine) {
  const at::Tensor objects = single_pattern_objects(
      probes, amplitudes, mask,
      {.steps = options.steps, .regularisation = options.regularisation, .engine = engine});
  // Re, Im after the first step, Re, Im after the second...
  const at::Tensor images = at::view_as_real(objects - 1).permute({0, 1, 4, 2, 3}).flatten(1, 2);
  const at::Tensor power = mode_power(probes);
  const at::Tensor shape = (power / power.amax({1, 2}, true)).sqrt();
  const at::Tensor seen = to_centred(amplitudes) * input_scale;
  return at::cat({images, shape.unsqueeze(1), seen.unsqueeze(1)}, 1);
}

}  // namespace ptyche
