#include "ptyche/physics/forward_model.h"

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"

namespace ptyche {

at::Tensor exit_wave(const at::Tensor& probe, const at::Tensor& patches) {
  require(patches.dim() == 3 && (probe.dim() == 3 || probe.dim() == 4) &&
              probe.size(-1) == patches.size(-1) && probe.size(-2) == patches.size(-2) &&
              (probe.dim() == 3 || probe.size(0) == patches.size(0)),
          "exit_wave: expected a probe (modes, N, N) or (k, modes, N, N) for patches (k, N, N), "
          "found {} for {}",
          fmt::join(probe.sizes(), " x "), fmt::join(patches.sizes(), " x "));
  return probe * patches.unsqueeze(1);
}

at::Tensor expected_counts(const at::Tensor& waves, const at::Tensor& background) {
  const at::Tensor intensity = mode_power(waves);
  return background.defined() ? intensity + background : intensity;
}

at::Tensor predict_intensity(const at::Tensor& canvases, const at::Tensor& probe,
                             const CanvasLayout& layout, const at::Tensor& background,
                             const Propagation& propagation) {
  const at::Tensor patches = extract_patches(canvases, layout);
  if (layout.interpolation == Interpolation::bilinear)
    return expected_counts(propagate(exit_wave(probe, patches), propagation), background);
  const at::Tensor moved = fourier_shift(probe, layout.fractions);
  return expected_counts(propagate(exit_wave(moved, patches), propagation, layout.fractions),
                         background);
}

at::Tensor predict_intensity(const at::Tensor& object, const at::Tensor& probe,
                             const at::Tensor& positions, Interpolation interpolation,
                             const at::Tensor& background, const Propagation& propagation) {
  const std::int64_t size = probe.size(-1);
  const CanvasLayout layout = lay_on_object(positions - static_cast<double>(size / 2), size,
                                            {object.size(0), object.size(1)}, interpolation);
  return predict_intensity(object.unsqueeze(0), probe, layout, background, propagation);
}

}  // namespace ptyche
