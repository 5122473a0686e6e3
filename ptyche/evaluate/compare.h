// Two images of one sample: where both can be judged, brought onto each other, then measured.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <optional>
#include <string>

#include "ptyche/data/array.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// The least side of a window that is worth judging, pixels.
inline constexpr std::int64_t kSmallestWindowSide = 16;

/// Where the image is lit well enough to be judged: (rows, cols) bool; everywhere if the image has
/// no coverage.
at::Tensor lit_pixels(const Reconstruction& image);

/// `image` as it lies on a canvas of rows x cols pixels when its pixel (0, 0) falls on (row, col):
/// (rows, cols) of the same type, 0 or false where it does not reach.
at::Tensor on_canvas(const at::Tensor& image, std::int64_t rows, std::int64_t cols,
                     std::int64_t row, std::int64_t col);

/// [0.25, 0.75) of both sides.
Window central_half(std::int64_t rows, std::int64_t cols);

/// `start` shrunk line by line, darkest first, until 99 % of it is lit (rows, cols bool), but no
/// side to less than `smallest` pixels; ends, too, as soon as the window is not `large_enough`,
/// which only a `smallest` below that allows.
Window lit_part(const Window& start, const at::Tensor& lit,
                std::int64_t smallest = kSmallestWindowSide - 1);
bool large_enough(const Window& window);

/// The lit part of the truth's central half, with a note to the user where it is less than all of
/// that. The truth lies in the scan's pixel frame: image index = truth index - origin. Nothing if
/// too little is lit.
std::optional<Window> truth_window(const at::Tensor& truth, const Reconstruction& image);

/// Throws InvalidInput unless the object pixels agree to 1e-3 of their size; where one is not known
/// they are taken to be the same, with a note to the user.
void require_same_pixel(const Reconstruction& image, const Reconstruction& reference);

/// The central half of the reference in both directions, shrunk until 99 % of it is lit in both:
/// the image lies where the cross-correlation of `coarse_shift` puts it, else where its frame does.
/// Throws InvalidInput if less than 16 x 16 pixels are left.
Window common_window(const Reconstruction& image, const Reconstruction& reference);

struct ComparedImages {
  Comparison comparison;
  at::Tensor image, reference;  ///< in the window, the image aligned, complex128
};

/// Aligns `image` onto `reference` over `window` (one shift, one phase ramp, one complex scale) and
/// measures what is left, also of an object of ones and of the reference blurred by 1 pixel in the
/// image's place. Both (rows, cols) complex of any two shapes; the window lies in the reference.
/// Throws InvalidInput as `align` does, and for a window smaller than 16 x 16.
ComparedImages compare_in_window(const at::Tensor& image, const at::Tensor& reference,
                                 const Window& window,
                                 const std::optional<std::array<std::int64_t, 2>>& place = {});

/// Whether an image that is far off is also laid in other ways (better_view), which takes seconds.
enum class Ways { as_it_is, all };

/// The same for two results. Their frames (origin) are only used to say how far the image had to be
/// shifted beyond them. The window is, unless it is given, the central half of the reference in
/// both directions, shrunk until 99 % of it is lit in both images. An image whose object pixel
/// differs by more than 1e-3 of its size (where both are known) is resampled first, with a note; of
/// one that is far off it is said how it would fit (better_view). Throws InvalidInput, naming what
/// was expected and found, for object pixels that differ more than 16 times, less than 16 x 16
/// pixels of overlap, a reference that is constant there, and values that are not finite.
ComparedImages compare(const Reconstruction& image, const Reconstruction& reference,
                       const std::optional<Window>& window = std::nullopt,
                       Ways ways = Ways::as_it_is);

/// Warns where the image would fit far better if it were laid another way: as its twin, mirrored.
void warn_of_other_view(const Comparison& comparison, const std::string& image,
                        const std::string& reference);

/// The image's object against `truth` (rows, cols) complex, which lies in the scan's pixel frame,
/// in truth_window. Nothing, with a warning, where the scan lights too little of the truth or the
/// truth is constant there.
std::optional<ComparedImages> compared_with_truth(const at::Tensor& truth,
                                                  const Reconstruction& image);

/// The numbers of it.
std::optional<Comparison> truth_error(const at::Tensor& truth, const Reconstruction& image);

}  // namespace ptyche
