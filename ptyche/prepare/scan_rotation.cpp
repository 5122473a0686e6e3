#include "ptyche/prepare/scan_rotation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/phase_energy.h"
#include "ptyche/prepare/short_solve.h"
#include "ptyche/solve/read_by_ranks.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSmallestRaster = 4, kFewestUsed = 8;
constexpr double kSameRow = 1e-6;  // of a step
constexpr std::int64_t kFramesAtOnce = 64;
constexpr double kInDegrees = 180 / std::numbers::pi;
constexpr double kHardlyCurl = 0.05, kSameTurn = 5;  // of the curl; degrees
constexpr double kNearlyAsStrong = 0.5;
constexpr double kDefocusStep = 0.75;                                             // rad at the rim
constexpr double kCoarseStep = 4, kNoiseStep = 8, kFineStep = 1, kFineReach = 8;  // degrees
constexpr double kOneTurn = 12;  // degrees: turns nearer are one
constexpr std::size_t kMostRivals = 5;
constexpr double kLessDefocus = 0.4, kRightTurn = 0.8;  // of the energy's; of what is explained
constexpr int kMostRounds = 4;
constexpr double kRests = 0.3;  // degrees
// Standard errors, and skewness of the deflections' sinks: of 60 simulated rasters that of atoms is
// 1.1 to 2.3 in 13; opposite to theirs it is .76 at most, and .82 for the three waves of a
// honeycomb, whose holes are its strongest extrema.
constexpr double kCertainPeaks = 50, kLeastPeaks = 1;
constexpr double kTellsProbes = 0.05;  // between likenesses to the known probe and to its twin
constexpr std::int64_t kRivalPatterns = 150;
constexpr const char* kRivalChain = "rpie:8,lbfgs:12";
// Of 72 rasters: right at 11 and more but for one lattice; wrong at 7.4 and less. Noise alone
// comes to 5 among all turns.
constexpr double kLeastEnergy = 10, kCertainEnergy = 18;
// A phase q^4 is most like 1.4 q^2 where energies are found without it.
constexpr double kDefocusOfSpherical = 1.4;

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
    const at::Tensor counts = counts_of(scan, batch).to(at::kDouble) * mask;
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

/// Light is deflected along the slope of the phase, and a slope has no curl. With C and D the
/// field's curl and divergence as it is, a turn by a has the curl C cos a - D sin a.
LeastCurl least_curl(const Deflections& field) {
  const double curl = sum_of(field.curl.square()), divergence = sum_of(field.divergence.square());
  const double half = (curl - divergence) / 2, mean = (curl + divergence) / 2;
  const double mixed = sum_of(field.curl * field.divergence), swing = std::hypot(half, mixed);
  return {std::atan2(mixed, -half) / 2 * kInDegrees,
          mean > 0 ? (mean - swing) / (mean + swing) : 1};
}

/// How much stronger the phase's peaks are than its pits where the raster is turned so, as the
/// skewness of the sinks, for peaks are sinks; 0 where it does not stand out from noise, whose
/// power the curl tells.
double peaks_over_pits(const Deflections& field, double degrees) {
  const double cos = std::cos(degrees / kInDegrees), sin = std::sin(degrees / kInDegrees);
  const at::Tensor sources = field.divergence * cos + field.curl * sin;
  const at::Tensor sinks = sources.mean() - sources;
  const double noise = (field.curl * cos - field.divergence * sin).square().mean().item<double>();
  const double cubes = sum_of(sinks.pow(3)), power = sinks.square().mean().item<double>();
  const auto pixels = static_cast<double>(sinks.numel());
  // A normal variable's cube has the variance 15 sigma^6.
  if (std::abs(cubes) < kCertainPeaks * std::sqrt(15 * pixels * noise * noise * noise)) return 0;
  return cubes / pixels / std::pow(power, 1.5);
}

/// Those of a detector as it is, or of a transposed one.
Deflections deflections(const Scan& scan, const RasterShape& shape, bool transposed) {
  const at::Tensor centres = centres_of_mass(scan);
  const at::Tensor moved = (centres - centres.mean(0)).t().reshape({2, shape.rows, shape.cols});
  return transposed ? deflections_of(moved[0], moved[1]) : deflections_of(moved[1], moved[0]);
}

