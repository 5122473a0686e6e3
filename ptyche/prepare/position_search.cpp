#include "ptyche/prepare/position_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/probe_search.h"

namespace ptyche {
namespace {

constexpr std::int64_t kTrialPatterns = 100;
constexpr const char* kTrialChain = "rpie:10,lbfgs:15";
constexpr const char* kScaleChain = "dm:15,lbfgs:25";
constexpr double kScales[] = {1 / 1.5, 1 / 1.3, 1.3, 1.5};
// Shadows say .65 .. 1.17 of the right scale. What the file's probe explains, held as it is, beyond
// what it does with the positions as given: right ones -.04 and less, of 9 rad and more, which so
// short a solve cannot unwrap, to .29, of which .58 is still left (kFarLess) | 1.5, 2 and .5 times
// .13 and more, most leave a tenth, and others explain nothing as given.
constexpr double kGainIsLow = 1.3, kMoreAtScale = 0.05;
constexpr double kFarLess = 0.5;  // left by it, over what the given positions leave at best
// Gain over what is explained beyond the noise, which is chance: crystals in focus at their right
// positions .14 over .03, .13 over .04, .12 over .02 | positions x 1.3 .35 over .02.
constexpr double kBeyondNoise = 10;
constexpr double kMuch = 0.4;  // explained by the file's probe at a scale that is believed in
// Explained, and explained beyond all others: right orientations .18 .. .98 and .19 .. 1.2 (from
// 2e3 photons on) | of shuffled patterns -.5 .. .11 and .03 .. .22, of too few photons .08 and .06.
constexpr double kSomething = 0.15;
// Between what an orientation explains and what the same turned by 180 degrees does: a probe in
// focus 0
// .. .01 on four scans; no scan is known whose curved light comes near.
constexpr double kAlike = 0.05;

TurnPositions scaled(double scale) { return {{{scale, 0}, {0, scale}}}; }

PositionTrial at_scale(double scale) {
  return {fmt::format("{:.2g} times as far apart as they should be", 1 / scale), scaled(scale), {}};
}

/// Other scales only beside a probe of the file: one that is made up has none of its own (a
/// Gaussian in focus: 38 % explained at half of the right distances, 16 % at the right ones).
std::vector<PositionTrial> changes(bool probe_given) {
  std::vector<PositionTrial> all{{"as given", std::nullopt, {}},
                                 {"one axis flipped", TurnPositions{{{-1, 0}, {0, 1}}}, {}},
                                 {"axes swapped", TurnPositions{{{0, 1}, {1, 0}}}, {}},
                                 {"turned by 90 degrees", TurnPositions{{{0, 1}, {-1, 0}}}, {}}};
  if (!probe_given) return all;
  all.push_back({"twice too far apart", scaled(0.5), {}});
  all.push_back({"half as far apart as they should be", scaled(2), {}});
  return all;
}

std::string evidence(const std::string& what, const PositionTrial& best,
                     const PositionTrial& given) {
  return fmt::format(
      "short solves say of the positions: {} (of what patterns that were held out hold beyond the "
      "mean one, {:.0f} % is explained so, {:.0f} % as they are given)",
      what, 100 * best.fit.explained(), 100 * std::max(given.fit.explained(), 0.0));
}

double explained(const PositionTrial& trial) { return trial.fit.explained(); }

/// 1 where only the axes are changed.
double scale_of(const PositionTrial& trial) {
  if (!trial.change) return 1;
  const auto& m = trial.change->matrix;
  return std::sqrt(std::abs(m[0][0] * m[1][1] - m[0][1] * m[1][0]));
}

bool is_twin(const PositionTrial& one, const PositionTrial& other) {
  if (!one.change || !other.change) return false;
  const auto &a = one.change->matrix, &b = other.change->matrix;
  return a[0][0] == -b[0][0] && a[0][1] == -b[0][1] && a[1][0] == -b[1][0] && a[1][1] == -b[1][1];
}

/// The same turned by 180 degrees.
PositionTrial twin_of(const PositionTrial& trial) {
  const auto& m = trial.change->matrix;
  return {trial.what + ", the other way round",
          TurnPositions{{{-m[0][0], -m[0][1]}, {-m[1][0], -m[1][1]}}},
          {}};
}

/// What the positions have suffered where it is known which of the twins it is.
std::string name_of(const TurnPositions& turn) {
  const auto& m = turn.matrix;
  if (m[0][1] == 0) return m[0][0] < 0 ? "rows flipped" : "columns flipped";
  if (m[0][1] == m[1][0]) return m[0][1] > 0 ? "axes swapped" : "axes swapped and both flipped";
  return m[0][1] > 0 ? "turned by 90 degrees" : "turned by -90 degrees";
}

std::vector<PositionTrial> beside(double scale) {
  std::vector<PositionTrial> both{at_scale(scale / std::numbers::sqrt2),
                                  at_scale(scale * std::numbers::sqrt2)};
  for (PositionTrial& each : both) each.beside = true;
  return both;
}

/// Without those that diverge, but for the positions as given.
std::vector<PositionTrial> solved(const Scan& part, std::vector<PositionTrial> all,
                                  bool fixed_probe = false) {
  const CatchInterrupts catching;
  std::vector<std::optional<ShortSolve>> solves(all.size());
  side_by_side(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    const Scan changed = all[place].change ? mended(part, *all[place].change, {}) : part;
    solves[place] =
        solve_shortly(changed, part.probe(),
                      SolverOptions{.chain = chain_from(kTrialChain), .fixed_probe = fixed_probe});
  });
  if (interrupted()) throw Interrupted("stopped while positions were tried");
  std::vector<PositionTrial> good;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].fit = solves[i] ? solves[i]->fit : HeldOutFit{};
    if (solves[i] || !all[i].change) good.push_back(std::move(all[i]));
  }
  return good;
}

