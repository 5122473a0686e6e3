#include "ptyche/data/scores.h"

namespace ptyche {
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

void append(List& list, const List& more) { list.insert(list.end(), more.begin(), more.end()); }

}  // namespace

std::vector<NamedScore> named_scores(const Scores& scores) {
  List list;
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
  list.push_back(
      {"object.contrast", scores.object_contrast,
       "standard deviation of the complex object over its mean where it is lit, a ratio; "
       "near 0 = flat"});
  list.push_back({"time.seconds", scores.seconds,
                  "wall clock from reading the scan to the stitched image, seconds"});
  return list;
}

}  // namespace ptyche
