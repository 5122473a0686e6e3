#include "ptyche/data/scores.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace ptyche {
namespace {

// Noise's R over that of the better guess. 36 sets of patterns, .03 to 1000 counts a pixel: up to
// .77 the true model times any factor has an R smaller by 3 % at most | .93 by 14 %, from 1 on one
// guess for all beats the true model.
constexpr double kMostOfNoise = 0.8;

}  // namespace

bool r_factor_tells(const DataFit& fit, const std::optional<TrivialFit>& guesses) {
  if (!guesses) return true;
  const double guess = std::min(guesses->r_factor, guesses->mean_pattern_r_factor);
  return fit.r_factor_floor < kMostOfNoise * guess;
}

namespace {

using List = std::vector<NamedScore>;
using Number = std::function<std::optional<double>(const ImageError&)>;

/// Writes one comparison's numbers into a list.
struct Writer {
  const Comparison& comparison;
  const ComparisonWords& words;
  List list = {};

  void alone(const std::string& name, double value, const std::string& meaning) {
    list.push_back({words.group + name, value, meaning});
  }

  void guess(const std::string& name, const std::optional<double>& value,
             const std::string& guess) {
    if (value)
      list.push_back({words.group + name, *value, "the same for the guess: " + guess, guess});
  }

  /// The image's number, then the guesses'; nothing where the image has none.
  void with_guesses(const std::string& name, const Number& number, const std::string& meaning) {
    const std::optional<double> value = number(comparison.error);
    if (!value) return;
    alone(name, *value, meaning);
    guess("flat_" + name, number(comparison.flat), "flat object");
    guess("blurred_" + name, number(comparison.blurred), words.reference + " blurred by 1 px");
  }

  void contrast_error();
  void errors();
  void similarity();
  void crossing(const std::string& name, double RingCrossings::*which, const std::string& says);
  void crossings();
  void gauge();
  void window();
};

void Writer::contrast_error() {
  with_guesses(
      "nrmse_contrast", [](const ImageError& e) { return e.nrmse_contrast; },
      "error of " + words.image + " over the contrast of " + words.reference +
          ", after one joint alignment, a ratio; a flat object scores 1");
}

void Writer::errors() {
  contrast_error();
  if (const auto& other = comparison.other_view)
    alone("nrmse_contrast_other_view", other->nrmse_contrast,
          "the same with " + words.image + " " + other->how);
  const auto tile = [](double TileError::*which) {
    return [which](const ImageError& e) {
      return e.tiles ? std::optional<double>(*e.tiles.*which) : std::nullopt;
    };
  };
  with_guesses("nrmse_contrast_tiles", tile(&TileError::median),
               "the same per tile of 32 x 32 pixels, each tile aligned anew, their median: blind "
               "to slow drifts of phase, position and scale");
  with_guesses("nrmse_contrast_tiles_mean", tile(&TileError::mean), "the mean of the same tiles");
  with_guesses(
      "low_frequency_phase_error_rad",
      [](const ImageError& e) { return e.low_frequency_phase_rad; },
      "slow part of the phase error: root mean square over blocks of 16 x 16 pixels of their mean "
      "phase error, radians");
  with_guesses(
      "nrmse", [](const ImageError& e) { return e.nrmse; },
      "error of " + words.image + " over " + words.reference + ", a ratio");
  with_guesses(
      "amplitude_rmse", [](const ImageError& e) { return e.amplitude_rmse; },
      "root mean square error of the amplitude, dimensionless");
  with_guesses(
      "phase_rmse_rad", [](const ImageError& e) { return e.phase_rmse_rad; },
      "root mean square error of the phase, radians");
}

void Writer::similarity() {
  with_guesses(
      "ssim_amplitude", [](const ImageError& e) { return e.ssim_amplitude; },
      "structural similarity of the amplitude, 1 = identical");
  if (comparison.error.ssim_amplitude)
    alone("ssim_amplitude_range", comparison.amplitude_range,
          "data range of that similarity: " + words.reference +
              "'s largest amplitude less its smallest");
  with_guesses(
      "ssim_phase", [](const ImageError& e) { return e.ssim_phase; },
      "structural similarity of the phase, 1 = identical");
  if (comparison.error.ssim_phase)
    alone("ssim_phase_range_rad", comparison.phase_range_rad,
          "data range of that similarity: " + words.reference +
              "'s largest phase less its smallest, radians");
}

/// A crossing, and half its period as a length.
void Writer::crossing(const std::string& name, double RingCrossings::*which,
                      const std::string& says) {
  with_guesses(
      "frc_" + name + "_cycles_per_px", [which](const ImageError& e) { return e.frc.*which; },
      "where the Fourier ring correlation with " + words.reference + " falls below " + says +
          ", cycles per object pixel, 0.5 at the most");
  const double frequency = comparison.error.frc.*which;
  if (comparison.object_pixel_m > 0 && frequency > 0)
    alone("frc_" + name + "_half_period_nm", 0.5e9 * comparison.object_pixel_m / frequency,
          "half the period there, nm");
}

void Writer::crossings() {
  crossing("half_bit", &RingCrossings::half_bit, "the half-bit criterion");
  crossing("one_bit", &RingCrossings::one_bit, "the 1-bit criterion");
  crossing("half", &RingCrossings::half, "0.5");
  crossing("one_seventh", &RingCrossings::one_seventh, "1/7");
}

void Writer::gauge() {
  const Gauge& gauge = comparison.gauge;
  const std::string onto = " that brought " + words.image + " onto " + words.reference;
  alone("shift_row_px", gauge.shift_row_px,
        "shift down" + onto + ", beyond where the files say it lies, object pixels");
  alone("shift_col_px", gauge.shift_col_px,
        "shift right" + onto + ", beyond where the files say it lies, object pixels");
  alone("ramp_row_cycles_per_px", gauge.ramp_row_cycles_per_px,
        "phase ramp along rows that was added, cycles per object pixel");
  alone("ramp_col_cycles_per_px", gauge.ramp_col_cycles_per_px,
        "phase ramp along columns that was added, cycles per object pixel");
  alone("scale_abs", std::abs(gauge.scale), "factor of the amplitude" + onto + ", a ratio");
  alone("scale_phase_rad", std::arg(gauge.scale), "constant phase" + onto + ", radians");
}

void Writer::window() {
  const auto edge = [&](const std::string& name, std::int64_t value, const std::string& what) {
    alone("window_" + name, static_cast<double>(value),
          what + " that was compared, in pixels of " + words.reference);
  };
  edge("row_begin", comparison.window.row_begin, "first row");
  edge("row_end", comparison.window.row_end, "one past the last row");
  edge("col_begin", comparison.window.col_begin, "first column");
  edge("col_end", comparison.window.col_end, "one past the last column");
  if (comparison.error.tiles)
    alone("tiles", static_cast<double>(comparison.error.tiles->tiles),
          "number of tiles with contrast in that window");
}

}  // namespace

