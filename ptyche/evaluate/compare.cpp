#include "ptyche/evaluate/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/evaluate/views.h"

namespace ptyche {
namespace {

constexpr double kEnoughLit = 0.99;

/// The window without that one of its four outermost lines which is lit least, of sides above
/// `smallest`; `part` is what it shows.
Window without_darkest_side(const at::Tensor& part, const Window& window, std::int64_t smallest) {
  const auto light = [](const at::Tensor& line, std::int64_t side, std::int64_t least) {
    return side > least ? line.mean().item<double>() : INFINITY;
  };
  const std::array<double, 4> sides{light(part[0], window.rows(), smallest),
                                    light(part[-1], window.rows(), smallest),
                                    light(part.select(1, 0), window.cols(), smallest),
                                    light(part.select(1, -1), window.cols(), smallest)};
  Window smaller = window;
  switch (std::min_element(sides.begin(), sides.end()) - sides.begin()) {
    case 0:
      ++smaller.row_begin;
      break;
    case 1:
      --smaller.row_end;
      break;
    case 2:
      ++smaller.col_begin;
      break;
    default:
      --smaller.col_end;
  }
  return smaller;
}

}  // namespace

at::Tensor lit_pixels(const Reconstruction& image) {
  if (!image.coverage.defined()) return at::ones({image.rows(), image.cols()}, at::kBool);
  return lit_pixels(image.coverage, kLitToJudge);
}

at::Tensor on_canvas(const at::Tensor& image, std::int64_t rows, std::int64_t cols,
                     std::int64_t row, std::int64_t col) {
  at::Tensor canvas = at::zeros({rows, cols}, image.options());
  const Window there{std::clamp<std::int64_t>(row, 0, rows),
                     std::clamp<std::int64_t>(row + image.size(0), 0, rows),
                     std::clamp<std::int64_t>(col, 0, cols),
                     std::clamp<std::int64_t>(col + image.size(1), 0, cols)};
  const Window here{there.row_begin - row, there.row_end - row, there.col_begin - col,
                    there.col_end - col};
  if (there.rows() > 0 && there.cols() > 0) cut(canvas, there).copy_(cut(image, here));
  return canvas;
}

Window central_half(std::int64_t rows, std::int64_t cols) {
  return {rows / 4, 3 * rows / 4, cols / 4, 3 * cols / 4};
}

bool large_enough(const Window& window) {
  return window.rows() >= kSmallestWindowSide && window.cols() >= kSmallestWindowSide;
}

Window lit_part(const Window& start, const at::Tensor& lit, std::int64_t smallest) {
  Window window = start;
  while (large_enough(window) && std::max(window.rows(), window.cols()) > smallest) {
    const at::Tensor part = cut(lit, window).to(at::kFloat);
    if (part.mean().item<double>() >= kEnoughLit) break;
    window = without_darkest_side(part, window, smallest);
  }
  return window;
}

std::optional<Window> truth_window(const at::Tensor& truth, const Reconstruction& image) {
  const Window central = central_half(truth.size(0), truth.size(1));
  const Window window = lit_part(central, on_canvas(lit_pixels(image), truth.size(0), truth.size(1),
                                                    image.origin_row, image.origin_col));
  if (!large_enough(window)) return std::nullopt;
  if (window != central)
    note(
        "the truth is compared in rows {}..{} and columns {}..{}: the scan does not light all of "
        "its central half",
        window.row_begin, window.row_end, window.col_begin, window.col_end);
  return window;
}

namespace {

void require_large_enough(const Window& window, const char* lit_in) {
  require(large_enough(window),
          "expected at least {0} x {0} pixels lit in {1} in the middle of the image it is compared "
          "with, found {2} x {3}",
          kSmallestWindowSide, lit_in, window.rows(), window.cols());
}

/// The reference's pixel on which the image's pixel (0, 0) falls, to a whole pixel.
std::array<std::int64_t, 2> place_of(const Reconstruction& image, const Reconstruction& reference,
                                     const Window& part) {
  if (is_constant(image.projection()))  // it looks the same everywhere
    return {image.origin_row - reference.origin_row, image.origin_col - reference.origin_col};
  const Window wide = widened(part, reference.rows(), reference.cols(), kFoundBy);
  const auto shift =
      coarse_shift(cut(reference.projection(), wide).contiguous(), image.projection());
  return {wide.row_begin + shift[0], wide.col_begin + shift[1]};
}

}  // namespace

namespace {

bool same_pixel(double found_m, double expected_m) {
  constexpr double kTolerance = 1e-3;
  return std::abs(found_m - expected_m) <= kTolerance * expected_m;
}

}  // namespace

void require_same_pixel(const Reconstruction& image, const Reconstruction& reference) {
  const double found = image.geometry.object_pixel_m, expected = reference.geometry.object_pixel_m;
  if (found > 0 && expected > 0) {
    require(
        same_pixel(found, expected),
        "expected the object pixel of the image it is compared with, {:.6g} nm, found {:.6g} nm",
        1e9 * expected, 1e9 * found);
  } else if (found > 0 || expected > 0) {
    note("only one of the two images says how large its pixels are: taken to be the same");
  }
}

Window common_window(const Reconstruction& image, const Reconstruction& reference) {
  const at::Tensor lit = lit_pixels(reference);
  const Window window = lit_part(central_half(lit.size(0), lit.size(1)), lit);
  require_large_enough(window, "that image");
  const auto lit_in_both = [&](const std::array<std::int64_t, 2>& place) {
    return lit_part(window, lit.logical_and(on_canvas(lit_pixels(image), lit.size(0), lit.size(1),
                                                      place[0], place[1])));
  };
  Window common = lit_in_both(place_of(image, reference, window));
  // A twin or another sample is found anywhere.
  if (!large_enough(common))
    common = lit_in_both(
        {image.origin_row - reference.origin_row, image.origin_col - reference.origin_col});
  require_large_enough(common, "both images");
  return common;
}

namespace {

/// The reference's phase, and the image's as the reference's plus their difference: no wrap can
/// come between the two.
std::optional<double> phase_ssim(const at::Tensor& reference, const at::Tensor& image) {
  const at::Tensor phase = centred_phase(reference);
  return ssim(phase, phase + phase_difference(reference, image));
}

/// All errors of `image` and, in `alignment`, how it was brought there.
ImageError measure(const at::Tensor& image, const at::Tensor& reference, const Window& window,
                   Alignment& alignment,
                   const std::optional<std::array<std::int64_t, 2>>& place = {}) {
  alignment = align(reference, image, window, place);
  const at::Tensor &found = alignment.aligned, &wanted = alignment.truth;
  return {.nrmse = nrmse(wanted, found),
          .nrmse_contrast = nrmse_contrast(wanted, found),
          .amplitude_rmse = amplitude_rmse(wanted, found),
          .phase_rmse_rad = phase_rmse_rad(wanted, found),
          .low_frequency_phase_rad = low_frequency_phase_rad(wanted, found),
          .ssim_amplitude = ssim(wanted.abs(), found.abs()),
          .ssim_phase = phase_ssim(wanted, found),
          .tiles = tile_error(reference, alignment.source, window, alignment.rest),
          .frc = crossings(fourier_ring_correlation(wanted, found))};
}

ImageError error_of_flat(const at::Tensor& reference, const Window& window) {
  Alignment alignment;
  const at::Tensor flat = at::ones({1, 1}, at::kComplexDouble).expand_as(reference);
  return measure(flat, reference, window, alignment);
}

/// Of the reference around the window: what is farther away has no part in it.
ImageError error_of_blurred(const at::Tensor& reference, const Window& window) {
  constexpr std::int64_t kAround = 128;  // px, more than any margin of an alignment
  const Window around = widened(window, reference.size(0), reference.size(1), kAround);
  const Window inside{window.row_begin - around.row_begin, window.row_end - around.row_begin,
                      window.col_begin - around.col_begin, window.col_end - around.col_begin};
  const at::Tensor near = cut(reference, around).contiguous();
  Alignment alignment;
  return measure(blurred_by_one_px(near), near, inside, alignment);
}

void require_values(const at::Tensor& object, const char* whose) {
  require(at::isfinite(object).all().item<bool>(),
          "object{}: expected finite values, found NaN or infinity", whose);
}

}  // namespace

ComparedImages compare_in_window(const at::Tensor& image, const at::Tensor& reference,
                                 const Window& window,
                                 const std::optional<std::array<std::int64_t, 2>>& place) {
  require(large_enough(window), "expected a window of at least {0} x {0} pixels, found {1} x {2}",
          kSmallestWindowSide, window.rows(), window.cols());
  Alignment alignment;
  Comparison result;
  result.error = measure(image, reference, window, alignment, place);
  result.flat = error_of_flat(reference, window);
  result.blurred = error_of_blurred(reference, window);
  result.gauge = alignment.gauge;
  result.window = window;
  result.amplitude_range = range_of(alignment.truth.abs());
  result.phase_range_rad = range_of(centred_phase(alignment.truth));
  result.rings = fourier_ring_correlation(alignment.truth, alignment.aligned);
  return {result, alignment.aligned, alignment.truth};
}

namespace {

/// The image with the reference's pixels, where both are known.
Reconstruction in_pixels_of(const Reconstruction& reference, const Reconstruction& image) {
  constexpr double kMost = 16;  // times as large or small: a slip
  const double found = image.geometry.object_pixel_m, wanted = reference.geometry.object_pixel_m;
  const bool known = found > 0 && wanted > 0;
  if (!known || same_pixel(found, wanted) || std::max(found / wanted, wanted / found) > kMost) {
    require_same_pixel(image, reference);
    return image;
  }
  note(
      "its object pixel is {:.6g} nm, that of the image it is compared with {:.6g} nm: it is "
      "resampled to these",
      1e9 * found, 1e9 * wanted);
  return with_pixels(image, wanted);
}

}  // namespace

ComparedImages compare(const Reconstruction& as_it_is, const Reconstruction& reference,
                       const std::optional<Window>& window, Ways ways) {
  require_values(as_it_is.object, "");
  require_values(reference.object, " of the image it is compared with");
  const Reconstruction image = in_pixels_of(reference, as_it_is);
  const Window common = window ? *window : common_window(image, reference);
  const std::array<std::int64_t, 2> place{image.origin_row - reference.origin_row,
                                          image.origin_col - reference.origin_col};
  ComparedImages compared =
      compare_in_window(image.projection(), reference.projection(), common, place);
  require(!is_constant(compared.reference),
          "expected structure in the image it is compared with, found a constant in rows {}..{} "
          "and columns {}..{}",
          common.row_begin, common.row_end, common.col_begin, common.col_end);
  Comparison& result = compared.comparison;
  if (!is_constant(image.projection())) {
    if (ways == Ways::all)
      result.other_view = better_view(image.projection(), reference.projection(), common,
                                      result.error.nrmse_contrast);
    result.gauge.shift_row_px -= static_cast<double>(place[0]);
    result.gauge.shift_col_px -= static_cast<double>(place[1]);
  }
  result.object_pixel_m =
      std::max(image.geometry.object_pixel_m, reference.geometry.object_pixel_m);
  return compared;
}

void warn_of_other_view(const Comparison& comparison, const std::string& image,
                        const std::string& reference) {
  if (!comparison.other_view) return;
  warn("{} fits {} far better {}: its error over the contrast is then {:.3g} instead of {:.3g}",
       image, reference, comparison.other_view->how, comparison.other_view->nrmse_contrast,
       comparison.error.nrmse_contrast);
}

std::optional<ComparedImages> compared_with_truth(const at::Tensor& truth,
                                                  const Reconstruction& image) {
  const std::optional<Window> window = truth_window(truth, image);
  if (!window || is_constant(cut(truth, *window))) {
    warn("no comparison with the truth: {}", window ? "it is constant where the scan lights it"
                                                    : "the scan lights too little of its middle");
    return std::nullopt;
  }
  Reconstruction reference;
  reference.object = truth.unsqueeze(0);
  reference.geometry = image.geometry;  // the truth is given in the scan's pixels
  ComparedImages compared = compare(image, reference, window, Ways::all);
  warn_of_other_view(compared.comparison, "the image", "the truth");
  return compared;
}

std::optional<Comparison> truth_error(const at::Tensor& truth, const Reconstruction& image) {
  const auto compared = compared_with_truth(truth, image);
  if (!compared) return std::nullopt;
  return compared->comparison;
}

}  // namespace ptyche
