#include "ptyche/train/adam.h"

#include <ATen/core/grad_mode.h>

#include "ptyche/solve/adam.h"

namespace ptyche {

AdamState new_adam_state(const std::vector<at::Tensor>& parameters) {
  AdamState state;
  for (const at::Tensor& parameter : parameters) {
    state.mean.push_back(at::zeros_like(parameter));
    state.variance.push_back(at::zeros_like(parameter));
    state.steps.push_back(at::zeros({}, at::kFloat));
  }
  return state;
}

void adam_step(const std::vector<at::Tensor>& parameters, AdamState& state, double learning_rate,
               const AdamOptions& options) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].grad().defined()) continue;
    at::Tensor value = parameters[i];
    ComplexAdam moments{state.mean[i], state.variance[i],
                        static_cast<std::int64_t>(state.steps[i].item<float>())};
    adam_step(value, parameters[i].grad(), moments, learning_rate,
              {.keep_mean = options.beta1,
               .keep_square = options.beta2,
               .floor = 0,
               .epsilon = options.epsilon});
    state.steps[i].fill_(moments.steps);
  }
  for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
}

double clip_gradients(const std::vector<at::Tensor>& parameters, double limit) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined()) norms.push_back(parameter.grad().norm());
  if (norms.empty()) return 0;
  const double norm = at::stack(norms).norm().item<double>();
  if (norm > limit)
    for (const at::Tensor& parameter : parameters)
      if (parameter.grad().defined()) parameter.grad().mul_(limit / norm);
  return norm;
}

}  // namespace ptyche
