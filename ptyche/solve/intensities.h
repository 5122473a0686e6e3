// The beam's intensity in each pattern: a beam that drifts, pulses or is topped up changes all
// expected counts of a pattern, and its background, by one factor. The factor that fits best
// follows in closed form from the image (Odstrcil et al., Opt. Express 26, 3108 (2018), sec. 3.4,
// refine the same number).
#pragma once

#include <ATen/ATen.h>

#include "ptyche/solve/problem.h"

namespace ptyche {

/// Factors (k) float64 of a batch that fit better than `now` (k), by the slope (k) of the loss by
/// them and the counts `totals` (k) of their patterns: for the Poisson loss the best ones, else a
/// step of Newton. Never below half of `now`.
at::Tensor next_intensities(const at::Tensor& now, const at::Tensor& slope,
                            const at::Tensor& totals, LossKind likelihood);

/// What a solve begins with where the option asks for intensities or the start has some, (n)
/// float64 of mean 1: the start's, else the patterns' totals over their mean. Else undefined.
at::Tensor first_intensities(const SolverProblem& problem,
                             const std::optional<Reconstruction>& start);

/// Brings the mean of the state's intensities, if it has any, to 1.
void normalise_intensities(SolverState& state);

/// Of the factors that fit the state's image best: their standard deviation beyond what photon
/// noise makes of it, from at most kSpreadPatterns patterns spread over the scan.
double intensity_spread(const SolverProblem& problem, const SolverState& state, Engine engine);
inline constexpr std::int64_t kSpreadPatterns = 256;

/// The state gets the best factors of all its patterns.
void free_intensities(const SolverProblem& problem, SolverState& state, Engine engine);

/// The same patterns with the probe's centre of gravity where that of the scan's probe is. A probe
/// times exp(-k r), an object times exp(k r) and intensities times exp(-2 k s) at the positions s
/// give the same patterns for any k: what the beam does from place to place, the object could do as
/// well if the probe leaned over. Does nothing without intensities or where the probe is kept.
void straighten_probe(const SolverProblem& problem, SolverState& state);

/// The factors of all patterns of the scan, (frames) float32: NaN, which a reader replaces by the
/// ratio of totals, where a pattern was not used. Undefined where the state has none.
at::Tensor intensities_of_all(const SolverProblem& problem, const SolverState& state);

}  // namespace ptyche