struct Guess {
  ScanRotation turn;
  Aberrations aberrations;
  double evidence = 0;
};

/// Whether they are one turn, which fine_guess finds from either.
bool near(const Guess& a, const Guess& b) {
  return a.turn.transposed == b.turn.transposed &&
         std::abs(std::remainder(a.turn.degrees - b.turn.degrees, 360)) <= kOneTurn;
}

/// Sums in rings for all turns, degrees `step` apart, and both orders of the detector's axes.
struct RingEnergies {
  std::vector<ScanRotation> turns;
  std::vector<std::vector<double>> rings;
};

RingEnergies around(const RasterEnergy& energy, const PhaseGradients& gradients, double step) {
  const at::Tensor pairs = energy.pairs(gradients);
  RingEnergies all;
  for (const bool transposed : {false, true})
    for (double degrees = 0; degrees < 360; degrees += step) {
      all.turns.push_back({.degrees = degrees, .transposed = transposed});
      all.rings.push_back(energy.in_rings(energy.energy(pairs, degrees, transposed)));
    }
  return all;
}

/// Variance of each ring over turns of patterns whose signs are random.
std::vector<double> noise_in(const RasterEnergy& energy, const PhaseGradients& gradients) {
  const RingEnergies noise = around(energy, energy.with_random_signs(gradients), kNoiseStep);
  const auto turns = static_cast<double>(noise.rings.size());
  std::vector<double> variance;
  for (std::size_t ring = 0; ring < PhaseEnergy::kRings; ++ring) {
    double sum = 0, squares = 0;
    for (const std::vector<double>& each : noise.rings) {
      sum += each[ring];
      squares += each[ring] * each[ring];
    }
    variance.push_back(squares / turns - sum * sum / (turns * turns) + 1e-30);
  }
  return variance;
}

/// Gain of the log-likelihood by a sample of any power in each ring: with m = power^2 / variance
/// independent waves, whose power is r = 1 + energy / power times that of noise alone, m (r - 1 -
/// log r).
double evidence_in(const std::vector<double>& energies, const std::vector<double>& powers,
                   const std::vector<double>& variances) {
  double sum = 0;
  for (std::size_t ring = 0; ring < energies.size(); ++ring) {
    if (!(powers[ring] > 0)) continue;
    const double waves = std::max(1.0, powers[ring] * powers[ring] / variances[ring]);
    const double more = std::max(0.0, energies[ring]) / powers[ring];
    sum += waves * (more - std::log1p(more));
  }
  return sum;
}

double sum_over(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// All turns at one defocus.
std::vector<Guess> turns_at(const RasterEnergy& energy, const Aberrations& aberrations) {
  const PhaseGradients gradients = energy.gradients(aberrations);
  const std::vector<double> powers = energy.in_rings(gradients.powers),
                            variances = noise_in(energy, gradients);
  const RingEnergies all = around(energy, gradients, kCoarseStep);
  std::vector<Guess> found;
  for (std::size_t i = 0; i < all.turns.size(); ++i) {
    found.push_back({.turn = all.turns[i],
                     .aberrations = aberrations,
                     .evidence = evidence_in(all.rings[i], powers, variances)});
    found.back().turn.strength = sum_over(all.rings[i]) / std::sqrt(sum_over(variances));
  }
  return found;
}

/// Guesses side by side, in the order of the aberrations.
std::vector<Guess> guesses(const std::vector<Aberrations>& all,
                           const std::function<std::vector<Guess>(const Aberrations&)>& at_one) {
  const CatchInterrupts catching;
  std::vector<std::vector<Guess>> found(all.size());
  side_by_side(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    if (!interrupted()) found[place] = at_one(all[place]);
  });
  if (interrupted()) throw Interrupted("stopped while the raster's turn was looked for");
  std::vector<Guess> together;
  for (const std::vector<Guess>& each : found)
    together.insert(together.end(), each.begin(), each.end());
  return together;
}

