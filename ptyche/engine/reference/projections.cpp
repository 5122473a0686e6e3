#include "ptyche/engine/reference/projections.h"

#include <algorithm>
#include <vector>

#include "ptyche/data/probe.h"

namespace ptyche::reference {
namespace {

constexpr std::int64_t kWavesAtOnce = 256;  // patterns of the difference map
constexpr double kTiny = 1e-30;

/// Patches and probes of some patterns, and where these lie.
struct View {
  CanvasLayout layout;
  at::Tensor patches;  ///< (k, N, N)
  at::Tensor probes;   ///< (k, modes, N, N), or (1, ...) where all are alike
  at::Tensor shifts;   ///< (k, 2) of the probes, or undefined

  at::Tensor exit_waves() const { return probes * patches.unsqueeze(1); }
};

View view_of(const Projections& state, const at::Tensor& which) {
  View view{.layout =
                lay_on_object(state.corners.index_select(0, which), state.probe.size(-1),
                              {state.object.size(0), state.object.size(1)}, state.interpolation)};
  view.patches = extract_patches(state.object.unsqueeze(0), view.layout);
  const bool moved = state.interpolation == Interpolation::probe_fourier;
  if (moved) view.shifts = view.layout.fractions;
  view.probes = moved ? fourier_shift(state.probe, view.shifts) : state.probe.unsqueeze(0);
  return view;
}

/// The adjoint of `propagate`.
at::Tensor propagated_back(const at::Tensor& waves, const Propagation& propagation,
                           const at::Tensor& shifts) {
  const auto* near = std::get_if<NearField>(&propagation);
  if (!near) return propagate_far_field_adjoint(waves);
  const at::Tensor centred = to_centred(waves);
  return propagate_near_field_adjoint(shifts.defined() ? fourier_shift(centred, shifts) : centred,
                                      *near);
}

/// sqrt(n / I) - 1 (k, N, N) of waves at the detector, 0 where nothing counts, and the misfit (k).
struct Excess {
  at::Tensor ratio, misfit;
};

Excess excess_of(const Projections& state, const at::Tensor& waves, const at::Tensor& which) {
  at::Tensor intensity = expected_counts(waves, state.background);
  if (state.intensities.defined())
    intensity =
        intensity * state.intensities.index_select(0, which).to(at::kFloat).view({-1, 1, 1});
  const at::Tensor modelled = intensity.sqrt();
  const at::Tensor missing =
      at::where(state.mask, state.amplitudes.index_select(0, which) - modelled,
                at::zeros({}, modelled.options()));
  return {missing / (modelled + cpu::kProjectionFloor),
          missing.square().sum({1, 2}, false, at::kDouble)};
}

/// Sums over patterns on the object: what the exit waves' changes (k, modes, N, N) ask of it, and
/// the power of the probes.
struct ObjectSums {
  at::Tensor change, power;  ///< (rows, cols)
};

ObjectSums object_sums(const View& view, const at::Tensor& change) {
  const at::Tensor power = mode_power(view.probes).expand_as(view.patches);
  return {add_patches((view.probes.conj() * change).sum(1), view.layout)[0],
          add_patches(power, view.layout)[0]};
}

/// ObjectStep of the kernels.
void step_object(Projections& state, const ObjectSums& sums, double step, double regularisation,
                 const at::Tensor& strongest) {
  const at::Tensor below =
      (1 - regularisation) * sums.power + regularisation * at::maximum(sums.power, strongest);
  state.object = state.object + step * sums.change / below;
}

/// The changes (k, modes, N, N) of probes that were moved, as changes of the probe itself.
at::Tensor moved_back(const View& view, const at::Tensor& change) {
  return view.shifts.defined() ? fourier_shift(change, -view.shifts) : change;
}

at::Tensor power_of(const at::Tensor& patches) {
  return at::view_as_real(patches).square().sum(-1);
}

/// One batch of ePIE or rPIE; returns its misfit, a number on the device.
at::Tensor do_batch(Projections& state, const at::Tensor& which, const cpu::PieOptions& options) {
  const View view = view_of(state, which);
  const at::Tensor waves = propagate(view.exit_waves(), state.propagation, view.shifts);
  const auto [ratio, misfit] = excess_of(state, waves, which);
  const at::Tensor change =
      propagated_back(waves * ratio.unsqueeze(1), state.propagation, view.shifts);
  step_object(state, object_sums(view, change), options.object_step, options.object_regularisation,
              mode_power(view.probes).max());
  if (options.probe_step > 0) {
    const double alpha = options.probe_regularisation;
    const at::Tensor power = power_of(view.patches);
    const at::Tensor below = (1 - alpha) * power + alpha * power.amax({1, 2}, true) + kTiny;
    const at::Tensor asked = view.patches.conj().unsqueeze(1) * change / below.unsqueeze(1);
    const double step = std::min(options.probe_step, 1.0 / static_cast<double>(which.size(0)));
    state.probe = state.probe + step * moved_back(view, asked).sum(0);
  }
  return misfit.sum();
}

}  // namespace

double pie_sweep(Projections& state, const at::Tensor& order, std::int64_t batch,
                 const cpu::PieOptions& options) {
  at::Tensor misfit = at::zeros({}, state.corners.options());
  for (const at::Tensor& which : order.split(batch)) misfit += do_batch(state, which, options);
  return misfit.item<double>();
}

namespace {

at::Tensor all_of(const Projections& state) {
  return at::arange(state.corners.size(0), state.corners.options().dtype(at::kLong));
}

/// How far each pattern goes towards its amplitudes, (k, 1, 1, 1): see
/// cpu::DifferenceMapOptions::within_noise. Noise leaves 1/4 for each pixel that has counted.
at::Tensor trust_of(const Projections& state, const at::Tensor& which, bool within_noise) {
  const at::Tensor misfit = state.misfit.index_select(0, which);
  if (!within_noise) return at::ones_like(misfit).to(at::kFloat).view({-1, 1, 1, 1});
  const at::Tensor counted = state.amplitudes.index_select(0, which).gt(0) * state.mask;
  const at::Tensor noise = 0.25 * counted.sum({1, 2}).to(at::kDouble);
  const at::Tensor share = 1 - (noise / misfit).sqrt().clamp_max(1);
  return at::where(misfit.gt(0), share, at::ones_like(share)).to(at::kFloat).view({-1, 1, 1, 1});
}

/// The waves of some patterns of the next pass, and what they ask of the object.
ObjectSums do_waves(Projections& state, const at::Tensor& which,
                    const cpu::DifferenceMapOptions& options) {
  const cpu::DifferenceMapCoefficients<float>& how = options.how;
  const View view = view_of(state, which);
  const at::Tensor seen = view.exit_waves(), kept = state.waves.index_select(0, which);
  const at::Tensor waves =
      propagate(how.fresh ? seen : 2 * seen - kept, state.propagation, view.shifts);
  const auto [ratio, misfit] = excess_of(state, waves, which);
  const at::Tensor factor = 1 + trust_of(state, which, options.within_noise) * ratio.unsqueeze(1);
  const at::Tensor projected = propagated_back(waves * factor, state.propagation, view.shifts);
  const double keep = how.fresh ? 0 : how.keep, product = how.product + how.keep - keep;
  const at::Tensor next = keep * kept + how.reflected * projected + product * seen;
  state.waves.index_copy_(0, which, next);
  state.misfit.index_copy_(0, which, misfit);
  return object_sums(view, next - seen);
}

/// The probe that fits the waves best.
void step_probe(Projections& state, double share) {
  at::Tensor change = at::zeros_like(state.probe), power;
  for (const at::Tensor& which : all_of(state).split(kWavesAtOnce)) {
    const View view = view_of(state, which);
    const at::Tensor asked =
        view.patches.conj().unsqueeze(1) * (state.waves.index_select(0, which) - view.exit_waves());
    change += moved_back(view, asked).sum(0);
    const at::Tensor light = power_of(view.patches).sum(0);
    power = power.defined() ? power + light : light;
  }
  state.probe = state.probe + change / ((1 - share) * power + share * power.max());
}

}  // namespace

double difference_map_sweep(Projections& state, const cpu::DifferenceMapOptions& options) {
  const std::int64_t patterns = state.corners.size(0);
  if (!state.waves.defined()) {
    std::vector<std::int64_t> shape = state.probe.sizes().vec();
    shape.insert(shape.begin(), patterns);
    state.waves = at::zeros(shape, state.probe.options());
  }
  if (!state.misfit.defined() || options.how.fresh)
    state.misfit = at::zeros({patterns}, state.corners.options());
  ObjectSums sums;
  for (const at::Tensor& which : all_of(state).split(kWavesAtOnce)) {
    const ObjectSums some = do_waves(state, which, options);
    sums.change = sums.change.defined() ? sums.change + some.change : some.change;
    sums.power = sums.power.defined() ? sums.power + some.power : some.power;
  }
  step_object(state, sums, 1, options.regularisation, sums.power.max());
  if (options.refine_probe) step_probe(state, options.regularisation);
  return state.misfit.sum().item<double>();
}

}  // namespace ptyche::reference