/// Whether the first probe tells one of the twins from the other: no pattern does.
bool is_told(const std::vector<PositionTrial>& trials, const PositionTrial& best) {
  return std::ranges::any_of(trials, [&](const PositionTrial& each) {
    return is_twin(each, best) && explained(each) < explained(best) - kAlike;
  });
}

}  // namespace

std::vector<PositionTrial> try_positions(const Scan& scan) {
  const Scan part = middle_of(scan, kTrialPatterns);
  std::vector<PositionTrial> all = solved(part, changes(scan.probe_given()));
  const PositionTrial best = *std::ranges::max_element(all, {}, explained);
  std::vector<PositionTrial> more;
  if (const double scale = scale_of(best); scale != 1)
    more = beside(scale);
  else if (best.change && scan.probe_given())
    more = {twin_of(best)};
  for (PositionTrial& each : solved(part, std::move(more))) all.push_back(std::move(each));
  return all;
}

bool bears_out_scale(const Scan& scan, double scale) {
  const std::vector<PositionTrial> all =
      solved(middle_of(scan, kTrialPatterns),
             {{"as given", std::nullopt, {}},
              {"scaled", scaled(scale), {}},
              {"scaled further", scaled(kGainIsLow * scale), {}}},
             /*fixed_probe=*/true);
  const double given = explained(all[0]);
  return std::ranges::any_of(all, [&](const PositionTrial& each) {
    const bool far_less = given <= 0 || 1 - explained(each) < kFarLess * (1 - given);
    return explained(each) > given + kMoreAtScale && far_less;
  });
}

std::vector<PositionTrial> search_at_positions(const Scan& scan, const HeldOutFit& given) {
  std::vector<PositionTrial> all = changes(/*probe_given=*/false);
  for (PositionTrial& each : all)
    each.fit = each.change ? find_probe(mended(scan, *each.change, {}), /*own=*/false, {},
                                        /*aberrations=*/false)
                                 .fit
                           : given;
  return all;
}

std::optional<Finding> finding_of(const std::vector<PositionTrial>& trials,
                                  const ExamineOptions& options) {
  std::vector<PositionTrial> ranked = trials;
  std::ranges::stable_sort(ranked, std::greater<>(), explained);
  const PositionTrial best = ranked[0];
  std::erase_if(ranked, [&](const PositionTrial& each) { return is_twin(each, best); });
  if (ranked.size() < 2 || !best.change || best.beside || !best.fit.tells() ||
      best.fit.explained() < kSomething ||
      best.fit.explained() < ranked[1].fit.explained() + kClearlyMore)
    return std::nullopt;
  Diagnosis diagnosis;
  const auto mend = [&](const PositionTrial& trial, const std::string& what,
                        const std::string& more) {
    diagnosis.mend("positions: " + what, evidence(what, trial, trials[0]) + more, *trial.change,
                   options, axis_options());
    return diagnosis.findings[0];
  };
  if (scale_of(best) != 1) return mend(best, best.what, "");
  if (is_told(trials, best)) return mend(best, name_of(*best.change), "");
  const PositionTrial& plain = *std::ranges::find_if(trials, [&](const PositionTrial& each) {
    return is_twin(each, best) || each.what == best.what;
  });
  return mend(plain, plain.what,
              "; the same turned by 180 degrees explains as much, and then the image is turned by "
              "180 degrees and its phase reversed");
}

