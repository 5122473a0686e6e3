// One joint gauge alignment of two complex images: what ptychography cannot know is removed at
// once.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <optional>

#include "ptyche/data/array.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// The image, shifted and ramped as `gauge` says but not scaled, in the window of the truth:
/// (window rows, window cols) complex128.
/// The whole-pixel part of the shift is a cut; the rest is Fourier interpolation of the cut with up
/// to 32 pixels around the window, faded to the window's mean, so that nothing wraps around into
/// it. Where the window leaves the image it holds that mean.
at::Tensor move_image(const at::Tensor& image, const Gauge& gauge, const Window& window);

/// The same, with its derivatives by shift_row and shift_col per pixel, all (rows, cols), and where
/// its rows and columns lie from the window's centre, px: its derivative by ramp_row is 2 pi i y
/// times it. The shift's derivative holds the ramp fixed to the image; what that leaves out is a
/// factor, which the scale takes up.
struct MovedImage {
  at::Tensor value, by_row, by_col;
  at::Tensor y, x;  ///< (rows), (cols) float64
};
MovedImage move_image_with_derivatives(const at::Tensor& image, const Gauge& gauge,
                                       const Window& window);

/// The window with up to `around` pixels of its surroundings on each side, as far as an image of
/// rows x cols goes.
Window widened(const Window& window, std::int64_t rows, std::int64_t cols, std::int64_t around);
/// Of its surroundings, px: what more a window is found by.
inline constexpr std::int64_t kFoundBy = 32;

/// The whole-pixel shift d (row, col) for which image(x - d) lies best on `part`, both complex and
/// of any two shapes. Compares products of neighbouring pixels, o(x + 1) conj o(x), which a phase
/// ramp or a scale changes by a factor only; the peak of their cross-correlation. Of large
/// images it is looked for at half the resolution first.
std::array<std::int64_t, 2> coarse_shift(const at::Tensor& part, const at::Tensor& image);

/// Row and column of the largest element of a matrix.
std::array<std::int64_t, 2> peak_of(const at::Tensor& values);

/// Frequency (row, col; cycles per pixel, in -0.5..0.5) of the strongest plane wave in `field`
/// (rows, cols) complex: the peak of its Fourier transform, to 1 / `padding` (>= 1) of its
/// resolution.
std::array<double, 2> strongest_frequency(const at::Tensor& field, std::int64_t padding);

/// The phase ramp k (row, col) in cycles per pixel for which exp(2 pi i k.x) image(x) lies best on
/// `truth`, both (rows, cols) complex: the strongest frequency of truth conj(image), faded out at
/// its borders, to a quarter of the resolution.
std::array<double, 2> coarse_ramp(const at::Tensor& truth, const at::Tensor& image);

struct Alignment {
  at::Tensor aligned;  ///< image under the fitted gauge, cut to the window, complex128
  at::Tensor truth;    ///< the truth in the window, complex128
  Gauge gauge;
  at::Tensor source;  ///< the image as it was moved last, complex: what tiles go on from,
  Gauge rest;         ///< which only lacks this
};

/// Fits the gauge that brings `image` onto `truth`, both (rows, cols) complex and of any two
/// shapes, by least squares over `window`: whole pixels by cross-correlation of edge images, the
/// ramp by the peak of its spectrum, then Gauss-Newton on all seven numbers with the scale solved
/// inside (variable projection, Golub & Pereyra, SIAM J. Numer. Anal. 10, 413 (1973)). Pixels
/// between pixels come from the shift theorem, the image's surroundings faded or, in images of up
/// to 2^21 pixels, continued periodically where that leaves less; a conjugated, flipped or
/// transposed image is not undone. An image that is constant everywhere has nothing to be moved by:
/// only its scale is fitted (shift and ramp stay 0), so that it scores exactly 1 in nrmse_contrast.
/// place: the truth's pixel (row, col) on which the image's pixel (0, 0) falls by what the files
/// say. The search ends there, too, and the smaller error decides: in a small window, or one whose
/// structure repeats, the cross-correlation may peak far from where the image lies.
/// Throws InvalidInput if the window leaves the truth or is smaller than 8 x 8.
Alignment align(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                const std::optional<std::array<std::int64_t, 2>>& place = {});

/// Amplitudes that no sample has, above four times the median, brought down to it.
///   object  (rows, cols) complex128
at::Tensor without_bright_pixels(const at::Tensor& object);

/// The same from a gauge that is nearly right, without the search over whole pixels. Ends when a
/// step lessens the error by less than `enough` of the truth's norm.
///   weights  (rows, cols) of the window, float64 >= 0, of the squared differences; undefined = 1
Alignment realign(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                  const Gauge& start, double enough = 1e-13, const at::Tensor& weights = {});

/// realign of an image of which is known whether it is constant, which takes a look at all of it:
/// what it costs then follows from the window alone.
Alignment realign_known(bool constant, const at::Tensor& truth, const at::Tensor& image,
                        const Window& window, const Gauge& start, double enough = 1e-13,
                        const at::Tensor& weights = {});

/// `found` or, where that leaves less error, an alignment that starts from it and moves the whole
/// image by the Fourier shift of its full size, its ramp removed first. This is exact for an image
/// whose borders meet (a simulated one that was moved likewise, a canvas that is 1 all around),
/// while the fade of `move_image` is better where they do not; the error decides. Not tried where
/// the window leaves the image, for what wraps around is not the sample, nor for images of more
/// than 2^21 pixels, of which the fade is a small part.
Alignment or_periodic(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                      const Alignment& found);

}  // namespace ptyche
