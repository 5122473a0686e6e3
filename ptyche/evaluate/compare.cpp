#include "ptyche/evaluate/compare.h"

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/fourier_ring_correlation.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/evaluate/lit_window.h"
#include "ptyche/evaluate/overlap.h"
#include "ptyche/evaluate/ssim.h"
#include "ptyche/evaluate/tile_error.h"
#include "ptyche/evaluate/trivial.h"

namespace ptyche {
namespace {

/// The reference's phase, and the image's as the reference's plus their difference: no wrap can
/// come between the two.
std::optional<double> phase_ssim(const at::Tensor& reference, const at::Tensor& image) {
  const at::Tensor phase = centred_phase(reference);
  return ssim(phase, phase + phase_difference(reference, image));
}

/// All errors of `image` (complex128) and, in `alignment`, how it was brought there.
ImageError measure(const at::Tensor& image, const at::Tensor& reference, const Window& window,
                   Alignment& alignment) {
  alignment = align(reference, image, window);
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

void require_values(const at::Tensor& object, const char* whose) {
  require(at::isfinite(object).all().item<bool>(),
          "object{}: expected finite values, found NaN or infinity", whose);
}

}  // namespace

ComparedImages compare_in_window(const at::Tensor& image, const at::Tensor& reference,
                                 const Window& window) {
  require(large_enough(window), "expected a window of at least {0} x {0} pixels, found {1} x {2}",
          smallest_window_side, window.rows(), window.cols());
  const at::Tensor target = reference.to(at::kComplexDouble), source = image.to(at::kComplexDouble);
  Alignment alignment, of_guess;
  Comparison result;
  result.error = measure(source, target, window, alignment);
  result.flat = measure(at::ones_like(target), target, window, of_guess);
  result.blurred = measure(blurred_by_one_px(target), target, window, of_guess);
  result.gauge = alignment.gauge;
  result.window = window;
  result.amplitude_range = range_of(alignment.truth.abs());
  result.phase_range_rad = range_of(centred_phase(alignment.truth));
  result.rings = fourier_ring_correlation(alignment.truth, alignment.aligned);
  return {result, alignment.aligned, alignment.truth};
}

ComparedImages compare(const Reconstruction& image, const Reconstruction& reference,
                       const std::optional<Window>& window) {
  require_values(image.object, "");
  require_values(reference.object, " of the image it is compared with");
  require_same_pixel(image, reference);
  const Window common = window ? *window : overlap(image, reference);
  ComparedImages compared = compare_in_window(image.object, reference.object, common);
  require(!is_constant(compared.reference),
          "expected structure in the image it is compared with, found a constant in rows {}..{} "
          "and columns {}..{}",
          common.row_begin, common.row_end, common.col_begin, common.col_end);
  Comparison& result = compared.comparison;
  if (!is_constant(image.object.to(at::kComplexDouble))) {
    result.gauge.shift_row_px -= static_cast<double>(image.origin_row - reference.origin_row);
    result.gauge.shift_col_px -= static_cast<double>(image.origin_col - reference.origin_col);
  }
  result.object_pixel_m =
      std::max(image.geometry.object_pixel_m, reference.geometry.object_pixel_m);
  return compared;
}

}  // namespace ptyche
