#include "ptyche/engine/fused_group_loss.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "ptyche/engine/cuda/plugin.h"
#include "ptyche/engine/fused_call.h"

namespace ptyche {
namespace {

/// The one place that decides who computes.
template <class T>
cpu::LossResult compute(const cpu::LossCall<T>& call, ComputeDevice device) {
  return device == ComputeDevice::cuda ? cuda::fused_loss(call)
                                       : cpu::fused_loss(call, at::get_num_threads());
}

/// Loss, then contrast, then the gradients of picture, probe, background, corners, fractions.
template <class T>
std::vector<at::Tensor> run(const FusedSetting& setting, const at::Tensor& picture,
                            const at::Tensor& probe, const at::Tensor& background, bool gradient) {
  FusedCall<T> buffers = make_fused_call<T>(setting, picture, probe, background, gradient);
  const cpu::LossResult result = compute(buffers.call, setting.options.device);
  const double re = result.sum_re / result.pixels, im = result.sum_im / result.pixels;
  const double mean = re * re + im * im;
  const double contrast = std::sqrt(std::max(0.0, result.sum_square / result.pixels - mean) / mean);
  std::vector<at::Tensor> out{at::scalar_tensor(result.loss, at::kDouble),
                              at::scalar_tensor(contrast, at::kDouble)};
  if (!gradient) return out;
  const at::Tensor& place = buffers.place_gradient;
  out.insert(out.end(), {buffers.picture_gradient, buffers.probe_gradient.to(probe.scalar_type()),
                         buffers.background_gradient, place.slice(1, 0, 2), place.slice(1, 2, 4)});
  return out;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class FusedLoss : public torch::autograd::Function<FusedLoss> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& picture,
                               const at::Tensor& probe, const at::Tensor& background,
                               const at::Tensor& corners, const at::Tensor& fractions,
                               const FusedSetting* setting) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const bool gradient = picture.requires_grad() || probe.requires_grad() ||
                          background.requires_grad() || corners.requires_grad() ||
                          fractions.requires_grad();
    std::vector<at::Tensor> out = picture.scalar_type() == at::kComplexDouble
                                      ? run<double>(*setting, picture, probe, background, gradient)
                                      : run<float>(*setting, picture, probe, background, gradient);
    if (gradient) {
      if (out[4].defined()) out[4] = out[4].to(background.scalar_type());
      context->save_for_backward({out.begin() + 2, out.end()});
    }
    context->mark_non_differentiable({out[1]});
    return {out[0], out[1]};
  }

  static variable_list backward(AutogradContext* context, variable_list from) {
    variable_list gradients = context->get_saved_variables();
    const auto factor = from[0].item<double>();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = gradients[i].defined() && context->needs_input_grad(i)
                         ? (factor == 1 ? gradients[i] : gradients[i] * factor)
                         : at::Tensor();
    gradients.emplace_back();  // the setting
    return gradients;
  }
};

/// The function's arguments are defined tensors: an empty one stands for no background.
variable_list apply(const at::Tensor& picture, const at::Tensor& probe, const FusedSetting& setting,
                    const at::Tensor& background) {
  return FusedLoss::apply(picture, probe, background.defined() ? background : at::empty({0}),
                          setting.layout.corners, setting.layout.fractions, &setting);
}

}  // namespace

GroupLoss fused_group_loss(const at::Tensor& patches, const at::Tensor& merged,
                           const at::Tensor& probe, const CanvasLayout& layout,
                           const Measured& measured, const LossOptions& options) {
  const FusedSetting setting{layout, merged, measured.counts, measured.mask, options};
  const variable_list out = apply(patches, probe, setting, measured.background);
  return {out[0], out[1].item<double>()};
}

at::Tensor fused_object_loss(const at::Tensor& object, const at::Tensor& probe,
                             const CanvasLayout& layout, const Measured& measured,
                             const LossOptions& options) {
  const FusedSetting setting{layout, {}, measured.counts, measured.mask, options};
  return apply(object, probe, setting, measured.background)[0];
}

}  // namespace ptyche
