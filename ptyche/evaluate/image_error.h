// Distances of an aligned image from the truth. Both (rows, cols) complex128 of one shape.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// |truth - image| / |truth|, complex, 2-norm. A flat image scores low where the truth is nearly
/// flat.
double nrmse(const at::Tensor& truth, const at::Tensor& image);

/// |truth - image| / |truth - mean of truth|: the best constant image scores 1. Infinite or not a
/// number for a constant truth.
double nrmse_contrast(const at::Tensor& truth, const at::Tensor& image);

/// Root mean square of |truth| - |image|.
double amplitude_rmse(const at::Tensor& truth, const at::Tensor& image);

/// Phase of the image less that of the truth in (-pi, pi], radians: (rows, cols) float64.
at::Tensor phase_difference(const at::Tensor& truth, const at::Tensor& image);

/// Root mean square of phase_difference over the pixels where the truth is not 0, radians.
double phase_rmse_rad(const at::Tensor& truth, const at::Tensor& image);

/// Root mean square over whole blocks of 16 x 16 pixels (from pixel (0, 0)) of each block's mean
/// phase error, the angle of sum image conj(truth), radians: fine structure and noise cancel in a
/// block, a slow drift does not. Both at least 16 x 16.
double low_frequency_phase_rad(const at::Tensor& truth, const at::Tensor& image);

/// Phases about that of the mean, (-pi, pi], radians: (rows, cols) float64.
at::Tensor centred_phase(const at::Tensor& image);

/// Largest less smallest of real `values` (any shape, not empty).
double range_of(const at::Tensor& values);

/// Whether the image departs from its mean by at most 1e-9 of its norm.
bool is_constant(const at::Tensor& image);

}  // namespace ptyche
