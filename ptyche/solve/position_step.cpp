#include "ptyche/solve/position_step.h"

#include <algorithm>
#include <cmath>

#include "ptyche/solve/illumination.h"

namespace ptyche {
namespace {

constexpr double kKeep = 0.7;       // share of the earlier slopes in the mean
constexpr double kOwnLength = 0.5;  // root mean square of the patterns' own steps over the limit

}  // namespace

at::Tensor allowed_moves(const at::Tensor& moves, const at::Tensor& positions,
                         PositionFreedom freedom) {
  if (freedom == PositionFreedom::none) return at::zeros_like(moves);
  std::vector<at::Tensor> grid{at::ones({positions.size(0), 1}, at::kDouble)};
  const bool whole_grid_is_fixed = freedom == PositionFreedom::jitter && positions.size(0) > 3;
  if (whole_grid_is_fixed) grid.push_back(positions - positions.mean(0));
  const at::Tensor basis = std::get<0>(at::linalg_qr(at::cat(grid, 1)));
  return moves - basis.matmul(basis.t().matmul(moves));
}

at::Tensor moves_of_all(const Scan& scan, const at::Tensor& used, const at::Tensor& moves) {
  const at::Tensor all = scan.positions() - scan.positions().mean(0);
  const at::Tensor grid = at::cat({at::ones({all.size(0), 1}, at::kDouble), all}, 1);
  const at::Tensor fit = at::linalg_pinv(grid.index_select(0, used)).matmul(moves);
  return grid.matmul(fit).index_copy_(0, used, moves);
}

double position_curvature(const at::Tensor& probe) {
  const std::int64_t size = probe.size(-1);
  const at::Tensor spectrum = summed_power(at::fft_fft2(probe)) / (size * size);
  const at::Tensor frequency = at::fft_fftfreq(size, 1.0, at::kFloat) * (2 * M_PI);
  return 2 * (spectrum * frequency.square().unsqueeze(1)).sum(at::kDouble).item<double>();
}

at::Tensor position_step(const at::Tensor& slopes, at::Tensor& mean, const at::Tensor& positions,
                         double curvature, double limit_px, PositionFreedom freedom) {
  mean = mean.defined() ? kKeep * mean + (1 - kKeep) * slopes : (1 - kKeep) * slopes;
  if (!(curvature > 0)) return at::zeros_like(slopes);  // a probe that is the same everywhere
  const at::Tensor newton = mean / -curvature;
  const at::Tensor own = allowed_moves(newton, positions, PositionFreedom::jitter);
  const double rms = std::max(own.square().mean().sqrt().item<double>(), 1e-30);
  const double gain = std::min(kLargestGain, kOwnLength * limit_px / rms);
  const at::Tensor step = (gain * own).clamp(-limit_px, limit_px);
  if (freedom != PositionFreedom::affine) return allowed_moves(step, positions, freedom);
  const at::Tensor grid = kGridGain * allowed_moves(newton - own, positions, freedom);
  const double longest = std::max(grid.abs().max().item<double>(), 1e-30);
  const at::Tensor both = step + grid * std::min(1.0, limit_px / longest);
  return allowed_moves(both.clamp(-limit_px, limit_px), positions, freedom);
}

}  // namespace ptyche
