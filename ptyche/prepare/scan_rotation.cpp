#include "ptyche/prepare/scan_rotation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/prepare/likeness.h"
#include "ptyche/prepare/probe_search.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSmallestRaster = 4;
constexpr double kSameRow = 1e-6;  // of a step
constexpr std::int64_t kFramesAtOnce = 64;
constexpr double kInDegrees = 180 / std::numbers::pi;
constexpr std::int64_t kShadowPatterns = 400, kPairsOfShadows = 400;
constexpr double kLeastGain = 0.1, kMostGain = 8, kNextGain = 1.15;  // pattern px per position px
constexpr double kNearlyAsStrong = 0.5, kStrongShadow = 12, kLittleCurl = 0.3, kHardlyCurl = 0.05;
constexpr double kSomethingExplained = 0.15, kLeastRoom = 1.01;
constexpr std::size_t kMostShadows = 4;
constexpr double kFarthestShadow = 0.4;  // of the pattern: shifts beyond it wrap
constexpr std::int64_t kAngles = 36;
constexpr double kShadowStep = 180.0 / kAngles, kSameTurn = 5;  // degrees
constexpr double kLeastShadow = 5;                              // standard errors
constexpr const char* kRefineChain = "rpie:10,lbfgs:15";
constexpr double kWideStep = 3, kNarrowStep = 1.5;  // degrees

struct RasterShape {
  std::int64_t rows = 0, cols = 0;
};

/// Rows and columns of positions (n, 2) that lie row by row on an unturned raster.
std::optional<RasterShape> raster_of(const at::Tensor& positions) {
  const std::int64_t n = positions.size(0);
  const at::Tensor row = positions.select(1, 0);
  const at::Tensor same = (row - row[0]).abs().le(kSameRow * (1 + row.abs().max()));
  const auto cols = same.sum().item<std::int64_t>();
  if (cols < kSmallestRaster || n % cols != 0 || n / cols < kSmallestRaster) return std::nullopt;
  return RasterShape{n / cols, cols};
}

/// Centres of mass (n, 2) float64, row and column, without the masked pixels.
at::Tensor centres_of_mass(const Scan& scan) {
  const at::Tensor mask = scan.mask().to(at::kDouble);
  const at::Tensor axis = at::arange(scan.pattern_size(), at::kDouble);
  std::vector<at::Tensor> all;
  for (const at::Tensor& batch : at::arange(scan.frames(), at::kLong).split(kFramesAtOnce)) {
    const at::Tensor counts = scan.counts().index_select(0, batch).to(at::kDouble) * mask;
    const at::Tensor total = counts.sum({1, 2}).clamp_min(1);
    all.push_back(
        at::stack({counts.sum(2).matmul(axis) / total, counts.sum(1).matmul(axis) / total}, 1));
  }
  return at::cat(all);
}

/// Differences of a field (rows, cols) from its next neighbours, in the middle of the raster.
at::Tensor along_rows(const at::Tensor& field) {
  return (field.slice(0, 2) - field.slice(0, 0, -2)).slice(1, 1, -1);
}
at::Tensor along_cols(const at::Tensor& field) {
  return (field.slice(1, 2) - field.slice(1, 0, -2)).slice(0, 1, -1);
}

double sum_of(const at::Tensor& values) { return values.sum().item<double>(); }

/// Steps (k, 2) of a raster that lies so.
at::Tensor turned(const at::Tensor& steps, const ScanRotation& rotation) {
  const double angle = rotation.degrees / kInDegrees;
  const at::Tensor row = steps.select(1, 0), col = steps.select(1, 1);
  const at::Tensor lain = at::stack({row * std::cos(angle) + col * std::sin(angle),
                                     col * std::cos(angle) - row * std::sin(angle)},
                                    1);
  return rotation.transposed ? lain.flip(1) : lain;
}

/// Curl and divergence of the deflections in the middle of the raster.
struct Deflections {
  at::Tensor curl, divergence;
};