/// Over all turns at all defoci of one sign (the other sign with the opposite turn is the twin):
/// those that are nearly as strong as the strongest, that of the most evidence among turns near
/// each other, in the order of their evidence.
std::vector<Guess> coarse_guesses(const RasterEnergy& energy) {
  std::vector<Aberrations> defoci;
  for (double defocus = 0; defocus <= energy.most_defocus(); defocus += kDefocusStep)
    defoci.push_back({.defocus = defocus});
  std::vector<Guess> found = guesses(
      defoci, [&](const Aberrations& aberrations) { return turns_at(energy, aberrations); });
  const auto strength = [](const Guess& guess) { return guess.turn.strength; };
  const double enough = kNearlyAsStrong * strength(*std::ranges::max_element(found, {}, strength));
  std::erase_if(found, [&](const Guess& guess) { return strength(guess) < enough; });
  std::ranges::stable_sort(found, std::ranges::greater{}, &Guess::evidence);
  std::vector<Guess> apart;
  for (const Guess& guess : found) {
    if (apart.size() == kMostRivals) break;
    if (std::ranges::none_of(apart, [&](const Guess& other) { return near(guess, other); }))
      apart.push_back(guess);
  }
  return apart;
}

/// Where the parabola through the largest value and those beside it is largest, in steps.
double place_of_largest(const std::vector<double>& values) {
  const auto i = std::ranges::max_element(values) - values.begin();
  const auto here = static_cast<double>(i);
  if (i == 0 || i + 1 == std::ssize(values)) return here;
  const auto place = static_cast<std::size_t>(i);
  const double before = values[place - 1], after = values[place + 1],
               bend = before + after - 2 * values[place];
  return bend < 0 ? here + 0.5 * (before - after) / bend : here;
}

/// The turn near by of the largest energy, in standard errors of noise alone.
Guess nearby_turn(const RasterEnergy& energy, const Guess& from, const PhaseGradients& gradients) {
  const at::Tensor pairs = energy.pairs(gradients);
  const double error = std::sqrt(sum_of(gradients.powers.square()));
  std::vector<double> strengths;
  for (double beside = -kFineReach; beside <= kFineReach; beside += kFineStep)
    strengths.push_back(
        sum_of(energy.energy(pairs, from.turn.degrees + beside, from.turn.transposed)) / error);
  Guess found = from;
  found.turn.degrees += place_of_largest(strengths) * kFineStep - kFineReach;
  found.evidence = *std::ranges::max_element(strengths);
  return found;
}

/// With spherical aberration of both signs and none.
Guess fine_guess(const RasterEnergy& energy, const Guess& coarse) {
  std::vector<Aberrations> near;
  for (const double spherical : {-3., 0., 3.})
    for (const double more : {-1., 0., 1.})
      near.push_back(
          {coarse.aberrations.defocus - kDefocusOfSpherical * spherical + more, spherical});
  const std::vector<Guess> found = guesses(near, [&](const Aberrations& aberrations) {
    Guess guess = nearby_turn(energy, coarse, energy.gradients(aberrations));
    guess.aberrations = aberrations;
    return std::vector<Guess>{guess};
  });
  return *std::ranges::max_element(found, {}, &Guess::evidence);
}

/// A turn and the short solve from it that explains most.
struct Solved {
  Guess guess;
  std::optional<ShortSolve> solve = {};

  bool beats(const Solved& other) const { return deviance() < other.deviance(); }
  /// Of what it has not seen; infinite where the mean pattern foretells that as well.
  double deviance() const {
    return solve && solve->fit.deviance < solve->fit.mean_pattern
               ? solve->fit.deviance
               : std::numeric_limits<double>::infinity();
  }
  double explained() const { return std::isfinite(deviance()) ? solve->fit.explained() : 0; }
};

std::optional<ShortSolve> solved_with(const Scan& scan, const Guess& guess,
                                      const at::Tensor& probe) {
  return solve_shortly(with_raster_turned(scan, guess.turn), probe, chain_from(kRivalChain));
}

/// With its own aberrations and with less of a defocus, down to none: a sample that scatters much
/// makes the energy's defocus too large.
Solved solved_from(const Scan& scan, const RasterEnergy& energy, const Guess& coarse) {
  Solved best{fine_guess(energy, coarse)};
  const Aberrations own = best.guess.aberrations;
  const std::array starts{own, Aberrations{.defocus = kLessDefocus * own.defocus}, Aberrations{}};
  std::vector<std::optional<ShortSolve>> solves(starts.size());
  side_by_side(std::ssize(solves), [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    solves[place] = solved_with(scan, best.guess, energy.probe(starts[place]));
  });
  for (const auto& solve : solves)
    if (const Solved found{best.guess, solve}; found.beats(best)) best = found;
  const ScanRotation& turn = best.guess.turn;
  detail("turned by {:.1f} degrees{}: short solves explain {:.3f}", turn.degrees,
         turn.transposed ? ", transposed" : "", best.explained());
  return best;
}

