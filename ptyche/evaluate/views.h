// One image laid in other ways: with other pixels, or turned, mirrored and conjugated as programs
// with other conventions have it, and as the twin that a solver may find.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <optional>

#include "ptyche/data/array.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// The image (rows, cols) complex between its pixels: pixel (j, k) of the result lies at `first` +
/// `ratio` (j, k) of it, as far as the image goes. By its Fourier series, without the frequencies
/// that the new pixels cannot hold; exact for images that hold none of these and whose borders
/// meet. ratio > 0, first >= 0: (rows', cols') complex128.
at::Tensor resampled(const at::Tensor& image, double ratio, const std::array<double, 2>& first);

/// The image with object pixels of `pixel_m`, lit where it was; its origin stays where it is in
/// metres. Both sizes of pixels must be known.
Reconstruction with_pixels(const Reconstruction& image, double pixel_m);

/// How the image has to be laid so that it fits `reference` far better than it does: conjugated,
/// turned by multiples of 90 degrees, mirrored, moved by half of its size, or with pixels of
/// another size. Nothing where it fits well as it is, or no other way leaves less than .6 of
/// `error`, its nrmse_contrast. Both (rows, cols) complex, not constant; the window lies in the
/// reference. Costs some twenty alignments of images of 256 pixels, where the image does not fit.
std::optional<OtherView> better_view(const at::Tensor& image, const at::Tensor& reference,
                                     const Window& window, double error);

}  // namespace ptyche
