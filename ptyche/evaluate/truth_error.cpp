#include "ptyche/evaluate/truth_error.h"

#include "ptyche/core/log.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/fourier_ring_correlation.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/evaluate/ssim.h"
#include "ptyche/evaluate/trivial.h"
#include "ptyche/evaluate/truth_window.h"

namespace ptyche {
namespace {

bool is_constant(const at::Tensor& image) {
  return (image - image.mean()).norm().item<double>() <= 1e-9 * image.norm().item<double>();
}

/// The truth's phase about its mean's, and the image's as the truth's plus their difference: no
/// wrap can come between the two.
std::optional<double> phase_ssim(const at::Tensor& truth, const at::Tensor& image) {
  const at::Tensor phase = (truth * truth.mean().conj()).angle();
  return ssim(phase, phase + phase_difference(truth, image));
}

void add_image_errors(TruthError& error, const at::Tensor& truth, const at::Tensor& image) {
  error.nrmse = nrmse(truth, image);
  error.nrmse_contrast = nrmse_contrast(truth, image);
  error.amplitude_rmse = amplitude_rmse(truth, image);
  error.phase_rmse_rad = phase_rmse_rad(truth, image);
  error.ssim_amplitude = ssim(truth.abs(), image.abs());
  error.ssim_phase = phase_ssim(truth, image);
  error.frc_half_cycles_per_px = crossing(fourier_ring_correlation(truth, image), 0.5);
}

/// The known origin counts as no shift.
void add_gauge(TruthError& error, const Gauge& gauge, const Reconstruction& image) {
  error.shift_row_px = gauge.shift_row_px - static_cast<double>(image.origin_row);
  error.shift_col_px = gauge.shift_col_px - static_cast<double>(image.origin_col);
  error.ramp_row_cycles_per_px = gauge.ramp_row_cycles_per_px;
  error.ramp_col_cycles_per_px = gauge.ramp_col_cycles_per_px;
  error.scale_abs = std::abs(gauge.scale);
  error.scale_phase_rad = std::arg(gauge.scale);
}

}  // namespace

std::optional<TruthError> truth_error(const at::Tensor& truth, const Reconstruction& image) {
  const std::optional<Window> window = truth_window(truth, image);
  if (!window || is_constant(cut(truth.to(at::kComplexDouble), *window))) {
    warn("no comparison with the truth: {}", window ? "it is constant where the scan lights it"
                                                    : "the scan lights too little of its middle");
    return std::nullopt;
  }
  const Alignment alignment = align(truth, image.object, *window);
  TruthError error;
  add_image_errors(error, alignment.truth, alignment.aligned);
  add_gauge(error, alignment.gauge, image);
  error.flat_nrmse_contrast = flat_nrmse_contrast(truth, *window);
  error.blurred_nrmse_contrast = blurred_nrmse_contrast(truth, *window);
  return error;
}

}  // namespace ptyche