std::vector<NamedScore> named_scores(const Comparison& comparison, const ComparisonWords& words) {
  Writer writer{comparison, words};
  writer.errors();
  writer.similarity();
  writer.crossings();
  writer.gauge();
  writer.window();
  return writer.list;
}

std::vector<NamedScore> named_agreement(const Comparison& comparison,
                                        const ComparisonWords& words) {
  Writer writer{comparison, words};
  writer.crossings();
  writer.contrast_error();
  return writer.list;
}

namespace {

using List = std::vector<NamedScore>;

/// What a guess gets for the score before it.
struct Guess {
  std::string name, words;
  double r_factor, deviance_per_photon;
};

std::vector<Guess> guesses(const std::optional<TrivialFit>& fit) {
  if (!fit) return {};
  return {{"trivial", "mean amplitude", fit->r_factor, fit->deviance_per_photon},
          {"mean_pattern", "mean pattern", fit->mean_pattern_r_factor,
           fit->mean_pattern_deviance_per_photon}};
}

void add_guesses(List& list, const std::string& group, const std::string& name,
                 const std::vector<Guess>& guesses, double Guess::*value) {
  for (const Guess& guess : guesses)
    list.push_back({group + "." + guess.name + "_" + name, guess.*value,
                    "the same for one guess for every pattern, the used patterns' " + guess.words,
                    guess.words});
}

void add_fit(List& list, const std::string& group, const std::string& patterns, const DataFit& fit,
             const std::optional<TrivialFit>& trivial = {}) {
  list.push_back({group + ".r_factor", fit.r_factor,
                  "R-factor of the " + patterns + ": sum |sqrt I - sqrt n| / sum sqrt n, a ratio"});
  add_guesses(list, group, "r_factor", guesses(trivial), &Guess::r_factor);
  list.push_back({group + ".r_factor_floor", fit.r_factor_floor,
                  "R-factor that photon noise alone would give, a ratio"});
  if (trivial)
    list.push_back({group + ".r_factor_tells", r_factor_tells(fit, trivial) ? 1.0 : 0.0,
                    "1: R tells good images from bad ones; 0: so few photons that noise alone "
                    "leaves about as much as one guess for every pattern, look at the deviance"});
  list.push_back({group + ".deviance_per_photon", fit.deviance_per_photon,
                  "Poisson deviance of the " + patterns + ", per photon"});
  add_guesses(list, group, "deviance_per_photon", guesses(trivial), &Guess::deviance_per_photon);
  list.push_back({group + ".deviance_per_photon_floor", fit.deviance_per_photon_floor,
                  "Poisson deviance that photon noise alone would give, per photon"});
  list.push_back({group + ".frames", static_cast<double>(fit.frames), "number of " + patterns});
}

void add_refinement(List& list, const Scores& scores) {
  const RefinementGain& gain = *scores.refinement;
  list.push_back({"refine.passes", static_cast<double>(gain.passes),
                  "passes of the solver that started from the network's image"});
  if (gain.undone)
    list.push_back({"refine.undone_held_out_deviance_per_photon", gain.undone->deviance_per_photon,
                    "Poisson deviance of the held-out patterns by the refined image, per photon: "
                    "worse than the network's image, which was kept"});
  list.push_back({"refine.seconds", gain.seconds, "wall clock of that refinement, seconds"});
  if (!gain.held_out_before || !scores.held_out) return;
  const double before = gain.held_out_before->deviance_per_photon;
  list.push_back({"refine.before_held_out_r_factor", gain.held_out_before->r_factor,
                  "R-factor of the held-out patterns by the network's image, a ratio"});
  list.push_back({"refine.before_held_out_deviance_per_photon", before,
                  "Poisson deviance of the held-out patterns by the network's image, per photon"});
  list.push_back({"refine.log_likelihood_gain", (before - scores.held_out->deviance_per_photon) / 2,
                  "what the refinement added to the log-likelihood of the held-out patterns, per "
                  "photon; half the drop in deviance"});
}

void add_probe(List& list, const ProbeScore& probe) {
  list.push_back({"probe.of_file", probe.of_file ? 1.0 : 0.0,
                  "1: the file's probe was kept; 0: one found from the patterns took its place"});
  list.push_back({"probe.sure", probe.sure ? 1.0 : 0.0,
                  "1: the search for the first probe explained more than half of what the mean "
                  "pattern leaves above photon noise"});
  list.push_back({"probe.deviance_per_photon", probe.deviance,
                  "Poisson deviance of patterns that this search held out, per photon"});
  list.push_back({"probe.mean_pattern_deviance_per_photon", probe.mean_pattern,
                  "the same for the mean pattern", "mean pattern"});
  list.push_back({"probe.deviance_per_photon_floor", probe.noise,
                  "the same that photon noise alone would give"});
  list.push_back({"probe.seconds", probe.seconds, "wall clock of this search, seconds"});
}

void add_verdict(List& list, const Verdict& verdict) {
  const VerdictEvidence& from = verdict.evidence;
  list.push_back({"verdict.expected_error", verdict.expected_error,
                  "error that the image is expected to have, over its contrast, a ratio"});
  list.push_back({"verdict.expected_error_low", verdict.low,
                  "lower end of the range that holds four of five true errors, a ratio"});
  list.push_back({"verdict.expected_error_high", verdict.high, "its upper end, a ratio"});
  list.push_back({"verdict.starts", from.starts,
                  "distance of an image from another start, over the contrast, a ratio"});
  list.push_back({"verdict.again", from.again,
                  "distance of the image of patterns redrawn from this image, over its contrast, a "
                  "ratio"});
  if (from.beside > 0)
    list.push_back({"verdict.beside", from.beside,
                    "distance from a converged image, over its contrast, a ratio"});
  list.push_back({"verdict.misfit", from.misfit,
                  "what is left in the used patterns above noise, over that of the mean pattern"});
  list.push_back({"verdict.told", from.told,
                  "correlation of what the image foretells with the " + from.told_of});
  list.push_back({"verdict.misfit_again", from.misfit_again,
                  "the misfit of the image of the redrawn patterns, of which the model is right"});
  list.push_back({"verdict.told_again", from.told_again, "the correlation of that image likewise"});
  list.push_back({"verdict.patterns", static_cast<double>(verdict.patterns),
                  "patterns that the verdict's solves were made of"});
  list.push_back({"verdict.seconds", verdict.seconds, "wall clock of the verdict, seconds"});
}

void add_trust(List& list, const Trust& trust) {
  const TrustEvidence& from = trust.evidence;
  const auto add = [&](const std::string& name, double value, const std::string& meaning) {
    if (std::isfinite(value)) list.push_back({"trust." + name, value, meaning});
  };
  add("expected_error", trust.expected_error,
      "error that the image is expected to have, over its contrast, a ratio");
  add("unlike", trust.unlike,
      "how unlike the scans that the network knows; above 1 the program warns");
  add("spread", from.spread,
      "patches that see one pixel about their mean, root mean square, over the contrast, a ratio");
  add("told", from.told, "correlation of what the image foretells with the patterns");
  add("again", from.again,
      "distance of the image from the network's of patterns redrawn from it, over its contrast");
  add("apart", from.apart,
      "distance of the image from that of a short solve, over the contrast of that one");
  add("contrast", from.contrast, "contrast of the short solve's image over that of the image");
  add("light", from.light,
      "what the mean pattern leaves in held-out patterns over what photon noise leaves; below 1.1 "
      "nothing can be told of the physics");
  add("photons", from.photons, "photons of a pattern, in counted pixels");
  add("left", from.left,
      "what a short solve leaves in patterns that it has not seen above noise, over that of the "
      "mean pattern");
  add("seen", from.seen, "by how many patterns an object pixel is seen, in the mean");
  add("solved_told", from.solved_told,
      "correlation of what that solve foretells with the patterns");
  add("again_told", from.again_told,
      "that correlation of patterns redrawn from it, of which the model is right");
  add("told_elsewhere", from.told_elsewhere,
      "that correlation with positions 1.3 times farther apart or closer, the larger of the two");
  add("used_told", from.used_told, "that correlation in the patterns that the solve was made of");
  add("again_used_told", from.again_used_told, "the same of the redrawn patterns");
  add("misfit", from.misfit,
      "what the solve leaves above noise in the patterns that it was made of, totals adjusted, "
      "over "
      "that of the mean pattern");
  add("again_misfit", from.again_misfit, "the same of the redrawn patterns");
  add("seconds", trust.seconds, "wall clock of the trust, seconds");
}

void append(List& list, const List& more) { list.insert(list.end(), more.begin(), more.end()); }

}  // namespace

