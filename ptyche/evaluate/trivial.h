// What an object that resolves little or nothing scores against a truth.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/evaluate/window.h"

namespace ptyche {

/// nrmse_contrast of an object of ones, aligned like any other: at most 1, less where a phase ramp
/// alone fits the truth.
double flat_nrmse_contrast(const at::Tensor& truth, const Window& window);

/// nrmse_contrast of the complex truth blurred by a Gaussian of sigma = 1 pixel, aligned like any
/// other.
double blurred_nrmse_contrast(const at::Tensor& truth, const Window& window);

}  // namespace ptyche