/// Of centres of mass moved by x along the scan's columns and y along its rows.
Deflections deflections_of(const at::Tensor& x, const at::Tensor& y) {
  return {along_cols(y) - along_rows(x), along_cols(x) + along_rows(y)};
}

struct LeastCurl {
  double degrees = 0;
  double left = 1;  ///< share of the curl that the best turn leaves, 0..1
};

/// With C and D the field's curl and divergence as it is, a turn by a has the curl
/// C cos a - D sin a.
LeastCurl least_curl(const Deflections& field) {
  const double curl = sum_of(field.curl.square()), divergence = sum_of(field.divergence.square());
  const double half = (curl - divergence) / 2, mean = (curl + divergence) / 2;
  const double mixed = sum_of(field.curl * field.divergence), swing = std::hypot(half, mixed);
  return {std::atan2(mixed, -half) / 2 * kInDegrees,
          mean > 0 ? (mean - swing) / (mean + swing) : 1};
}

/// Whether the turn is that of an object whose phase has pits rather than peaks: peaks are sinks.
bool has_pits(const Deflections& field, double degrees) {
  const double angle = degrees / kInDegrees;
  const at::Tensor sources = field.divergence * std::cos(angle) + field.curl * std::sin(angle);
  return sum_of((sources - sources.mean()).pow(3)) > 0;
}

/// Those of a detector as it is, and of a transposed one.
std::array<Deflections, 2> both_deflections(const Scan& scan, const RasterShape& shape) {
  const at::Tensor centres = centres_of_mass(scan);
  const at::Tensor moved = (centres - centres.mean(0)).t().reshape({2, shape.rows, shape.cols});
  return {deflections_of(moved[1], moved[0]), deflections_of(moved[0], moved[1])};
}

/// A turn along which shadows move in patterns of neighbours: of curved light only.
struct ShadowTurn {
  ScanRotation turn;
  double strength = 0;  ///< standard errors
};

/// Correlations of neighbours, and their steps on the unturned raster.
struct NeighbourPairs {
  at::Tensor correlations, steps;  // (pairs, M, M) float32, (pairs, 2) float64
  double error = 1;                // of their mean odd part
};

NeighbourPairs pairs_of(const Scan& part) {
  const Likeness likeness = likeness_of(part.counts().to(at::kFloat), part.mask());
  const Pairs pairs = neighbours(part.positions(), kPairsOfShadows);
  std::vector<std::int64_t> first, second;
  for (const auto& [a, b] : pairs) {
    first.push_back(a);
    second.push_back(b);
  }
  const auto places = [&](const std::vector<std::int64_t>& numbers) {
    return part.positions().index_select(0, at::tensor(numbers, at::kLong));
  };
  at::Tensor all = correlations(likeness, pairs).contiguous();
  const double deviation = pairs.empty() ? 1 : all.std().item<double>();
  return {
      std::move(all), places(second) - places(first),
      deviation / std::sqrt(2.0 * std::max<double>(1, static_cast<double>(pairs.size()))) + 1e-12};
}

/// Mean odd correlation, in standard errors, at the gain times the turned steps.
double odd_along(const NeighbourPairs& all, const ScanRotation& turn, double gain) {
  const at::Tensor moves = turned(all.steps, turn) * gain;
  const std::vector<double> there = values_at(all.correlations, to_vector(moves.reshape(-1))),
                            back = values_at(all.correlations, to_vector((-moves).reshape(-1)));
  double sum = 0;
  for (std::size_t i = 0; i < there.size(); ++i) sum += 0.5 * (there[i] - back[i]);
  return sum / (static_cast<double>(there.size()) * all.error);
}

/// The strongest at each angle, over all gains whose shifts do not wrap, either sign of them.
std::vector<double> strengths_by_angle(const NeighbourPairs& all, bool transposed) {
  const double longest = all.steps.abs().max().item<double>();
  const double most = std::min(
      kMostGain, kFarthestShadow * static_cast<double>(all.correlations.size(-1)) / longest);
  std::vector<double> strengths(kAngles, 0.0);
  side_by_side(kAngles, [&](std::int64_t i) {
    const ScanRotation turn{.degrees = static_cast<double>(i) * kShadowStep,
                            .transposed = transposed};
    double& best = strengths[static_cast<std::size_t>(i)];
    for (double gain = kLeastGain; gain < most; gain *= kNextGain)
      best = std::max(best, std::abs(odd_along(all, turn, gain)));
  });
  return strengths;
}

