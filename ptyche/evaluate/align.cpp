#include "ptyche/evaluate/align.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/coarse_alignment.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/evaluate/move_image.h"
#include "ptyche/evaluate/periodic_alignment.h"

namespace ptyche {
namespace {

void check(const at::Tensor& truth, const at::Tensor& image, const Window& window) {
  require(truth.dim() == 2 && image.dim() == 2 && image.size(0) >= 2 && image.size(1) >= 2,
          "alignment: expected two images (rows, cols), found {} and {} dimensions", truth.dim(),
          image.dim());
  require(window.row_begin >= 0 && window.col_begin >= 0 && window.row_end <= truth.size(0) &&
              window.col_end <= truth.size(1) && window.rows() >= 8 && window.cols() >= 8,
          "alignment: expected a window of at least 8 x 8 pixels inside the truth of {} x {}, "
          "found rows {}..{}, columns {}..{}",
          truth.size(0), truth.size(1), window.row_begin, window.row_end, window.col_begin,
          window.col_end);
}

Gauge coarse_gauge(const at::Tensor& truth, const at::Tensor& image, const Window& window) {
  const Window wide = widened(window, truth.size(0), truth.size(1));
  const auto shift = coarse_shift(cut(truth, wide), image);
  Gauge gauge;
  gauge.shift_row_px = static_cast<double>(wide.row_begin + shift[0]);
  gauge.shift_col_px = static_cast<double>(wide.col_begin + shift[1]);
  const auto ramp = coarse_ramp(cut(truth, window), move_image(image, gauge, window));
  gauge.ramp_row_cycles_per_px = ramp[0];
  gauge.ramp_col_cycles_per_px = ramp[1];
  return gauge;
}

/// The complex factor c that makes |truth - c moved| least; 0 where the moved image is dark.
c10::complex<double> best_scale(const at::Tensor& truth, const at::Tensor& moved) {
  const double power = moved.abs().square().sum().item<double>();
  if (power == 0) return 0;
  return (moved.conj() * truth).sum().item<c10::complex<double>>() / power;
}

/// A gauge with the best scale for its shift and ramp, and what remains.
struct Fit {
  Gauge gauge;
  double error = 0;  // |truth - aligned|
};

Fit fit_scale(const at::Tensor& truth, const at::Tensor& image, const Window& window, Gauge gauge) {
  const at::Tensor moved = move_image(image, gauge, window);
  const c10::complex<double> scale = best_scale(truth, moved);
  gauge.scale = {scale.real(), scale.imag()};
  return {gauge, (truth - moved * scale).norm().item<double>()};
}

/// Gauss-Newton step of (shift_row, shift_col, ramp_row, ramp_col): (4) float64. The scale is a
/// column pair of the Jacobian too, so that the step is that of the projected problem.
at::Tensor gauss_newton_step(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                             const Gauge& gauge) {
  const MovedImage moved = move_image_with_derivatives(image, gauge, window);
  const c10::complex<double> scale(gauge.scale.real(), gauge.scale.imag()), i(0, 1);
  const at::Tensor jacobian =
      at::cat({moved.derivatives * scale, at::stack({moved.value, moved.value * i})}).flatten(1);
  const at::Tensor residual = (truth - moved.value * scale).flatten();
  const at::Tensor norms =
      jacobian.abs().square().sum(1).sqrt().clamp_min(1e-12 * truth.norm().item<double>() + 1e-300);
  const at::Tensor unit = jacobian / norms.unsqueeze(1);
  // A flat image has no slope to shift by: the ridge keeps such columns from being solved for.
  const at::Tensor normal =
      at::real(at::matmul(unit.conj(), unit.t())) + 1e-12 * at::eye(6, at::kDouble);
  const at::Tensor projected = at::real(at::mv(unit.conj(), residual));
  return (at::linalg_solve(normal, projected) / norms).narrow(0, 0, 4);
}

Gauge moved_by(Gauge gauge, const at::Tensor& step, double length) {
  gauge.shift_row_px += length * step[0].item<double>();
  gauge.shift_col_px += length * step[1].item<double>();
  gauge.ramp_row_cycles_per_px += length * step[2].item<double>();
  gauge.ramp_col_cycles_per_px += length * step[3].item<double>();
  return gauge;
}

/// The first of the step, its half, quarter, ... that lessens the error; nothing if none does.
std::optional<Fit> improved(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                            const Fit& fit) {
  const at::Tensor step = gauss_newton_step(truth, image, window, fit.gauge);
  for (double length = 1; length > 1e-4; length /= 2) {
    const Fit tried = fit_scale(truth, image, window, moved_by(fit.gauge, step, length));
    if (tried.error < fit.error) return tried;
  }
  return std::nullopt;
}

/// A constant image: the best constant for the truth, which is its mean; 0 if the image is dark.
Alignment scaled_constant(const at::Tensor& truth, const at::Tensor& image) {
  Gauge gauge;
  const at::Tensor value = image.mean();
  const auto level = value.item<c10::complex<double>>();
  const bool dark = level == c10::complex<double>(0, 0);
  const auto scale = dark ? level : truth.mean().item<c10::complex<double>>() / level;
  gauge.scale = {scale.real(), scale.imag()};
  return {(value * scale).expand_as(truth).contiguous(), truth, gauge, image, gauge};
}

}  // namespace

Alignment realign(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                  const Gauge& start, double enough) {
  check(truth, image, window);
  const at::Tensor target = cut(truth, window).to(at::kComplexDouble).contiguous();
  if (is_constant(image)) return scaled_constant(target, image);
  const double least = enough * target.norm().item<double>();
  Fit fit = fit_scale(target, image, window, start);
  for (int iteration = 0; iteration < 60; ++iteration) {
    const std::optional<Fit> better = improved(target, image, window, fit);
    if (!better) break;
    const bool settled = fit.error - better->error < least;
    fit = *better;
    if (settled) break;
  }
  const c10::complex<double> scale(fit.gauge.scale.real(), fit.gauge.scale.imag());
  return {move_image(image, fit.gauge, window) * scale, target, fit.gauge, image, fit.gauge};
}

Alignment align(const at::Tensor& truth, const at::Tensor& image, const Window& window) {
  check(truth, image, window);
  const at::Tensor whole_truth = truth.to(at::kComplexDouble);
  const at::Tensor source = image.to(at::kComplexDouble);
  if (is_constant(source)) return realign(whole_truth, source, window, {});
  const Gauge start = coarse_gauge(whole_truth, source, window);
  return or_periodic(whole_truth, source, window, realign(whole_truth, source, window, start));
}

}  // namespace ptyche
