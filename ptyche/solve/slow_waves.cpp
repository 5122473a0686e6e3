#include "ptyche/solve/slow_waves.h"

#include <ATen/ops/fft_irfft2.h>
#include <ATen/ops/fft_rfft2.h>

#include <algorithm>
#include <cmath>

#include "ptyche/data/probe.h"
#include "ptyche/storage/layout.h"

namespace ptyche {
namespace {

constexpr double kReach =
    2;  // of 1 / sigma, rad/px; half, 1.5 times and twice as much are no better
// Cycles over the canvas below which waves gain no more. At .5 a canvas of four times the area
// needed twice the passes: the longest waves got steps that the others had to wait for.
constexpr double kSlowestCycles = 2;
constexpr double kLeastAmplitude = 1e-6;

}  // namespace

double rms_radius(const at::Tensor& power) {
  const at::Tensor axis = at::arange(power.size(0), power.options().dtype(at::kDouble));
  double variance = 0;
  for (const std::int64_t other : {0, 1}) {
    const at::Tensor profile = power.sum(other, /*keepdim=*/false, at::kDouble);
    const at::Tensor weight = profile / profile.sum();
    variance += (weight * (axis - (weight * axis).sum()).square()).sum().item<double>() / 2;
  }
  return std::sqrt(variance);
}

SlowWaves slow_waves(const SolverState& state) {
  const std::int64_t rows = state.rows(), cols = state.cols();
  const double reach =
      kReach / (2 * M_PI * std::max(rms_radius(mode_power(state.main_probe())), 0.5));
  const double slowest = kSlowestCycles / static_cast<double>(std::max(rows, cols));
  const auto real = state.object.options().dtype(at::kFloat);
  const at::Tensor down = at::fft_fftfreq(rows, 1.0, real).square().unsqueeze(1);
  const at::Tensor right = at::fft_rfftfreq(cols, 1.0, real).square();
  return {.direction = state.object / state.object.abs().clamp_min(kLeastAmplitude),
          .gain = 1 + reach * reach / (down + right + slowest * slowest)};
}

void stretch_slow_waves(const SlowWaves& waves, at::Tensor& along) {
  const at::Tensor parts = at::view_as_real(along), toward = at::view_as_real(waves.direction);
  const at::Tensor re = parts.select(-1, 0), im = parts.select(-1, 1);
  const at::Tensor toward_re = toward.select(-1, 0), toward_im = toward.select(-1, 1);
  const at::Tensor phase = (im * toward_re).addcmul_(re, toward_im, -1);
  const at::Tensor more =
      at::fft_irfft2(at::fft_rfft2(phase).mul_(waves.gain), along.sizes().slice(along.dim() - 2))
          .sub_(phase);
  re.addcmul_(more, toward_im, -1);
  im.addcmul_(more, toward_re);
}

at::Tensor slow_share(const SlowWaves& waves) { return 1 - waves.gain.reciprocal(); }

void SlowMomentum::before_pass(SolverState& state) {
  if (coefficient_ == 0) return;
  if (velocity_.defined()) {
    const at::Tensor turn = coefficient_ * velocity_;
    state.object = state.object * at::polar(at::ones_like(turn), turn);
  }
  before_ = state.object.clone();
}

void SlowMomentum::after_pass(const SolverState& state) {
  if (coefficient_ == 0) return;
  const at::Tensor turned = at::angle(state.object * before_.conj());
  const at::Tensor slow = at::fft_irfft2(at::fft_rfft2(turned) * slow_share(slow_waves(state)),
                                         turned.sizes().slice(turned.dim() - 2));
  velocity_ = velocity_.defined() ? slow + coefficient_ * velocity_ : slow;
}

namespace {

DatasetLayout velocity_layout(const std::string& group, const at::Tensor& object) {
  DatasetLayout layout = like(object, group + "/slow_velocity");
  layout.type = at::kFloat;
  return layout;
}

}  // namespace

void SlowMomentum::save(Hdf5File& file, const std::string& group) const {
  if (velocity_.defined()) write(file, velocity_layout(group, velocity_), velocity_);
}

void SlowMomentum::load(const Hdf5File& file, const std::string& group, const SolverState& state) {
  velocity_ = read_if_there(file, velocity_layout(group, state.object));
}

Field slow_momentum_field(double& coefficient) {
  return {.name = "slow-momentum",
          .target = &coefficient,
          .help =
              "momentum coefficient from pass to pass for slow variations of the phase, over more "
              "than the probe's width, which single steps hardly correct; 0 = none",
          .range = {0, 0.99}};
}

}  // namespace ptyche