std::vector<PositionTrial> try_scales(const Scan& scan, const at::Tensor& found) {
  const CatchInterrupts catching;
  const Scan part = middle_of(scan, kTrialPatterns);
  std::vector<PositionTrial> all{{"as given, by the probe that was found", std::nullopt, {}},
                                 {"as given", std::nullopt, {}},
                                 {"both axes flipped", scaled(-1), {}}};
  for (const double scale : kScales) all.push_back(at_scale(scale));
  const bool own = at::equal(found, scan.probe());  // then the first two are one
  side_by_side(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
    if (own && i == 0) return;
    PositionTrial& trial = all[static_cast<std::size_t>(i)];
    const Scan changed = trial.change ? mended(part, *trial.change, {}) : part;
    const auto solved =
        solve_shortly(changed, i == 0 ? found : scan.probe(), chain_from(kScaleChain));
    trial.fit = solved ? solved->fit : HeldOutFit{1, 0, 1};
  });
  if (own) all[0].fit = all[1].fit;
  if (interrupted()) throw Interrupted("stopped while positions were tried");
  return all;
}

std::optional<Finding> scale_finding(const std::vector<PositionTrial>& trials) {
  const double found = trials[0].fit.explained(), given = trials[1].fit.explained();
  const auto best = std::ranges::max_element(trials.begin() + 2, trials.end(), {}, explained);
  const double other = best->fit.explained();
  const bool fits_only_there = other > given + kClearlyMore && other > found - kClearlyMore;
  const double here = std::max(found, given);
  const bool fits_far_better =
      1 - other < kFarLess * (1 - here) && other - here > kBeyondNoise * (other - 1);
  if (!trials[0].fit.tells() || other < kMuch || !(fits_only_there || fits_far_better))
    return std::nullopt;
  const bool turned = scale_of(*best) == 1;
  return Finding{
      Level::warn,
      turned ? "positions: both axes flipped, or the sign of the defocus"
             : "positions: scale, or the defocus",
      fmt::format(
          "the file's probe explains {:.0f} % with the positions as given and {:.0f} % as if "
          "they were {}; another probe that was found explains {:.0f} % with them as given: "
          "if the file's is right, {}",
          100 * std::max(given, 0.0), 100 * other, best->what, 100 * found,
          turned ? "the image is turned by 180 degrees and its phase reversed, or the patterns "
                   "are turned by 180 degrees and its phase is reversed"
                 : "the image is as much too large or too small")};
}

namespace {

// Of a raster that was turned: mean square distance of the unturned, and how much less is left.
constexpr double kOtherPlaces_px2 = 4, kMuchNearer = 0.1;

/// The rotation, or mirrored rotation, that brings positions (n, 2) nearest to others about their
/// means (Kabsch, Acta Cryst. A 32, 922 (1976)).
TurnPositions rotation_to(const at::Tensor& from, const at::Tensor& to) {
  const at::Tensor covariance = (to - to.mean(0)).t().matmul(from - from.mean(0));
  const auto [u, s, v] = at::linalg_svd(covariance);
  const at::Tensor best = u.matmul(v).contiguous();
  const auto* m = best.const_data_ptr<double>();
  return {{{m[0], m[1]}, {m[2], m[3]}}};
}

}  // namespace

Scan turned_like(const Scan& scan, const at::Tensor& positions) {
  if (!positions.defined() || positions.sizes() != scan.positions().sizes()) return scan;
  const auto away = [&](const at::Tensor& from) {
    return (from - positions).square().mean().item<double>();
  };
  std::optional<TurnPositions> nearest;
  double least = away(scan.positions());
  for (const PositionTrial& each : changes(/*probe_given=*/true)) {
    if (!each.change) continue;
    const double other = away(turned_positions(scan.positions(), *each.change));
    if (other < least) nearest = each.change;
    least = std::min(least, other);
  }
  const TurnPositions turn = rotation_to(scan.positions(), positions);
  const double rotated = away(turned_positions(scan.positions(), turn));
  if (least > kOtherPlaces_px2 && rotated < kMuchNearer * least) nearest = turn;
  return nearest ? mended(scan, *nearest, {}) : scan;
}

}  // namespace ptyche