/// Peaks over the angles of a half turn, for the opposite one is the twin.
void add_shadows(std::vector<ShadowTurn>& found, const NeighbourPairs& all, bool transposed) {
  const std::vector<double> strengths = strengths_by_angle(all, transposed);
  for (std::size_t i = 0; i < strengths.size(); ++i) {
    const double before = strengths[(i + kAngles - 1) % kAngles], here = strengths[i],
                 after = strengths[(i + 1) % kAngles];
    if (here < kLeastShadow || here < before || here <= after) continue;
    const double bend = before + after - 2 * here;
    const double beside = bend < 0 ? 0.5 * (before - after) / bend : 0;
    found.push_back(
        {{.degrees = (static_cast<double>(i) + beside) * kShadowStep, .transposed = transposed},
         here});
  }
}

/// Strongest first.
std::vector<ShadowTurn> turns_of_shadows(const Scan& part) {
  const NeighbourPairs all = pairs_of(part);
  std::vector<ShadowTurn> found;
  if (all.steps.size(0) == 0) return found;
  for (const bool transposed : {false, true}) add_shadows(found, all, transposed);
  std::ranges::stable_sort(found, std::greater<>(), &ShadowTurn::strength);
  return found;
}

/// Of two turns up to the opposite one, which is the twin's.
double degrees_apart(double a, double b) { return std::abs(std::remainder(a - b, 180)); }

/// A turn that is tried.
struct Trial {
  ScanRotation turn;
  std::optional<FoundProbe> found = {};

  /// -1 where nothing is known: the mean pattern is no worse than the noise.
  double explained() const {
    const bool tells = found && found->fit.mean_pattern > kLeastRoom * found->fit.noise;
    return tells ? found->fit.explained() : -1;
  }
};

void add(std::vector<Trial>& trials, double degrees, bool transposed) {
  for (const Trial& each : trials)
    if (each.turn.transposed == transposed && degrees_apart(each.turn.degrees, degrees) < kSameTurn)
      return;
  trials.push_back({{.degrees = std::remainder(degrees, 360), .transposed = transposed}});
}

void try_out(Trial& trial, const Scan& scan) {
  if (trial.found) return;
  try {
    trial.found = find_probe(with_raster_turned(scan, trial.turn), scan.probe_given());
  } catch (const InvalidInput&) {  // no start could be solved so
  }
}

/// The trial that explains most.
Trial best_of(std::vector<Trial> trials, const Scan& scan) {
  for (Trial& each : trials) {
    try_out(each, scan);
    detail("raster turned by {:.1f} degrees{}: {:.2f} explained", each.turn.degrees,
           each.turn.transposed ? ", transposed" : "", each.explained());
  }
  return *std::ranges::max_element(trials, {}, &Trial::explained);
}

/// Whether an image came of it: right turns .23 .. .99 | no image of few electrons -.5 .. .0.
bool is_sure(const Trial& best) { return best.explained() > kSomethingExplained; }

/// Deviance of held-out patterns after a short solve with the raster turned by each.
std::vector<double> deviances(const Scan& part, const Trial& best,
                              const std::vector<double>& turns) {
  const CatchInterrupts catching;
  std::vector<double> all(turns.size(), std::numeric_limits<double>::infinity());
  side_by_side(static_cast<std::int64_t>(turns.size()), [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    const ScanRotation turn{.degrees = turns[place], .transposed = best.turn.transposed};
    const auto solved =
        solve_shortly(with_raster_turned(part, turn), best.found->probe, chain_from(kRefineChain));
    if (solved) all[place] = solved->fit.deviance;
  });
  if (interrupted()) throw Interrupted("stopped while the raster's turn was looked for");
  return all;
}

