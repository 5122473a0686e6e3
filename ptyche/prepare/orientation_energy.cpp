#include "ptyche/prepare/orientation_energy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/phase_energy.h"
#include "ptyche/prepare/short_solve.h"

namespace ptyche {
namespace {

constexpr std::int64_t kMostLaid = 300, kFewestLaid = 100, kMostPixels = 1 << 21;
constexpr double kCoarseDefocus = 3, kFineDefocus = 1;  // rad at the rim
constexpr std::uint32_t kDraws = 12;
constexpr std::int64_t kLargestCanvas = 1 << 22;  // px; on a larger one hardly anything overlaps
constexpr std::size_t kOrientationCount = std::size(kOrientations);
// Standard errors of the first, its lead, and the second over it. Patterns in 154 wrong orders came
// to 5.2 and 2.8 at most.
constexpr double kAgree = 7, kLead = 4.5, kRival = 0.6;
constexpr double kFarBeyondNoise = 1.5, kAnything = 0.15;  // the mean pattern's deviance; explained

using Energies = std::array<double, kOrientationCount>;

/// The patterns of a scan and the places where they are laid, one set for each orientation.
struct Laid {
  PhaseEnergy energy;
  std::array<at::Tensor, kOrientationCount> places;  // (n, 2) int64, the least ones 0
};

TurnPositions turn_by(Orientation orientation) {
  const Matrix m = matrix_of(orientation);
  return {{{m.row_row, m.row_col}, {m.col_row, m.col_col}}};
}

/// Held-out patterns as well: which of four ways is right tells an image nothing of them.
Scan with_all_patterns(const Scan& scan) {
  ScanFields fields = scan.fields();
  const auto held_out = static_cast<std::int64_t>(FrameUse::held_out);
  fields.frame_use = fields.frame_use.masked_fill(fields.frame_use.eq(held_out), 0);
  return Scan(std::move(fields));
}

Laid laid(const Scan& scan) {
  Laid all{PhaseEnergy(scan,
                       [&](std::int64_t size) {
                         return middle_frames(
                             scan, std::clamp(kMostPixels / (size * size), kFewestLaid, kMostLaid));
                       }),
           {}};
  for (std::size_t i = 0; i < kOrientationCount; ++i) {
    const at::Tensor turned = turned_positions(all.energy.positions(), turn_by(kOrientations[i]));
    all.places[i] = (turned - std::get<0>(turned.min(0))).round().to(at::kLong).contiguous();
  }
  return all;
}

/// Adds maps (n, size, size), each times its sign, to a canvas at their places.
void lay(const at::Tensor& maps, const at::Tensor& signs, const at::Tensor& places,
         at::Tensor& canvas) {
  const std::int64_t size = maps.size(1), width = canvas.size(1);
  const auto* map = maps.const_data_ptr<float>();
  const auto* sign = signs.const_data_ptr<float>();
  const auto* place = places.const_data_ptr<std::int64_t>();
  for (std::int64_t j = 0; j < maps.size(0); ++j)
    for (std::int64_t row = 0; row < size; ++row, map += size) {
      auto* to = canvas.mutable_data_ptr<float>() + (place[2 * j] + row) * width + place[2 * j + 1];
      for (std::int64_t col = 0; col < size; ++col) to[col] += sign[j] * map[col];
    }
}

/// What pairs of patterns have in common: the square of the sum less the sum of squares.
double common(const at::Tensor& maps, const at::Tensor& signs, const at::Tensor& places) {
  const at::Tensor reach = std::get<0>(places.max(0)) + maps.size(1);
  const auto rows = reach[0].item<std::int64_t>(), cols = reach[1].item<std::int64_t>();
  if (rows > kLargestCanvas / cols) return 0;
  at::Tensor canvas = at::zeros({rows, cols}, at::kFloat);
  lay(maps, signs, places, canvas);
  const auto power = [](const at::Tensor& all) {
    return all.square().sum(at::kDouble).item<double>();
  };
  return power(canvas) - power(maps);
}

/// Amplitudes of the rings: 1 / k of the energy.
std::vector<double> slow_first() {
  std::vector<double> factors;
  for (std::int64_t ring = 0; ring < PhaseEnergy::kRings; ++ring)
    factors.push_back(std::sqrt(1 / (static_cast<double>(ring) + 0.5)));
  return factors;
}

at::Tensor maps_at(const Laid& laid, double defocus) {
  return laid.energy.maps(laid.energy.gradients(Aberrations{.defocus = defocus}), slow_first());
}

Energies energies_of(const Laid& laid, const at::Tensor& maps, const at::Tensor& signs) {
  Energies all{};
  for (std::size_t i = 0; i < kOrientationCount; ++i) all[i] = common(maps, signs, laid.places[i]);
  return all;
}

/// At each of some defoci.
std::vector<Energies> energies_at(const Laid& laid, const std::vector<double>& defoci) {
  const CatchInterrupts catching;
  std::vector<Energies> all(defoci.size());
  const at::Tensor signs = at::ones({laid.energy.positions().size(0)});
  side_by_side(std::ssize(defoci), [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    if (!interrupted()) all[place] = energies_of(laid, maps_at(laid, defoci[place]), signs);
  });
  if (interrupted()) throw Interrupted("stopped while the positions' orientation was looked for");
  return all;
}

std::vector<double> coarse_defoci(double most) {
  std::vector<double> all{0};
  for (double defocus = kCoarseDefocus; defocus <= most; defocus += kCoarseDefocus)
    for (const double sign : {-1., 1.}) all.push_back(sign * defocus);
  return all;
}

void keep_larger(std::vector<OrientationEnergy>& best, const std::vector<double>& defoci,
                 const std::vector<Energies>& energies) {
  for (std::size_t i = 0; i < defoci.size(); ++i)
    for (std::size_t k = 0; k < kOrientationCount; ++k)
      if (energies[i][k] > best[k].strength)
        best[k] = {kOrientations[k], energies[i][k], defoci[i]};
}

/// Of each orientation where its energy is largest, in the order of kOrientations.
std::vector<OrientationEnergy> largest(const Laid& laid) {
  std::vector<OrientationEnergy> best;
  for (const Orientation each : kOrientations) best.push_back({each});
  const std::vector<double> coarse = coarse_defoci(laid.energy.most_defocus());
  keep_larger(best, coarse, energies_at(laid, coarse));
  std::set<double> near;
  for (const OrientationEnergy& each : best)
    for (const double more : {-kFineDefocus, kFineDefocus}) near.insert(each.defocus + more);
  const std::vector<double> fine(near.begin(), near.end());
  keep_larger(best, fine, energies_at(laid, fine));
  return best;
}

/// Standard deviation of the energies of patterns whose signs are random.
double noise_at(const Laid& laid, double defocus) {
  at::Tensor maps;
  side_by_side(1, [&](std::int64_t) { maps = maps_at(laid, defocus); });
  std::vector<double> squares(kDraws);
  side_by_side(kDraws, [&](std::int64_t draw) {
    const at::Tensor signs =
        PhaseEnergy::random_signs(maps.size(0), static_cast<std::uint32_t>(draw));
    for (const double each : energies_of(laid, maps, signs))
      squares[static_cast<std::size_t>(draw)] += each * each;
  });
  const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
  return std::sqrt(sum / (kDraws * kOrientationCount)) + 1e-30;
}

const char* name_of(Orientation orientation) {
  switch (orientation) {
    case Orientation::as_given:
      break;
    case Orientation::one_flipped:
      return "one axis flipped";
    case Orientation::swapped:
      return "axes swapped";
    case Orientation::turned:
      return "turned by 90 degrees";
  }
  return "as given";
}

}  // namespace

std::vector<OrientationEnergy> orientation_energies(const Scan& scan) {
  const Laid patterns = laid(with_all_patterns(scan));
  std::vector<OrientationEnergy> found = largest(patterns);
  std::ranges::stable_sort(found, std::greater<>(), &OrientationEnergy::strength);
  const double noise = noise_at(patterns, found[0].defocus);
  for (OrientationEnergy& each : found) each.strength /= noise;
  for (const OrientationEnergy& each : found)
    detail(
        "positions {}: the patterns agree by {:.1f} standard errors, defocus {:.1f} rad at the rim",
        name_of(each.orientation), each.strength, each.defocus);
  return found;
}

bool stands_out(const std::vector<OrientationEnergy>& energies) {
  const double first = energies[0].strength, second = energies[1].strength;
  return first > kAgree && first - second > kLead && second < kRival * first;
}

bool bears_out(const HeldOutFit& there, const HeldOutFit& as_given) {
  if (there.tells() && there.explained() < as_given.explained()) return false;
  return there.mean_pattern < kFarBeyondNoise * there.noise || there.explained() > kAnything;
}

std::optional<Finding> finding_of(const std::vector<OrientationEnergy>& energies,
                                  const ExamineOptions& options) {
  const OrientationEnergy& best = energies[0];
  if (!stands_out(energies) || best.orientation == Orientation::as_given) return std::nullopt;
  Diagnosis diagnosis;
  diagnosis.mend(
      fmt::format("positions: {}", name_of(best.orientation)),
      fmt::format("all patterns together say of the positions: {} ({:.0f} standard errors by which "
                  "they agree on one sample; the next orientation {:.0f})",
                  name_of(best.orientation), best.strength, energies[1].strength),
      turn_by(best.orientation), options, axis_options());
  return diagnosis.findings[0];
}

}  // namespace ptyche
