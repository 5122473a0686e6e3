#include "ptyche/train/adam.h"

#include <ATen/core/grad_mode.h>

namespace ptyche {

AdamState new_adam_state(const std::vector<at::Tensor>& parameters) {
  AdamState state;
  for (const at::Tensor& parameter : parameters) {
    state.mean.push_back(at::zeros_like(parameter));
    state.variance.push_back(at::zeros_like(parameter));
    state.steps.push_back(at::zeros({}, parameter.options().dtype(at::kFloat)));
  }
  return state;
}

namespace {

/// LibTorch's kernel for GPUs wants the strides of lengths of 1 to be the same, too.
at::Tensor laid_out_as(const at::Tensor& parameter, const at::Tensor& gradient) {
  if (gradient.strides() == parameter.strides()) return gradient;
  return at::empty_like(parameter).copy_(gradient);
}

}  // namespace

void adam_step(const std::vector<at::Tensor>& parameters, AdamState& state, double learning_rate,
               const AdamOptions& options) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values, gradients, mean, variance, steps;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].grad().defined()) continue;
    values.push_back(parameters[i]);
    gradients.push_back(laid_out_as(parameters[i], parameters[i].grad()));
    mean.push_back(state.mean[i]);
    variance.push_back(state.variance[i]);
    steps.push_back(state.steps[i]);
  }
  if (values.empty()) return;
  at::_foreach_add_(steps, 1);
  at::_fused_adam_(values, gradients, mean, variance, {}, steps, learning_rate, options.beta1,
                   options.beta2, /*weight_decay=*/0, options.epsilon, /*amsgrad=*/false,
                   /*maximize=*/false);
  for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
}

double clip_gradients(const std::vector<at::Tensor>& parameters, double limit) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (gradients.empty()) return 0;
  const double norm = at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  if (norm > limit) at::_foreach_mul_(gradients, limit / norm);
  return norm;
}

}  // namespace ptyche