/// Where the parabola through five values at -2 .. 2 steps is least, at most two steps away.
double least_of_five(const std::vector<double>& values) {
  const double slope = (2 * values[4] + values[3] - values[1] - 2 * values[0]) / 10;
  const double bend = (2 * values[4] - values[3] - 2 * values[2] - values[1] + 2 * values[0]) / 14;
  const auto least = std::ranges::min_element(values) - values.begin();
  if (!(bend > 0) || !std::isfinite(bend)) return static_cast<double>(least - 2);
  return std::clamp(-slope / (2 * bend), -2.0, 2.0);
}

/// Where held-out patterns are foretold best: five turns, again where that lies at their end, and
/// five more beside each other.
double refined(const Scan& part, const Trial& best) {
  double degrees = best.turn.degrees;
  const auto look = [&](double step) {
    std::vector<double> turns;
    for (int i = -2; i <= 2; ++i) turns.push_back(degrees + i * step);
    const double least = least_of_five(deviances(part, best, turns));
    degrees += step * least;
    return std::abs(least);
  };
  if (look(kWideStep) > 1) look(kWideStep);
  look(kNarrowStep);
  return degrees;
}

/// Shadows that are nearly as strong as the strongest; where none is strong, the turns that leave
/// the deflections the least curl.
std::vector<Trial> candidates(const Scan& scan, const std::array<Deflections, 2>& fields) {
  std::vector<Trial> trials;
  const std::vector<ShadowTurn> shadows = turns_of_shadows(middle_of(scan, kShadowPatterns));
  const double strongest = shadows.empty() ? 0 : shadows[0].strength;
  for (const ShadowTurn& each : shadows)
    if (each.strength > kNearlyAsStrong * strongest && trials.size() < kMostShadows)
      add(trials, each.turn.degrees, each.turn.transposed);
  for (const bool transposed : {false, true}) {
    const LeastCurl curl = least_curl(fields[transposed ? 1 : 0]);
    if (strongest < kStrongShadow || curl.left < kLittleCurl) add(trials, curl.degrees, transposed);
  }
  return trials;
}

}  // namespace

std::optional<ScanRotation> find_scan_rotation(const Scan& scan) {
  const std::optional<RasterShape> shape = raster_of(scan.positions());
  if (!shape || scan.frames_with(FrameUse::used).size(0) < kLeastPatterns) return std::nullopt;
  const std::array<Deflections, 2> fields = both_deflections(scan, *shape);
  Trial best = best_of(candidates(scan, fields), scan);
  if (!is_sure(best)) return std::nullopt;
  const Deflections& field = fields[best.turn.transposed ? 1 : 0];
  const LeastCurl curl = least_curl(field);
  const bool curl_tells =
      curl.left < kHardlyCurl && degrees_apart(curl.degrees, best.turn.degrees) < kSameTurn;
  const double degrees = curl_tells ? curl.degrees : refined(middle_of(scan, kFinalPatterns), best);
  best.turn.degrees = std::remainder(degrees + (has_pits(field, degrees) ? 180 : 0), 360);
  best.turn.explained = best.explained();
  return best.turn;
}

Scan with_raster_turned(const Scan& scan, const ScanRotation& rotation) {
  const at::Tensor middle = scan.positions().mean(0);
  return scan.with_positions((turned(scan.positions() - middle, rotation) + middle).contiguous());
}

Scan read_turned_scan(const ReadOptions& options) {
  const Scan scan = read_scan(options);
  if (options.scan_rotation != "auto") return scan;
  const std::optional<ScanRotation> found = find_scan_rotation(scan);
  require(found.has_value(),
          "--scan-rotation auto: {}: expected a raster of which one turn leads to an image, found "
          "none: "
          "too few electrons a pattern, too little overlap, or no raster; give it in degrees",
          options.file.string());
  note(
      "the raster is turned by {:.1f} degrees{} ({:.0f} % of held-out patterns is explained so); "
      "the "
      "opposite turn is the twin image",
      found->degrees, found->transposed ? " against a transposed detector" : "",
      100 * found->explained);
  return with_raster_turned(scan, *found);
}

}  // namespace ptyche
