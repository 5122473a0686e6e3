#include "ptyche/solve/attempts.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/solve.h"

namespace ptyche {
namespace {

constexpr std::int64_t kEnoughToTry = 20;  // used patterns; fewer are not worth a hold-out
constexpr std::int64_t kOneIn = 20;  // used patterns is set apart where the scan holds out none

constexpr double kLongObjectStep = 0.1;
constexpr double kStillWhereTied = 0.003;
constexpr std::int64_t kNever = 1'000'000;  // passes between evaluations that nobody looks at
// Pixels of all used patterns.
constexpr std::int64_t kMostSideBySide = std::int64_t{1} << 22;

double misfit_of(const Reconstruction& image, const Scan& scan) {
  const DataFit fit = data_fit(image, scan, scan.frames_with(FrameUse::used), true);
  return fit.deviance_per_photon / std::max(fit.deviance_per_photon_floor, 1e-30);
}

/// The scan with the positions that the start has found, where they are to be held.
Scan placed(const Scan& scan, const Request& request) {
  return request.choice.holds_positions && request.start && request.start->positions.defined()
             ? scan.with_positions(request.start->positions)
             : scan;
}

/// How well the image foretells patterns that it was not made of, and describes the others.
void score(KeptAttempt& done, const Scan& scan) {
  done.misfit = misfit_of(done.image, scan);
  const at::Tensor held_out = scan.frames_with(FrameUse::held_out);
  if (held_out.size(0) == 0) return;
  const DataFit fit = data_fit(done.image, scan, held_out, true);
  done.deviance = fit.deviance_per_photon;
  done.deviance_floor = fit.deviance_per_photon_floor;
}

}  // namespace

bool wins(const DataFit& fit, const DataFit& other, const Margin& margin) {
  const double above = std::max(other.deviance_per_photon - other.deviance_per_photon_floor, 0.0);
  const double gain = other.deviance_per_photon - fit.deviance_per_photon;
  return gain > margin.above_noise * above && gain > margin.noise * other.deviance_per_photon_floor;
}

double explained(const DataFit& fit, const Scan& scan) {
  const at::Tensor held_out = scan.frames_with(FrameUse::held_out);
  if (held_out.size(0) == 0) return 1;
  const double mean = trivial_fit(scan, held_out, true).mean_pattern_deviance_per_photon;
  const HeldOutFit held{fit.deviance_per_photon, fit.deviance_per_photon_floor, mean};
  return held.tells() ? held.explained() : 0;
}

Scan with_hold_out(const Scan& scan) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  if (scan.frames_with(FrameUse::held_out).size(0) > 0 || used.size(0) < kEnoughToTry) return scan;
  at::Tensor use = scan.frame_use().clone();
  use.index_fill_(0, used.slice(0, kOneIn / 2, {}, kOneIn), static_cast<int>(FrameUse::held_out));
  return scan.with_frame_use(use);
}

Scan without(const Scan& scan, const at::Tensor& frames) {
  return scan.with_frame_use(
      scan.frame_use().index_fill(0, frames, static_cast<int>(FrameUse::rejected)));
}

double few_photons(const at::Tensor& probe, bool given) {
  constexpr double kCounts = 5e3, kUsualArea_px = 400;  // of the scans by which it was chosen
  if (!given) return kCounts;
  const at::Tensor light = mode_power(probe).to(at::kDouble);
  const double squares = light.square().sum().item<double>();
  const double area = squares > 0 ? std::pow(light.sum().item<double>(), 2) / squares : 0;
  return kCounts * std::max(1.0, area / kUsualArea_px);
}

Choice choice_for_few(double share) {
  const double slope = Choice{}.slope;
  return {.slope = std::min(2 * slope, slope * std::pow(2 / share, 0.28)),
          .fixed_probe = true,
          .background = false,
          .stiffness = 3,
          .slow_phase = false};
}

Choice tied_choice(const Choice& best, const Reconstruction& image, double stiffness) {
  Choice choice = best;
  choice.stiffness = stiffness;
  choice.still = kStillWhereTied;
  choice.absorption =
      image.object.defined() ? absorption_of(image.projection(), lit_pixels(image)) : 0;
  return choice;
}

bool Request::is_same_work(const Request& other) const {
  return what == other.what && choice == other.choice && origin == other.origin &&
         to_string(chain) == to_string(other.chain);
}

