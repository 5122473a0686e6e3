#include "ptyche/evaluate/overlap.h"

#include <array>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/evaluate/coarse_alignment.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/evaluate/lit_window.h"

namespace ptyche {
namespace {

void require_large_enough(const Window& window, const char* lit_in) {
  require(large_enough(window),
          "expected at least {0} x {0} pixels lit in {1} in the middle of the image it is compared "
          "with, found {2} x {3}",
          smallest_window_side, lit_in, window.rows(), window.cols());
}

/// The reference's pixel on which the image's pixel (0, 0) falls, to a whole pixel.
std::array<std::int64_t, 2> place_of(const Reconstruction& image, const Reconstruction& reference,
                                     const Window& part) {
  const at::Tensor object = image.object.to(at::kComplexDouble);
  if (is_constant(object))  // it looks the same everywhere
    return {image.origin_row - reference.origin_row, image.origin_col - reference.origin_col};
  const Window wide = widened(part, reference.object.size(0), reference.object.size(1));
  const auto shift =
      coarse_shift(cut(reference.object.to(at::kComplexDouble), wide).contiguous(), object);
  return {wide.row_begin + shift[0], wide.col_begin + shift[1]};
}

}  // namespace

void require_same_pixel(const Reconstruction& image, const Reconstruction& reference) {
  constexpr double tolerance = 1e-3;
  const double found = image.geometry.object_pixel_m, expected = reference.geometry.object_pixel_m;
  if (found > 0 && expected > 0) {
    require(
        std::abs(found - expected) <= tolerance * expected,
        "expected the object pixel of the image it is compared with, {:.6g} nm, found {:.6g} nm",
        1e9 * expected, 1e9 * found);
  } else if (found > 0 || expected > 0) {
    note("only one of the two images says how large its pixels are: taken to be the same");
  }
}

Window overlap(const Reconstruction& image, const Reconstruction& reference) {
  const at::Tensor lit = lit_pixels(reference);
  const Window window = lit_part(central_half(lit.size(0), lit.size(1)), lit);
  require_large_enough(window, "that image");
  const auto place = place_of(image, reference, window);
  const at::Tensor both =
      lit.logical_and(placed(lit_pixels(image), lit.size(0), lit.size(1), place[0], place[1]));
  const Window common = lit_part(window, both);
  require_large_enough(common, "both images");
  return common;
}

}  // namespace ptyche