/// Turn and probe refined in turn until the turn rests, if patterns that the solves do not see gain
/// by it in the end.
Solved refined(const Scan& scan, const RasterEnergy& energy, const Solved& start) {
  Solved last = start;
  for (int round = 0; round < kMostRounds; ++round) {
    const double before = last.guess.turn.degrees;
    const at::Tensor phase = energy.phase_of(last.solve->image.main_probe());
    Solved next{nearby_turn(energy, last.guess, energy.gradients(phase))};
    next.solve = solved_with(scan, next.guess, last.solve->image.main_probe());
    if (!next.solve) break;
    last = next;
    if (std::abs(last.guess.turn.degrees - before) < kRests) break;
  }
  return last.beats(start) ? last : start;
}

/// Of turns that are all far above noise, as those of a crystal are, the first unless short solves
/// from it explain little and those from another one more of the patterns that they do not see.
Solved best_of_rivals(const Scan& scan, const RasterEnergy& energy,
                      const std::vector<Guess>& rivals) {
  Solved best = solved_from(scan, energy, rivals.front());
  for (std::size_t i = 1; i < rivals.size() && best.explained() < kRightTurn; ++i)
    if (const Solved next = solved_from(scan, energy, rivals[i]); next.beats(best)) best = next;
  return best.solve ? refined(scan, energy, best) : best;
}

/// The turn without curl, where there is one near by and held-out patterns are explained no worse.
ScanRotation without_curl(const Scan& scan, const Deflections& field, const Solved& best) {
  const LeastCurl curl = least_curl(field);
  const double more = std::remainder(curl.degrees - best.guess.turn.degrees, 180);
  if (curl.left >= kHardlyCurl || std::abs(more) >= kSameTurn) return best.guess.turn;
  Solved turned = best;
  turned.guess.turn.degrees += more;
  if (best.solve) turned.solve = solved_with(scan, turned.guess, best.solve->image.main_probe());
  detail(
      "without curl: {:.1f} degrees for {:.1f}, a share of {:.3f} of it is left; explained {:.4f} "
      "for {:.4f}",
      turned.guess.turn.degrees, best.guess.turn.degrees, curl.left, turned.explained(),
      best.explained());
  return best.beats(turned) ? best.guess.turn : turned.guess.turn;
}

}  // namespace

TwinEvidence evidence_of(const Scan& scan) {
  return {.probe = scan.probe_given() ? scan.probe() : at::Tensor(),
          .electrons = scan.geometry().semi_angle_rad > 0};
}

TwinEvidence evidence_of(const Scan& scan, const ProbeChoice& choice) {
  TwinEvidence evidence = evidence_of(scan);
  if (const std::optional<at::Tensor> probe = said_probe(scan, choice)) evidence.probe = *probe;
  return evidence;
}

namespace {

/// Whether the known probe, or the sample, says that the turn is the twin's; nothing where they do
/// not tell.
std::optional<bool> is_twin_by_probe(const Solved& best, const TwinEvidence& evidence) {
  if (!evidence.probe.defined() || !best.solve) return std::nullopt;
  const at::Tensor probe = best.solve->image.main_probe();
  const double same = likeness_of_probes(probe, evidence.probe),
               twin = likeness_of_probes(twin_of_probe(probe), evidence.probe);
  detail("the probe that goes with the turn is {:.2f} like the known one, its twin {:.2f}", same,
         twin);
  if (!(std::abs(same - twin) >= kTellsProbes)) return std::nullopt;
  return twin > same;
}

/// The turn, or the opposite one, by the first that tells.
ScanRotation with_right_twin(ScanRotation turn, const Solved& best, const Deflections& field,
                             const TwinEvidence& evidence) {
  const double peaks = evidence.electrons ? peaks_over_pits(field, turn.degrees) : 0;
  bool opposite = std::abs(std::remainder(turn.degrees, 360)) > 90;
  if (const std::optional<bool> twin = is_twin_by_probe(best, evidence)) {
    opposite = *twin;
    turn.twin = TwinToldBy::probe;
  } else if (std::abs(peaks) > kLeastPeaks) {
    opposite = peaks < 0;
    turn.twin = TwinToldBy::peaks;
  }
  turn.degrees = std::remainder(turn.degrees + (opposite ? 180 : 0), 360);
  return turn;
}

}  // namespace