SolverOptions Attempts::options_for(const Scan& scan, const Request& request) const {
  const Choice& choice = request.choice;
  SolverOptions options{
      .chain = request.chain,
      .modes = choice.modes,
      .fixed_probe = options_.fixed_probe || choice.fixed_probe,
      .background = choice.background,
      .positions = choice.holds_positions ? PositionFreedom::none : choice.positions,
      .intensities = request.intensities,
      .interpolation = options_.interpolation,
      .every = kNever,
      .seed = options_.seed};
  set_if_looked_at(options, "object-slope", choice.slope);
  set_if_looked_at(options, "amplitude-stiffness", choice.stiffness);
  set_if_looked_at(options, "object-edge", choice.edge);
  set_if_looked_at(options, "absorption", choice.absorption);
  set_if_looked_at(options, "still", choice.still);
  set_if_looked_at(options, "slow-phase", choice.slow_phase ? 1 : 0);
  set_if_looked_at(options, "object-step", kLongObjectStep);
  take_engine_for(scan.pattern_size(), options);
  return options;
}

Attempts::Made Attempts::made(const Scan& scan, const Request& request) {
  const Stopwatch watch;
  Made made{.attempt = {.what = request.what}};
  KeptAttempt& done = made.attempt;
  if (request.start) kept_.require_image(*request.start, "'" + request.what + "'");
  const Scan where = placed(scan, request);
  try {
    SolveResult result =
        solve(where, request.start, options_for(scan, request), kept_.watch(request.number));
    done.image = std::move(result.image);
    done.end = result.end;
    done.fits_intensities = done.image.intensities.defined();
    made.seconds_before = result.seconds_before;
    score(done, where);
  } catch (const BadCheckpoint&) {
    throw;
  } catch (const InvalidInput& error) {
    done.refused = error.what();
  }
  done.absorption = request.choice.absorption;
  done.passes = static_cast<std::int64_t>(done.image.loss.size());
  done.seconds = made.seconds_before + watch.seconds();
  if (done.end != ChainEnd::interrupted) kept_.keep(request.number, done);
  return made;
}

Attempts::Made Attempts::found_or_made(const Scan& scan, const Request& request) {
  if (const auto found = kept_.find(request.number, request.what)) return {*found, found->seconds};
  return made(scan, request);
}

bool Attempts::has(const Request& request) const {
  return std::ranges::any_of(ahead_,
                             [&](const Ahead& each) { return each.request.is_same_work(request); });
}

std::size_t Attempts::side_by_side_of(const Scan& scan) {
  const std::int64_t size = scan.pattern_size();
  const std::int64_t used = scan.frames_with(FrameUse::used).size(0);
  if (scan.shared() || used * size * size > kMostSideBySide) return 1;
  return static_cast<std::size_t>(at::get_num_threads());
}

bool Attempts::make_ahead(const Scan& scan, const std::vector<Request>& requests) {
  ahead_.clear();
  if (requests.size() < 2) return true;
  std::vector<Made> all(requests.size());
  const CatchInterrupts catching;
  Progress progress("trials", 1, "trials");
  progress.step(0, 0, fmt::format("{} side by side", requests.size()));
  side_by_side(std::ssize(requests), [&](std::int64_t i) {
    const Silence silence;  // of several at once nobody could tell who speaks
    const auto at = static_cast<std::size_t>(i);
    all[at] = found_or_made(scan, requests[at]);
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const KeptAttempt& done = all[i].attempt;
    detail("{}: {} passes in {:.2f} s, deviance of held-out patterns {:.5f} per photon",
           requests[i].what, done.passes, done.seconds, done.deviance);
    ahead_.push_back({requests[i], std::move(all[i])});
  }
  return std::ranges::none_of(
      ahead_, [](const Ahead& each) { return each.made.attempt.end == ChainEnd::interrupted; });
}

Candidate Attempts::take(const Scan& scan, const Request& request) {
  const auto ahead = std::ranges::find_if(
      ahead_, [&](const Ahead& each) { return each.request.is_same_work(request); });
  const bool is_there = ahead != ahead_.end();
  Made made = is_there ? std::move(ahead->made) : found_or_made(scan, request);
  const std::int64_t number = is_there ? ahead->request.number : request.number;
  if (is_there) ahead_.erase(ahead);
  seconds_before_ += made.seconds_before;
  KeptAttempt& done = made.attempt;
  Candidate candidate{.choice = request.choice,
                      .image = std::move(done.image),
                      .end = done.end,
                      .misfit = done.misfit,
                      .fits_intensities = done.fits_intensities,
                      .number = number,
                      .refused = done.refused};
  candidate.choice.absorption = done.absorption;
  candidate.fit.deviance_per_photon = done.deviance;
  candidate.fit.deviance_per_photon_floor = done.deviance_floor;
  if (done.refused.empty())
    rows_.push_back({.what = request.what,
                     .passes = done.passes,
                     .seconds = done.seconds,
                     .held_out_deviance = done.deviance});
  return candidate;
}

}  // namespace ptyche
