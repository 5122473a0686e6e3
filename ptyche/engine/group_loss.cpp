#include "ptyche/engine/group_loss.h"

#include <ATen/core/grad_mode.h>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/fused_group_loss.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"
#include "ptyche/physics/propagation.h"

namespace ptyche {
namespace {

void check(const CanvasLayout& layout, const at::Tensor& probe, const Measured& measured) {
  const std::int64_t size = layout.pattern_size, patterns = layout.corners.size(0);
  const auto is = [](const at::Tensor& tensor, std::vector<std::int64_t> shape) {
    return tensor.sizes() == at::IntArrayRef(shape);
  };
  require_on_canvas(layout);
  require(layout.interpolation == Interpolation::bilinear ||
              layout.corners.detach().frac().eq(0).all().item<bool>(),
          "loss: expected whole numbers as corners of patches whose probe is moved instead");
  require(probe.dim() == 3 && is(probe, {probe.size(0), size, size}) && probe.is_complex(),
          "loss: expected a complex probe (modes, {0}, {0}), found {1}", size,
          fmt::join(probe.sizes(), " x "));
  require(is(measured.counts, {patterns, size, size}),
          "loss: expected counts {0} x {1} x {1} for {0} positions, found {2}", patterns, size,
          fmt::join(measured.counts.sizes(), " x "));
  require(is(measured.mask, {size, size}) && measured.mask.scalar_type() == at::kBool,
          "loss: expected a bool mask {0} x {0}, found {1} {2}", size,
          at::toString(measured.mask.scalar_type()), fmt::join(measured.mask.sizes(), " x "));
  require(!measured.background.defined() || is(measured.background, {size, size}),
          "loss: expected a background {0} x {0}, found {1}", size,
          measured.background.defined()
              ? fmt::format("{}", fmt::join(measured.background.sizes(), " x "))
              : "");
}

/// What the patterns of a layout see of its canvases, against their counts.
at::Tensor predict_and_compare(const at::Tensor& canvases, const at::Tensor& probe,
                               const CanvasLayout& layout, const Measured& measured,
                               const LossOptions& options) {
  const at::Tensor own = probe.to(canvases.scalar_type());
  const at::Tensor background =
      measured.background.defined()
          ? measured.background.to(c10::toRealValueType(canvases.scalar_type()))
          : at::Tensor();
  const at::Tensor intensity =
      predict_intensity(canvases, own, layout, background, options.propagation);
  return summed_loss(options.kind, intensity, measured.counts.to(intensity.scalar_type()),
                     measured.mask);
}

double contrast_of(const at::Tensor& canvases) {
  const at::NoGradGuard no_grad;
  const at::Tensor wide = canvases.to(at::kComplexDouble), mean = wide.mean();
  return ((wide - mean).abs().square().mean().sqrt() / mean.abs()).item<double>();
}

}  // namespace

GroupLoss group_loss(const at::Tensor& patches, const at::Tensor& merged, const at::Tensor& probe,
                     const CanvasLayout& layout, const Measured& measured,
                     const LossOptions& options) {
  check(layout, probe, measured);
  const std::int64_t size = layout.pattern_size;
  require(patches.dim() == 3 && patches.size(0) == merged.numel() && patches.size(1) == size &&
              patches.size(2) == size && patches.is_complex(),
          "loss: expected complex patches {0} x {1} x {1} for {0} merged patterns, found {2}",
          merged.numel(), size, fmt::join(patches.sizes(), " x "));
  if (options.engine == Engine::fused) {
    require_fused_covers(patches, size, options.device, is_near_field(options.propagation));
    return fused_group_loss(patches, merged, probe, layout, measured, options);
  }
  require_device(Engine::reference, options.device);
  const CanvasLayout used = select_patches(layout, merged);
  const at::Tensor own = probe.to(patches.scalar_type());
  MergeOptions how = options.merge;
  how.brightest = mode_power(own.detach()).max().item().toDouble();
  const at::Tensor canvases = merge_patches(patches, merge_weights(own, used), used, how);
  return {predict_and_compare(canvases, probe, layout, measured, options),
          contrast_of(canvases.detach())};
}

at::Tensor object_loss(const at::Tensor& object, const at::Tensor& probe, const at::Tensor& corners,
                       const at::Tensor& shifts, const Measured& measured,
                       const LossOptions& options) {
  require(object.dim() == 2 && object.is_complex(),
          "loss: expected a complex object (rows, cols), found {}",
          fmt::join(object.sizes(), " x "));
  require(corners.dim() == 2 && corners.size(1) == 2 &&
              (!shifts.defined() || shifts.sizes() == corners.sizes()),
          "loss: expected corners (m, 2) and shifts of the same shape, found {}",
          fmt::join(corners.sizes(), " x "));
  const CanvasLayout layout{
      .group = at::zeros({corners.size(0)}, at::kLong),
      .corners = corners,
      .fractions = shifts.defined() ? shifts : at::zeros_like(corners.detach()),
      .interpolation = shifts.defined() ? Interpolation::probe_fourier : Interpolation::bilinear,
      .pattern_size = probe.size(-1),
      .groups = 1,
      .rows = object.size(0),
      .cols = object.size(1)};
  check(layout, probe, measured);
  if (options.engine == Engine::fused) {
    require_fused_covers(object, layout.pattern_size, options.device,
                         is_near_field(options.propagation));
    return fused_object_loss(object, probe, layout, measured, options);
  }
  require_device(Engine::reference, options.device);
  return predict_and_compare(object.unsqueeze(0), probe, layout, measured, options);
}

}  // namespace ptyche
