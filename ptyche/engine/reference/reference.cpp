#include "ptyche/engine/reference/reference.h"

#include <ATen/core/grad_mode.h>

#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"

namespace ptyche::reference {
namespace {

/// What is masked may be NaN, and times 0 it would stay so.
at::Tensor where_counted(const at::Tensor& values, const at::Tensor& mask) {
  return at::where(mask, values, at::zeros({}, values.options()));
}

/// In the precision of the waves; undefined where there is none.
at::Tensor counted_background(const Measured& measured, const at::Tensor& waves) {
  if (!measured.background.defined()) return {};
  return where_counted(measured.background, measured.mask)
      .to(c10::toRealValueType(waves.scalar_type()));
}

/// What the patterns of a layout see of its canvases, against their counts.
at::Tensor predict_and_compare(const at::Tensor& canvases, const at::Tensor& probe,
                               const CanvasLayout& layout, const Measured& measured,
                               const LossOptions& options) {
  const at::Tensor own = probe.to(canvases.scalar_type());
  const at::Tensor background = counted_background(measured, own);
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

namespace {

/// sum (a - A) dA and sum dA^2, (m) each, for waves turned by i times `distance`.
std::pair<at::Tensor, at::Tensor> tilts_along(const at::Tensor& distance, const at::Tensor& waves,
                                              const at::Tensor& at_detector,
                                              const at::Tensor& misfit,
                                              const at::Tensor& per_wave) {
  const at::Tensor turned = waves * (distance * c10::complex<float>(0, 1));
  const at::Tensor along = at::real(at_detector.conj() * propagate_far_field(turned));
  const at::Tensor change = along.sum(1) * per_wave;  // dA
  return {(misfit * change).sum({1, 2}, false, at::kDouble),
          change.square().sum({1, 2}, false, at::kDouble)};
}

}  // namespace

Tilts exit_tilts(const at::Tensor& object, const at::Tensor& probe, const CanvasLayout& layout,
                 const Measured& measured) {
  const std::int64_t size = layout.pattern_size;
  const at::Tensor moved = fourier_shift(probe.to(object.scalar_type()), layout.fractions);
  const at::Tensor waves = exit_wave(moved, extract_patches(object, layout.corners, size));
  const at::Tensor at_detector = propagate_far_field(waves);
  at::Tensor expected = expected_counts(at_detector, counted_background(measured, waves));
  at::Tensor beam = at::ones({}, expected.options());
  if (measured.intensities.defined())
    beam = measured.intensities.to(expected.scalar_type()).view({-1, 1, 1});
  expected = (beam * expected).clamp_min(kLeastTilted).sqrt();
  const at::Tensor counts = where_counted(measured.counts, measured.mask);
  const at::Tensor misfit = (counts.to(expected.scalar_type()).sqrt() - expected) * measured.mask;
  const at::Tensor per_wave = beam / expected * measured.mask;
  const at::Tensor axis = at::arange(size, expected.options()) - static_cast<double>(size / 2);
  const auto [asked_down, power_down] =
      tilts_along(axis.unsqueeze(1), waves, at_detector, misfit, per_wave);
  const auto [asked_right, power_right] = tilts_along(axis, waves, at_detector, misfit, per_wave);
  return {at::stack({asked_down, asked_right}, 1), at::stack({power_down, power_right}, 1),
          mode_power(waves)};
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
