#include "ptyche/solve/rpie.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/interrupt.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/random.h"
#include "ptyche/physics/fourier.h"
#include "ptyche/physics/fourier_shift.h"

namespace ptyche {
namespace {

constexpr double kAmplitudeFloor = 1e-6;  // keeps the ratio of amplitudes finite where both are 0

/// Everything that one pattern's update reads and writes.
struct State {
  at::Tensor object;  // (rows, cols), written in place
  at::Tensor probe;   // (modes, N, N), written in place
};

struct Steps {
  double object = 1, probe = 0;
};

/// The exit wave's change that would bring its diffraction to the measured amplitude.
at::Tensor exit_wave_change(const at::Tensor& exit_waves, const at::Tensor& amplitude,
                            const at::Tensor& mask) {
  const at::Tensor waves = propagate(exit_waves);
  const at::Tensor modelled = at::view_as_real(waves).square().sum(at::IntArrayRef{0, 3}).sqrt();
  const at::Tensor ratio = (amplitude / (modelled + kAmplitudeFloor) - 1) * mask;
  return back_propagate(waves * ratio);
}

/// One rPIE denominator: (1 - alpha) |x|^2 + alpha max |x|^2.
at::Tensor regularised(const at::Tensor& power, double alpha) {
  return (1 - alpha) * power + alpha * power.max();
}

void update(State& state, const at::Tensor& amplitude, const at::Tensor& mask,
            const at::Tensor& corner_and_shift, const RpieOptions& options, const Steps& steps) {
  const auto* at = corner_and_shift.data_ptr<double>();
  const std::int64_t size = amplitude.size(0);
  const at::Tensor shift = corner_and_shift.slice(0, 2, 4).unsqueeze(0);
  at::Tensor patch =
      state.object
          .slice(0, static_cast<std::int64_t>(at[0]), static_cast<std::int64_t>(at[0]) + size)
          .slice(1, static_cast<std::int64_t>(at[1]), static_cast<std::int64_t>(at[1]) + size);
  const at::Tensor probe = fourier_shift(state.probe, shift)[0];
  const at::Tensor change = exit_wave_change(probe * patch, amplitude, mask);
  const at::Tensor object_change =
      (probe.conj() * change).sum(0) /
      regularised(at::view_as_real(probe).square().sum(at::IntArrayRef{0, 3}),
                  options.object_regularisation);
  if (steps.probe > 0) {
    const at::Tensor power = at::view_as_real(patch).square().sum(2);
    const at::Tensor probe_change =
        patch.conj() * change / regularised(power, options.probe_regularisation);
    state.probe.add_(fourier_shift(probe_change, -shift)[0], steps.probe);
  }
  patch.add_(object_change, steps.object);
}

void check(const RpieOptions& options) {
  require(options.epochs >= 1, "rPIE epochs: expected at least 1, found {}", options.epochs);
  for (const double alpha : {options.object_regularisation, options.probe_regularisation})
    require(alpha > 0 && alpha <= 1, "rPIE regularisation: expected 0 < alpha <= 1, found {}",
            alpha);
  for (const double beta : {options.object_step, options.probe_step})
    require(beta >= 0 && beta <= 1, "rPIE step: expected 0..1, found {}", beta);
}

/// Per frame: whole corner row and column on the canvas, then the fractional shift: (n, 4) float64.
at::Tensor corners_and_shifts(const Reconstruction& image, std::int64_t size) {
  const at::Tensor origin =
      at::tensor({image.origin_row, image.origin_col}, at::kLong).to(at::kDouble);
  const at::Tensor position = image.positions - origin, whole = position.round();
  return at::cat({whole - static_cast<double>(size / 2), position - whole}, 1).contiguous();
}

Steps steps_of_epoch(const RpieOptions& options, std::int64_t epoch) {
  const double progress = static_cast<double>(epoch) /
                          static_cast<double>(std::max<std::int64_t>(options.epochs - 1, 1));
  const double decay = std::pow(options.step_decay, progress);
  return {options.object_step * decay,
          epoch < options.probe_start ? 0.0 : options.probe_step * decay};
}

}  // namespace

Reconstruction rpie(const Scan& scan, const Reconstruction& start, const RpieOptions& options) {
  check(options);
  const at::NoGradGuard no_grad;
  Reconstruction image = start;
  State state{start.object.clone(), start.probe.clone()};
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const at::Tensor amplitudes = counts_in_fft_order(scan, used).sqrt_();
  const at::Tensor mask = mask_in_fft_order(scan);
  const at::Tensor where = corners_and_shifts(start, scan.pattern_size()).index_select(0, used);
  Progress progress("rPIE", options.epochs, "patterns");
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const Steps steps = steps_of_epoch(options, epoch);
    for (const std::int64_t row :
         permutation(used.size(0), RandomStream(options.seed, Purpose::solver_order,
                                                static_cast<std::uint64_t>(epoch)))) {
      if (interrupted())
        throw Interrupted("stopped during rPIE, before there was anything to keep");
      update(state, amplitudes[row], mask, where[row], options, steps);
    }
    require(at::isfinite(at::view_as_real(state.probe)).all().item<bool>() &&
                at::isfinite(at::view_as_real(state.object)).all().item<bool>(),
            "rPIE: the numbers stopped being finite in epoch {}; a smaller probe step may help",
            epoch + 1);
    progress.step(epoch + 1, (epoch + 1) * used.size(0), "");
  }
  image.object = state.object;
  image.probe = state.probe;
  return image;
}

}  // namespace ptyche
