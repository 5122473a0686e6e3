// Are the positions in object pixels at all.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Extent and step below which positions are in another unit, object pixels: step 3 .. 12 on good
// scans.
constexpr double kLeastSpan_px = 1, kLeastStep_px = 0.02;

void say_unit(Diagnosis& diagnosis, double step, double span, double diameter,
              const ExamineOptions& options) {
  const std::string cause = "positions: unit";
  const std::string text = fmt::format(
      "the positions span {:.3g} object pixels with steps of {:.3g}, beside a probe of {:.3g}: "
      "they "
      "are in another unit",
      span, step, diameter);
  const int power = only_power_of_ten(step, diameter);
  const bool said = options.given.contains("distance") || options.given.contains("energy") ||
                    options.given.contains("detector-pixel");
  const std::string remedy =
      power != 0 ? fmt::format(
                       "; only a factor of 1e{} fits: is --energy in eV (or 8keV), are "
                       "--distance and --detector-pixel in metres (or 55um), or are the "
                       "positions in another unit ({})?",
                       power, units_to_type(step, diameter))
                 : fmt::format(
                       "; {} says in which, --energy, --distance and --detector-pixel how "
                       "large a pixel is",
                       units_to_type(step, diameter));
  if (power == 0 || said) return diagnosis.say(Level::refuse, cause, text + remedy);
  diagnosis.mend(cause,
                 fmt::format("{}; only a factor of 1e{} fits, and they are multiplied by it "
                             "(--energy, --distance and --detector-pixel say otherwise)",
                             text, power),
                 ScalePositions{std::pow(10.0, power)}, options, {});
}

// Of frames that are left out because they lie alone: more is another fault than a few wrong
// places.
constexpr double kMostAlone = 0.1;

/// Squares with sides of `reach` and the positions (row, col) in them.
class Squares {
 public:
  Squares(const at::Tensor& positions, double reach) : reach_(reach) {
    const auto* place = positions.const_data_ptr<double>();
    for (std::int64_t i = 0; i < positions.size(0); ++i)
      places_[of(place[2 * i], place[2 * i + 1])].push_back({place[2 * i], place[2 * i + 1]});
  }

  /// How many places lie nearer than `reach` in rows and in columns, itself with them; at most 2.
  int near(double row, double col) const {
    const Square middle = of(row, col);
    int count = 0;
    for (double down = -1; down <= 1; ++down)
      for (double across = -1; across <= 1; ++across) {
        const auto square = places_.find({middle[0] + down, middle[1] + across});
        if (square == places_.end()) continue;
        for (const auto& other : square->second)
          if (std::abs(other[0] - row) < reach_ && std::abs(other[1] - col) < reach_ && ++count > 1)
            return count;
      }
    return count;
  }

 private:
  using Square = std::array<double, 2>;  // whole numbers
  Square of(double row, double col) const {
    return {std::floor(row / reach_), std::floor(col / reach_)};
  }
  double reach_;
  std::map<Square, std::vector<std::array<double, 2>>> places_;
};

/// Frames (k) int64 whose pattern shares no object pixel with any other.
at::Tensor frames_alone(const Scan& scan, const at::Tensor& frames) {
  const at::Tensor positions =
      scan.positions().index_select(0, frames).to(at::kDouble).contiguous();
  const Squares squares(positions, static_cast<double>(scan.pattern_size()));
  const auto* place = positions.const_data_ptr<double>();
  std::vector<std::int64_t> alone;
  for (std::int64_t i = 0; i < positions.size(0); ++i)
    if (squares.near(place[2 * i], place[2 * i + 1]) < 2)
      alone.push_back(frames[i].item<std::int64_t>());
  return at::tensor(alone, at::kLong);
}

/// Leaves out the few that lie where no other pattern tells anything.
void say_alone(Diagnosis& diagnosis, const Scan& scan) {
  const at::Tensor frames = usable_frames(scan), alone = frames_alone(scan, frames);
  const auto all = static_cast<double>(frames.size(0));
  if (alone.numel() == 0 || static_cast<double>(alone.numel()) > kMostAlone * all) return;
  const std::int64_t first = alone[0].item<std::int64_t>();
  diagnosis.mend(
      "positions: far away",
      fmt::format("{} of {} patterns lie so far from all others that they share no pixel "
                  "of the object with them (pattern {} at row {:.6g}, column {:.6g}): they "
                  "are left out",
                  alone.numel(), frames.size(0), first, scan.positions()[first][0].item<double>(),
                  scan.positions()[first][1].item<double>()),
      RejectFrames{alone}, {}, {});
}

}  // namespace

void judge_places(Diagnosis& diagnosis, const Scan& scan, bool probe_given,
                  const ExamineOptions& options) {
  say_alone(diagnosis, scan);
  if (diagnosis.is_final()) return;
  const at::Tensor positions = scan.positions().index_select(0, usable_frames(scan));
  const double step = median_step_px(positions);
  const double span = (positions.amax(0) - positions.amin(0)).max().item<double>();
  const auto size = static_cast<double>(scan.pattern_size());
  const double diameter = probe_given ? std::min(probe_diameter_px(scan.probe()), size) : size / 2;
  diagnosis.numbers["step_px"] = step;
  diagnosis.numbers["step_over_probe"] = step / diameter;
  if (span < kLeastSpan_px || step < kLeastStep_px || step > size)
    return say_unit(diagnosis, step, span, diameter, options);
  if (probe_given && step > diameter)
    diagnosis.say(
        Level::warn, "positions: no overlap",
        fmt::format("the step to the nearest neighbour is {:.3g} object pixels, the probe "
                    "{:.3g} wide: no pattern overlaps another; are the positions in another "
                    "unit?",
                    step, diameter));
}

}  // namespace ptyche
