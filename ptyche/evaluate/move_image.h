// An image under a gauge, and how it changes with the gauge.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/evaluate/align.h"

namespace ptyche {

/// The image, shifted and ramped as `gauge` says but not scaled, in the window of the truth:
/// (window rows, window cols) complex128.
/// The whole-pixel part of the shift is a cut; the rest is Fourier interpolation of the cut with up
/// to 32 pixels around the window, faded to the window's mean, so that nothing wraps around into
/// it. Where the window leaves the image it holds that mean.
at::Tensor move_image(const at::Tensor& image, const Gauge& gauge, const Window& window);

/// The same, with its derivatives by shift_row, shift_col, ramp_row and ramp_col (per pixel, per
/// cycle per pixel): value (rows, cols), derivatives (4, rows, cols). The shift's derivative holds
/// the ramp fixed to the image; what that leaves out is a factor, which the scale takes up.
struct MovedImage {
  at::Tensor value, derivatives;
};
MovedImage move_image_with_derivatives(const at::Tensor& image, const Gauge& gauge,
                                       const Window& window);

}  // namespace ptyche