std::vector<NamedScore> named_scores(const Scores& scores) {
  List list;
  if (scores.verdict) add_verdict(list, *scores.verdict);
  if (scores.trust) add_trust(list, *scores.trust);
  if (scores.held_out)
    add_fit(list, "held_out", "held-out patterns", *scores.held_out, scores.trivial);
  if (scores.held_out_all_pixels)
    add_fit(list, "held_out_all_pixels", "held-out patterns, masked pixels too",
            *scores.held_out_all_pixels);
  if (scores.used)
    add_fit(list, "used", "used patterns", *scores.used,
            scores.held_out ? std::nullopt : scores.trivial);
  if (scores.refinement) add_refinement(list, scores);
  if (scores.passes_before_divergence)
    list.push_back({"solver.passes_before_divergence",
                    static_cast<double>(*scores.passes_before_divergence),
                    "the solver diverged after so many passes; the image is its best state"});
  if (scores.unseen_half)
    add_fit(list, "unseen_half", "patterns of the unseen half", *scores.unseen_half,
            scores.unseen_trivial);
  if (scores.half_sets)
    append(list, named_agreement(*scores.half_sets, {"half_sets.", "the image of the odd patterns",
                                                     "the image of the even patterns"}));
  if (scores.truth)
    append(list, named_scores(*scores.truth, {"truth.", "the object", "the truth"}));
  if (scores.positions) {
    list.push_back({"truth.position_rmse_px", scores.positions->rmse_px,
                    "distance of the positions from the true ones without their common shift, root "
                    "mean square, object pixels"});
    list.push_back({"truth.given_position_rmse_px", scores.positions->given_rmse_px,
                    "the same for the positions that the scan file gives"});
  }
  if (scores.probe) add_probe(list, *scores.probe);
  list.push_back(
      {"object.contrast", scores.object_contrast,
       "standard deviation of the complex object over its mean where it is lit, a ratio; "
       "near 0 = flat"});
  list.push_back({"time.seconds", scores.seconds,
                  "wall clock from reading the scan to the stitched image, seconds"});
  return list;
}

}  // namespace ptyche
