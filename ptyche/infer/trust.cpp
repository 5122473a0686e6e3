#include "ptyche/infer/trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/evaluate/description.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/prepare/short_solve.h"
#include "ptyche/solve/verdict.h"

namespace ptyche {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Chosen on 232 scans without a fault and 172 of other physics (halves `tune`, `report`, `next` and
// `later` of ./run bench network): at which each sign alone would raise the alarm.
constexpr double kElsewhere = 0.0133, kFewPhotons = 1000;
constexpr double kToldLess = 0.184, kToldLessOfFew = 0.92, kFewSeen = 2.5;
constexpr double kUsedToldLess = 0.061;
constexpr double kMisfitMore = 0.061, kMuchLight = 2;
constexpr double kMisfitMoreBrightly = 0.0255, kVeryMuchLight = 4;
constexpr double kLeftAll = 7.1;
constexpr double kLeastAboveNoise = 0.1;
constexpr double kScale = 1.3;
constexpr std::int64_t kPatterns = 128, kLeastPatterns = 8;
constexpr const char* kChain = "rpie:5,lbfgs:40";

/// Positions `factor` times as far from their mean.
Scan stretched(const Scan& scan, double factor) {
  const at::Tensor middle = scan.positions().mean(0);
  return scan.with_positions((scan.positions() - middle) * factor + middle);
}

double photons_of_pattern(const Scan& scan) {
  const at::Tensor all = scan.counts().masked_fill(scan.mask().logical_not(), 0);
  return all.sum(at::kDouble).item<double>() / static_cast<double>(scan.frames());
}

std::optional<ShortSolve> solved(const Scan& scan, const at::Tensor& probe) {
  SolverOptions options{.chain = chain_from(kChain), .modes = 2, .background = true};
  return solve_shortly(scan, probe, options);
}

/// What a fit leaves above noise, over what the mean pattern leaves in the held-out patterns.
double share_left(double deviance, double noise, const HeldOutFit& held_out) {
  const double least = kLeastAboveNoise * held_out.noise;
  return (deviance - noise) / std::max(held_out.mean_pattern - held_out.noise, least);
}

double left_by(const ShortSolve& solve) {
  return std::max(share_left(solve.fit.deviance, solve.fit.noise, solve.fit), 0.0);
}

double told_by(const std::optional<ShortSolve>& solve, const Scan& scan, FrameUse use) {
  return solve ? told(solve->image, scan, scan.frames_with(use)) : kNaN;
}

double misfit_of(const std::optional<ShortSolve>& solve, const Scan& scan) {
  return solve ? misfit(solve->image, scan, scan.frames_with(FrameUse::used),
                        scan.frames_with(FrameUse::held_out))
               : kNaN;
}

/// Solves the scan as it is, and what the first solve foretells, drawn anew.
/// Returns the first image.
std::optional<Reconstruction> solve_twice(TrustEvidence& evidence, const Scan& part,
                                          const at::Tensor& probe) {
  const std::optional<ShortSolve> first = solved(part, probe);
  if (!first) return std::nullopt;
  evidence.left = left_by(*first);
  evidence.light = first->fit.mean_pattern / std::max(first->fit.noise, 1e-30);
  evidence.solved_told = told_by(first, part, FrameUse::held_out);
  evidence.used_told = told_by(first, part, FrameUse::used);
  evidence.misfit = misfit_of(first, part);
  const Scan again =
      with_counts(part, redrawn(part, first->image, at::arange(part.frames(), at::kLong)));
  const std::optional<ShortSolve> second = solved(again, probe);
  evidence.again_told = told_by(second, again, FrameUse::held_out);
  evidence.again_used_told = told_by(second, again, FrameUse::used);
  evidence.again_misfit = misfit_of(second, again);
  return first->image;
}

}  // namespace

std::optional<Reconstruction> examine_physics(TrustEvidence& evidence, const Scan& scan,
                                              const at::Tensor& first) {
  const CatchInterrupts catching;
  const Scan part = middle_of(scan, kPatterns);
  evidence.left = evidence.light = evidence.photons = evidence.told_elsewhere = kNaN;
  evidence.solved_told = evidence.used_told = evidence.misfit = kNaN;
  evidence.again_told = evidence.again_used_told = evidence.again_misfit = kNaN;
  if (part.frames() < kLeastPatterns) return std::nullopt;
  evidence.photons = photons_of_pattern(part);
  std::optional<Reconstruction> image;
  std::array<double, 2> elsewhere{kNaN, kNaN};
  Progress progress("trust", 1, "scans");
  progress.step(0, 0, "");
  side_by_side(3, [&](std::int64_t job) {
    if (job == 0) {
      image = solve_twice(evidence, part, first);
      return;
    }
    const Scan moved = stretched(part, job == 1 ? kScale : 1 / kScale);
    elsewhere[static_cast<std::size_t>(job - 1)] =
        told_by(solved(moved, first), moved, FrameUse::held_out);
  });
  if (interrupted()) throw Interrupted("stopped while the trust in the image was measured");
  evidence.told_elsewhere = std::fmax(elsewhere[0], elsewhere[1]);
  return image;
}

namespace {

double number_or_0(double value) { return std::isfinite(value) ? std::max(value, 0.0) : 0; }

std::string elsewhere_reason(const TrustEvidence& evidence) {
  return fmt::format(
      "with positions 1.3 times farther apart or closer what a solve foretells of patterns that it "
      "has not seen correlates with them by {:.2f}, as they are by {:.2f}: the scale of the "
      "positions, the wavelength, a distance or the pixel is wrong",
      evidence.told_elsewhere, evidence.solved_told);
}

std::string told_less_reason(const TrustEvidence& evidence) {
  return fmt::format(
      "what a solve foretells of patterns that it has not seen correlates with them by {:.2f}, "
      "where right physics would give {:.2f}: several layers, patterns in another order, or wrong "
      "positions",
      evidence.solved_told, evidence.again_told);
}

std::string used_told_less_reason(const TrustEvidence& evidence) {
  return fmt::format(
      "what a solve says of its own patterns correlates with them by {:.2f}, where right physics "
      "would give {:.2f}: several layers, wrong positions, or light that the model does not know",
      evidence.used_told, evidence.again_used_told);
}

std::string misfit_more_reason(const TrustEvidence& evidence) {
  return fmt::format(
      "a solve leaves {:.0f} % more of what the mean pattern leaves in its own patterns than right "
      "physics would: several layers, or light that the model does not know",
      100 * (evidence.misfit - evidence.again_misfit));
}

std::string left_all_reason(const TrustEvidence& evidence) {
  return fmt::format(
      "no image explains patterns that it has not seen better than the mean pattern does ({:.0f} % "
      "of what that leaves is left): positions, probe or patterns are wrong, or too few overlap",
      100 * evidence.left);
}

/// How strong a sign is, and what it says.
using Sign = std::pair<double, std::string (*)(const TrustEvidence&)>;

std::array<Sign, 5> signs_in(const TrustEvidence& from) {
  const double told_less =
      (from.again_told - from.solved_told) / (from.seen > kFewSeen ? kToldLess : kToldLessOfFew);
  const bool bright = from.light > kVeryMuchLight && from.seen > kFewSeen;
  const double misfit_more =
      from.light > kMuchLight
          ? (from.misfit - from.again_misfit) / (bright ? kMisfitMoreBrightly : kMisfitMore)
          : 0;
  const double elsewhere = kElsewhere * (1 + kFewPhotons / std::max(from.photons, 1.0));
  return {{{number_or_0((from.told_elsewhere - from.solved_told) / elsewhere), elsewhere_reason},
           {number_or_0(told_less), told_less_reason},
           {number_or_0((from.again_used_told - from.used_told) / kUsedToldLess),
            used_told_less_reason},
           {number_or_0(misfit_more), misfit_more_reason},
           {number_or_0(from.left / kLeftAll), left_all_reason}}};
}

}  // namespace

void judge_likeness(Trust& trust) {
  const TrustEvidence& from = trust.evidence;
  if (!(from.light > kLightToTell)) return;
  const std::array<Sign, 5> signs = signs_in(from);
  trust.unlike = 0;
  for (const Sign& sign : signs) trust.unlike += sign.first;
  if (!trust.alarmed()) return;
  trust.reason = std::ranges::max_element(signs, {}, &Sign::first)->second(from);
}

Trust measured_trust(const Agreement& agreement, const Reconstruction& image, const Scan& scan,
                     const at::Tensor& first, const Model& model, const InferOptions& options) {
  const Stopwatch watch;
  TrustEvidence evidence;
  ImagesBeside beside;
  beside.solved = examine_physics(evidence, scan, first);
  beside.again = network_again(model, image, scan, options);
  Trust trust{.expected_error = kNaN, .evidence = evidence};
  if (judged_pixels(agreement, image).any().item<bool>() || !std::isfinite(evidence.light))
    trust = trust_in(agreement, image, scan, beside, evidence, options.polish);
  else
    warn("{}", kNoMap);
  judge_likeness(trust);
  trust.seconds = watch.seconds();
  return trust;
}

}  // namespace ptyche
