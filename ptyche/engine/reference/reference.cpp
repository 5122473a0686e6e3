#include "ptyche/engine/reference/reference.h"

#include <ATen/core/grad_mode.h>

#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"

namespace ptyche::reference {
namespace {

/// What the patterns of a layout see of its canvases, against their counts.
at::Tensor predict_and_compare(const at::Tensor& canvases, const at::Tensor& probe,
                               const CanvasLayout& layout, const Measured& measured,
                               const LossOptions& options) {
  const at::Tensor own = probe.to(canvases.scalar_type());
  at::Tensor background = measured.background;
  if (background.defined())  // what is masked may be NaN, and times 0 it would stay so
    background = at::where(measured.mask, background, at::zeros({}, background.options()))
                     .to(c10::toRealValueType(canvases.scalar_type()));
  at::Tensor intensity = predict_intensity(canvases, own, layout, background, options.propagation);
  if (measured.intensities.defined())
    intensity = intensity * measured.intensities.to(intensity.scalar_type()).view({-1, 1, 1});
  return summed_loss(options.kind, intensity, measured.counts.to(intensity.scalar_type()),
                     measured.mask);
}

double contrast_of(const at::Tensor& canvases) {
  const at::NoGradGuard no_grad;
  const at::Tensor wide = canvases.to(at::kComplexDouble), mean = wide.mean();
  return ((wide - mean).abs().square().mean().sqrt() / mean.abs()).item<double>();
}

}  // namespace

GroupLoss loss(const at::Tensor& transmission, const at::Tensor& merged, const at::Tensor& probe,
               const CanvasLayout& layout, const Measured& measured, const LossOptions& options) {
  if (!merged.defined())
    return {predict_and_compare(transmission.unsqueeze(0), probe, layout, measured, options), 0};
  const CanvasLayout used = select_patches(layout, merged);
  const at::Tensor own = probe.to(transmission.scalar_type());
  MergeOptions how = options.merge;
  how.brightest = mode_power(own.detach()).max().item().toDouble();
  const at::Tensor canvases = merge_patches(transmission, merge_weights(own, used), used, how);
  return {predict_and_compare(canvases, probe, layout, measured, options),
          contrast_of(canvases.detach())};
}

at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& amplitudes,
                                  const at::Tensor& mask, const SinglePatternOptions& options) {
  const at::Tensor power = mode_power(probes);
  const at::Tensor peak = power.amax({1, 2}, true);
  const double alpha = options.regularisation;
  const at::Tensor step = probes.conj() / ((1 - alpha) * power + alpha * peak).unsqueeze(1);
  at::Tensor object = at::ones_like(probes.select(1, 0));
  std::vector<at::Tensor> objects;
  for (std::int64_t iteration = 1; iteration <= options.steps.back(); ++iteration) {
    const at::Tensor waves = propagate_far_field(exit_wave(probes, object));
    const at::Tensor modelled = mode_power(waves).sqrt();
    const at::Tensor missing =
        at::where(mask, amplitudes - modelled, at::zeros({}, modelled.options()));
    const at::Tensor excess = missing / (modelled + kSinglePatternFloor);
    object = object + (step * propagate_far_field_adjoint(waves * excess.unsqueeze(1))).sum(1);
    if (iteration == options.steps[objects.size()]) objects.push_back(object);
  }
  return at::stack(objects, 1);
}

}  // namespace ptyche::reference
