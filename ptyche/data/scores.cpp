#include "ptyche/data/scores.h"

namespace ptyche {
namespace {

using List = std::vector<NamedScore>;

void add_fit(List& list, const std::string& group, const std::string& patterns,
             const DataFit& fit) {
  list.push_back({group + ".r_factor", fit.r_factor,
                  "R-factor of the " + patterns + ": sum |sqrt I - sqrt n| / sum sqrt n, a ratio"});
  list.push_back({group + ".r_factor_floor", fit.r_factor_floor,
                  "R-factor that photon noise alone would give, a ratio"});
  list.push_back({group + ".deviance_per_photon", fit.deviance_per_photon,
                  "Poisson deviance of the " + patterns + ", per photon"});
  list.push_back({group + ".deviance_per_photon_floor", fit.deviance_per_photon_floor,
                  "Poisson deviance that photon noise alone would give, per photon"});
  list.push_back({group + ".frames", static_cast<double>(fit.frames), "number of " + patterns});
}

void add_trivial(List& list, const std::string& group, const TrivialFit& fit) {
  list.push_back({group + ".trivial_r_factor", fit.r_factor,
                  "R-factor of the same guess for every pattern, the used patterns' mean "
                  "amplitude squared: a ratio"});
  list.push_back({group + ".trivial_deviance_per_photon", fit.deviance_per_photon,
                  "Poisson deviance of that guess, per photon"});
  list.push_back({group + ".mean_pattern_r_factor", fit.mean_pattern_r_factor,
                  "R-factor of the used patterns' mean as the guess, a ratio"});
  list.push_back({group + ".mean_pattern_deviance_per_photon", fit.mean_pattern_deviance_per_photon,
                  "Poisson deviance of the used patterns' mean as the guess, per photon"});
}

void add_truth_error(List& list, const TruthError& error) {
  list.push_back({"truth.nrmse_contrast", error.nrmse_contrast,
                  "error of the object over the truth's own contrast, a ratio"});
  list.push_back({"truth.flat_nrmse_contrast", error.flat_nrmse_contrast,
                  "the same for a flat object, a ratio"});
  list.push_back({"truth.blurred_nrmse_contrast", error.blurred_nrmse_contrast,
                  "the same for the truth blurred by 1 pixel, a ratio"});
  list.push_back({"truth.nrmse", error.nrmse, "error of the object over the truth, a ratio"});
  list.push_back({"truth.amplitude_rmse", error.amplitude_rmse,
                  "root mean square error of the amplitude, dimensionless"});
  list.push_back({"truth.phase_rmse_rad", error.phase_rmse_rad,
                  "root mean square error of the phase, radians"});
  if (error.ssim_amplitude)
    list.push_back({"truth.ssim_amplitude", *error.ssim_amplitude,
                    "structural similarity of the amplitude, 1 = identical"});
  if (error.ssim_phase)
    list.push_back({"truth.ssim_phase", *error.ssim_phase,
                    "structural similarity of the phase, 1 = identical"});
  list.push_back({"truth.frc_half_cycles_per_px", error.frc_half_cycles_per_px,
                  "where the Fourier ring correlation with the truth falls below 0.5, cycles per "
                  "object pixel"});
}

void add_gauge(List& list, const TruthError& error) {
  list.push_back({"truth.shift_row_px", error.shift_row_px,
                  "shift down that brought the object onto the truth, object pixels"});
  list.push_back({"truth.shift_col_px", error.shift_col_px,
                  "shift right that brought the object onto the truth, object pixels"});
  list.push_back({"truth.ramp_row_cycles_per_px", error.ramp_row_cycles_per_px,
                  "phase ramp along rows that was removed, cycles per object pixel"});
  list.push_back({"truth.ramp_col_cycles_per_px", error.ramp_col_cycles_per_px,
                  "phase ramp along columns that was removed, cycles per object pixel"});
  list.push_back({"truth.scale_abs", error.scale_abs,
                  "factor that brought the object's amplitude to the truth's, a ratio"});
  list.push_back({"truth.scale_phase_rad", error.scale_phase_rad,
                  "constant phase that brought the object to the truth, radians"});
}

}  // namespace

std::vector<NamedScore> named_scores(const Scores& scores) {
  List list;
  if (scores.held_out) add_fit(list, "held_out", "held-out patterns", *scores.held_out);
  if (scores.trivial) add_trivial(list, scores.held_out ? "held_out" : "used", *scores.trivial);
  if (scores.held_out_all_pixels)
    add_fit(list, "held_out_all_pixels", "held-out patterns, masked pixels too",
            *scores.held_out_all_pixels);
  if (scores.used) add_fit(list, "used", "used patterns", *scores.used);
  if (scores.unseen_half)
    add_fit(list, "unseen_half", "patterns of the unseen half", *scores.unseen_half);
  if (scores.unseen_trivial) add_trivial(list, "unseen_half", *scores.unseen_trivial);
  if (scores.truth) {
    add_truth_error(list, *scores.truth);
    add_gauge(list, *scores.truth);
  }
  list.push_back(
      {"object.contrast", scores.object_contrast,
       "standard deviation of the complex object over its mean where it is lit, a ratio; "
       "near 0 = flat"});
  list.push_back({"time.seconds", scores.seconds,
                  "wall clock from reading the scan to the stitched image, seconds"});
  return list;
}

}  // namespace ptyche