std::optional<ScanRotation> find_scan_rotation(const Scan& scan, const TwinEvidence& evidence) {
  const std::optional<RasterShape> shape = raster_of(scan.positions());
  if (!shape || scan.frames_with(FrameUse::used).size(0) < kFewestUsed) return std::nullopt;
  const RasterEnergy energy(scan, *shape);
  const std::vector<Guess> rivals = coarse_guesses(energy);
  const Guess& coarse = rivals.front();
  detail("raster turned by {:.0f} degrees{}: {:.1f} standard errors, defocus {:.2f} rad at the rim",
         coarse.turn.degrees, coarse.turn.transposed ? ", transposed" : "", coarse.turn.strength,
         coarse.aberrations.defocus);
  if (coarse.turn.strength < kLeastEnergy) return std::nullopt;
  const Scan middle = middle_of(scan, kRivalPatterns);
  const Solved best = best_of_rivals(middle, energy, rivals);
  const Deflections field = deflections(scan, *shape, best.guess.turn.transposed);
  return with_right_twin(without_curl(middle, field, best), best, field, evidence);
}

std::string in_words(const ScanRotation& rotation) {
  const double tenths = std::round(10 * rotation.degrees) + 0.0;  // no -0
  return fmt::format("{:.1f} degrees{}", tenths / 10,
                     rotation.transposed ? " against a transposed detector" : "");
}

std::string twin_in_words(const ScanRotation& rotation) {
  if (rotation.twin == TwinToldBy::probe) return "the curvature of the known probe tells that";
  if (rotation.twin == TwinToldBy::peaks)
    return "the phase has peaks and no pits then, as atoms make them";
  const ScanRotation opposite{.degrees = std::remainder(rotation.degrees + 180, 360)};
  return fmt::format(
      "{}, of the twin image, explain the patterns as well: the turn nearer to the raster as given "
      "is taken (--scan-rotation, or --probe electron --defocus with its sign, says otherwise)",
      in_words(opposite));
}

TurnPositions turn_of(const ScanRotation& rotation) {
  const double angle = rotation.degrees / kInDegrees, cos = std::cos(angle), sin = std::sin(angle);
  if (rotation.transposed) return {{{-sin, cos}, {cos, sin}}};
  return {{{cos, sin}, {-sin, cos}}};
}

Scan with_raster_turned(const Scan& scan, const ScanRotation& rotation) {
  return scan.with_positions(turned_positions(scan.positions(), turn_of(rotation)).contiguous());
}

Scan read_turned_scan(const ReadOptions& options, const ProbeChoice& probe) {
  const Scan scan = read_scan_by_ranks(options);
  if (options.scan_rotation != "auto") return scan;
  const std::optional<ScanRotation> found = find_scan_rotation(scan, evidence_of(scan, probe));
  require(
      found.has_value(),
      "--scan-rotation auto: {}: expected a raster whose patterns agree on one turn, found none: "
      "too few electrons a pattern, too little overlap, or no raster; give it in degrees",
      options.file.string());
  const bool turned = found->transposed || std::abs(found->degrees) > kFineStep;
  say({.kind = turned ? Remark::Kind::correction : Remark::Kind::note,
       .text = fmt::format("the raster is turned by {} ({:.0f} standard errors); {}",
                           in_words(*found), found->strength, twin_in_words(*found)),
       .cause = "positions: raster turned",
       .before = "0 degrees",
       .after = in_words(*found)});
  if (found->strength < kCertainEnergy)
    warn(
        "the raster's turn is uncertain: few electrons, or a sample that hardly changes their "
        "phase");
  return with_raster_turned(scan, *found);
}

}  // namespace ptyche
