// What PtychoPINN does to probes, exit waves and amplitudes, and its projective warp: the parts of
// its forward model that Ptyche's own has not. A linear operator stands beside its adjoint.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/physics/resample.h"

namespace ptyche {

/// Reads every image at the pixels that its homography names (Hartley & Zisserman, Multiple View
/// Geometry, 2nd ed., ch. 2.3): output pixel (r, c) comes from input (u / w, v / w), where
/// (u, v, w) = H (r, c, 1). H = [1 0 -d_row; 0 1 -d_col; 0 0 1] is translate by (d_row, d_col).
/// PtychoPINN's projective warp orders (x, y) = (col, row): exchange the first two rows of its
/// matrix, and then the first two columns.
///   images        (..., rows, cols) float32, float64, complex64 or complex128
///   homographies  (..., 3, 3) any real type, the same leading dimensions; output -> input pixel
/// Returns the images' shape and type; precision and promotion as in translate. A pixel with w = 0
/// has its source at infinity and is 0 for both kinds of `outside`.
/// Linear in the images; differentiable in them and, for `bilinear`, in the homographies, with
/// translate's convention where a source falls on a whole pixel.
/// Throws InvalidInput that names both shapes where they do not match. Adjoint: warp_adjoint.
at::Tensor warp(const at::Tensor& images, const at::Tensor& homographies,
                SamplingOptions options = {});

/// The adjoint of warp in the images, (..., rows, cols) -> the same.
at::Tensor warp_adjoint(const at::Tensor& warped, const at::Tensor& homographies,
                        SamplingOptions options = {});

/// 3 x 3 Gaussian mean of the exit wave, real and imaginary parts alike (PtychoPINN's
/// `gaussian_smoothing_sigma`): weights exp(-(i^2 + j^2) / (2 sigma^2)), i, j = -1..1, divided by
/// their sum; beyond the border the image is mirrored at its outermost pixels (x[-1] = x[1]).
///   waves  (..., rows, cols) floating or complex, rows, cols >= 2
///   sigma  px, >= 0; 0 leaves the waves as they are
/// Returns the waves' shape and type. Linear; adjoint: smooth_adjoint, which differs in the two
/// outermost rows and columns. Throws InvalidInput for other waves or sigma.
at::Tensor smooth(const at::Tensor& waves, double sigma);

/// Adjoint of smooth.
at::Tensor smooth_adjoint(const at::Tensor& waves, double sigma);

/// Where the probe is allowed to be: the disc r < N // 4 around the point between the four central
/// pixels (index (N - 1) / 2 for even N), (N, N) bool. size >= 1.
at::Tensor hard_probe_mask(std::int64_t size);

/// A disc r < diameter / 2 around the same point, blurred by a Gaussian that is cut at 3 sigma,
/// over its largest value: (N, N) float64 in 0..1.
///   diameter_px  > 0; 0 = N / 2
///   sigma_px     > 0
at::Tensor soft_probe_mask(std::int64_t size, double diameter_px = 0, double sigma_px = 1);

/// PtychoPINN's scale of the probe, P / (probe_scale * mean |mask P|): one real factor for all
/// modes, the mean over every pixel and mode, those under the mask counting as 0. Counts play no
/// part. (Ptyche's own contract, by which the probe carries the photons, is calibrate_probe in
/// ptyche/data/probe.h.)
///   probe        (N, N) or (modes, N, N), real or complex
///   mask         (N, N) bool or real; it shapes the mean and is not applied to the result
///   probe_scale  > 0; PtychoPINN: 4 or 10
/// Throws InvalidInput naming both shapes where they differ, and for a probe that is dark under the
/// mask.
at::Tensor calibrate_probe_to_mean(const at::Tensor& probe, const at::Tensor& mask,
                                   double probe_scale);

/// PtychoPINN's scale of the amplitudes, the first of the two factors that make photons of them:
/// the one that makes the mean over patterns of sum X^2 equal to (N / 2)^2. (Ptyche's patterns are
/// counts and need neither.)
///   amplitudes  (..., N, N) real, >= 0; squared and summed in float64
/// Throws InvalidInput for amplitudes that are not square images or are 0 everywhere.
double amplitude_norm(const at::Tensor& amplitudes);

/// The second one, sqrt(nphotons) / (N / 2): amplitudes of that norm times it have nphotons per
/// pattern in the mean.
double intensity_scale(double nphotons, std::int64_t pattern_size);

}  // namespace ptyche
