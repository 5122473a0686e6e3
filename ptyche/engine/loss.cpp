#include "ptyche/engine/loss.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/engine/fused_call.h"
#include "ptyche/engine/reference/reference.h"

namespace ptyche {

void require_fitting(const CanvasLayout& layout, const at::Tensor& probe,
                     const Measured& measured) {
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
  require(!measured.intensities.defined() || is(measured.intensities, {patterns}),
          "loss: expected {} intensities of the beam, found {}", patterns,
          measured.intensities.defined() ? measured.intensities.numel() : 0);
}

namespace {

void check_patches(const at::Tensor& patches, const at::Tensor& merged, std::int64_t size) {
  require(patches.dim() == 3 && patches.size(0) == merged.numel() && patches.size(1) == size &&
              patches.size(2) == size && patches.is_complex(),
          "loss: expected complex patches {0} x {1} x {1} for {0} merged patterns, found {2}",
          merged.numel(), size, fmt::join(patches.sizes(), " x "));
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Standard deviation over mean of the canvases.
double contrast_of(const cpu::LossResult& result) {
  const double re = result.sum_re / result.pixels, im = result.sum_im / result.pixels;
  const double mean = re * re + im * im;
  return std::sqrt(std::max(0.0, result.sum_square / result.pixels - mean) / mean);
}

/// The fused engine behind one autograd function: loss and all gradients in one call of the
/// kernels.
class FusedLoss : public torch::autograd::Function<FusedLoss> {
 public:
  /// Returns loss and contrast. The pointers stand for what is no differentiable argument; `layout`
  /// and `measured` hold corners, fractions, background and intensities once more.
  static variable_list forward(AutogradContext* context, const at::Tensor& transmission,
                               const at::Tensor& probe, const at::Tensor& background,
                               const at::Tensor& corners, const at::Tensor& fractions,
                               const at::Tensor& intensities, const at::Tensor* merged,
                               const CanvasLayout* layout, const Measured* measured,
                               const LossOptions* options) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const bool gradient = transmission.requires_grad() || probe.requires_grad() ||
                          background.requires_grad() || corners.requires_grad() ||
                          fractions.requires_grad() || intensities.requires_grad();
    cpu::LossResult result;
    const auto real = c10::toRealValueType(transmission.scalar_type());
    AT_DISPATCH_FLOATING_TYPES(real, "fused_loss", [&] {
      variable_list kept;
      cpu::LossInputs<scalar_t> inputs =
          fused_inputs<scalar_t>(transmission, *merged, probe, *layout, *measured, *options, kept);
      std::array<at::Tensor, 5> slopes;
      if (gradient) slopes = take_gradients(inputs);
      result = cpu::fused_loss(inputs, at::get_num_threads());
      if (!gradient) return;
      const auto& [by_transmission, by_probe, by_background, by_position, by_intensity] = slopes;
      context->save_for_backward(
          {by_transmission, by_probe.to(probe.scalar_type()),
           by_background.defined() ? by_background.to(background.scalar_type()) : at::Tensor(),
           by_position.slice(1, 0, 2), by_position.slice(1, 2, 4),
           by_intensity.to(intensities.scalar_type())});
    });
    const at::Tensor contrast = at::scalar_tensor(contrast_of(result), at::kDouble);
    context->mark_non_differentiable({contrast});
    return {at::scalar_tensor(result.loss, at::kDouble), contrast};
  }

  static variable_list backward(AutogradContext* context, variable_list from) {
    variable_list gradients = context->get_saved_variables();
    const auto factor = from[0].item<double>();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = gradients[i].defined() && context->needs_input_grad(i)
                         ? (factor == 1 ? gradients[i] : gradients[i] * factor)
                         : at::Tensor();
    gradients.resize(gradients.size() + 4);  // merged, layout, measured, options
    return gradients;
  }
};

}  // namespace

GroupLoss group_loss(const at::Tensor& transmission, const at::Tensor& merged,
                     const at::Tensor& probe, const CanvasLayout& layout, const Measured& measured,
                     const LossOptions& options) {
  require_fitting(layout, probe, measured);
  if (merged.defined()) check_patches(transmission, merged, layout.pattern_size);
  if (options.engine == Engine::reference || !transmission.is_cpu())
    return reference::loss(transmission, merged, probe, layout, measured, options);
  require_fused_covers(transmission, layout.pattern_size);
  // The function's arguments are defined tensors: an empty one stands for none.
  const at::Tensor none = at::empty({0});
  const auto or_none = [&](const at::Tensor& tensor) { return tensor.defined() ? tensor : none; };
  const variable_list out = FusedLoss::apply(
      transmission, probe, or_none(measured.background), layout.corners, layout.fractions,
      or_none(measured.intensities), &merged, &layout, &measured, &options);
  return {out[0], out[1].item<double>()};
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
      .group = at::zeros({corners.size(0)}, corners.options().dtype(at::kLong)),
      .corners = corners,
      .fractions = shifts.defined() ? shifts : at::zeros_like(corners.detach()),
      .interpolation = shifts.defined() ? Interpolation::probe_fourier : Interpolation::bilinear,
      .pattern_size = probe.size(-1),
      .groups = 1,
      .rows = object.size(0),
      .cols = object.size(1)};
  return group_loss(object, {}, probe, layout, measured, options).loss;
}

}  // namespace ptyche
