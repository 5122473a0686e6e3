// Two images of one sample: brought onto each other, then measured.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/comparison.h"
#include "ptyche/data/reconstruction.h"

namespace ptyche {

struct ComparedImages {
  Comparison comparison;
  at::Tensor image, reference;  ///< in the window, the image aligned, complex128
};

/// Aligns `image` onto `reference` over `window` (one shift, one phase ramp, one complex scale) and
/// measures what is left, also of an object of ones and of the reference blurred by 1 pixel in the
/// image's place. Both (rows, cols) complex of any two shapes; the window lies in the reference.
/// Throws InvalidInput as `align` does, and for a window smaller than 16 x 16.
ComparedImages compare_in_window(const at::Tensor& image, const at::Tensor& reference,
                                 const Window& window);

/// The same for two results. Their frames (origin) are only used to say how far the image had to be
/// shifted beyond them. The window is, unless it is given, the central half of the reference in
/// both directions, shrunk until 99 % of it is lit in both images. Throws InvalidInput, naming what
/// was expected and found, for object pixels that differ by more than 1e-3 of their size (where
/// both are known), less than 16 x 16 pixels of overlap, a reference that is constant there, and
/// values that are not finite.
ComparedImages compare(const Reconstruction& image, const Reconstruction& reference,
                       const std::optional<Window>& window = std::nullopt);

}  // namespace ptyche
