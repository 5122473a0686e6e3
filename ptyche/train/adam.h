// Adam on a set of tensors, with its state in sight so that a checkpoint can hold it.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace ptyche {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.99;
  double epsilon = 1e-8;
};

/// Moments and step counts, one per parameter.
struct AdamState {
  std::vector<at::Tensor> mean, variance, steps;
};

AdamState new_adam_state(const std::vector<at::Tensor>& parameters);

/// One step of Adam (Kingma & Ba, ICLR 2015, algorithm 1) along the parameters' gradients, which it
/// clears. A parameter without a gradient is left alone.
void adam_step(const std::vector<at::Tensor>& parameters, AdamState& state, double learning_rate,
               const AdamOptions& options = {});

/// Scales all gradients so that their joint norm is at most `limit`; returns the norm before.
double clip_gradients(const std::vector<at::Tensor>& parameters, double limit);

}  // namespace ptyche
