// Shadow images: whether patterns that are taken for far-field ones are some, and what those of a
// near-field scan say of its positions.
//
// A shadow moves with the sample by g pattern pixels per object pixel. N pixels that are lit from
// edge to edge show N / g pixels of the sample at once, and the far field of N pixels holds N: with
// g below 1 the patterns cannot be far-field ones. In the near field a pattern pixel is an object
// pixel and g = -1, whatever the sample.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Strength of the best of four orientations, standard errors; second over first; mean correlation:
// near field, 54 scans, 17 of 19 parallel and 24 of 35 magnified ones > 15, < .4, > .012.
constexpr double kSeenAllOver = 15, kSecondAllOver = 0.6, kMeanAllOver = 0.012;
// The same in the frame of the pattern's outer fifths, at the gain of the whole.
constexpr double kSeenInFrame = 8, kFrameWidth = 0.2, kAboutGain = 1.2;
// Pattern pixels per far-field object pixel: good far-field scans whose light fills the detector
// (probes to .95 of the field) .9 and more | near field .05 .. .5.
constexpr double kLargestGain = 0.85;
// Effective area of the light over that of the detector; light in its corners over the mean: near
// field .74 .. .95, .51 .. .73 | far field, 320 scans: both only under phases of 12 rad that change
// from pixel to pixel, .95 and .6.
constexpr double kLitArea = 0.6, kLitCorners = 0.3;
// Of a shadow whose scale is right, the gain is 1 / 1.2 .. 1.2; parallel light .88 .. 1.12.
constexpr double kRightGain = 1.25, kParallel = 1.12;
// The far field's object pixel over the detector's pixel, X-rays: cameras at some metres 5e-3 and
// less | near field in parallel light .06 .. 1, magnified 3e-3 .. .05.
constexpr double kPixelsAlike = 0.01, kLeastEnergy_ev = 50;
// The same of light that does not fill the detector, X-rays only. By arithmetic: far-field
// detectors (pixels of 13 um and more, object pixels of 200 nm and less) .015 and less | two
// near-field scans of a spot .10 and .13.
constexpr double kNearDetector = 0.03, kHardXrays_ev = 1000;
constexpr std::int64_t kFewestShadows = 8;
// Binned pixels from a pattern to its neighbours, below which the gain comes out too large (by 22 %
// at .75): farther ones are asked then.
constexpr double kFarShift = 3;
constexpr double kLeastShift = 0.4, kMostShift = 22;  // binned pixels to a neighbour that are tried

/// Whether the mean pattern is bright from corner to corner.
bool is_lit_all_over(const Patterns& patterns) {
  const std::int64_t size = patterns.pixels(), side = size / 8;
  const at::Tensor mean = filled(patterns.counts.mean(0).to(at::kDouble), patterns.mask);
  const at::Tensor smooth =
      blurred_around(mean, static_cast<double>(size) / 32).clamp_min(0).contiguous();
  const double total = smooth.sum().item<double>();
  if (total <= 0) return false;
  const double area =
      total * total / smooth.square().sum().item<double>() / static_cast<double>(size * size);
  const auto block = [&](std::int64_t row, std::int64_t col) {
    return mean.narrow(0, row, side).narrow(1, col, side).mean().item<double>();
  };
  const std::int64_t far = size - side;
  const double corners = (block(0, 0) + block(0, far) + block(far, 0) + block(far, far)) / 4;
  return area > kLitArea && corners > kLitCorners * mean.mean().item<double>();
}

/// The patterns without their inner part.
at::Tensor frames_of(const Patterns& patterns) {
  at::Tensor frames = patterns.counts.clone();
  const auto edge = static_cast<std::int64_t>(kFrameWidth * static_cast<double>(patterns.pixels()));
  const std::int64_t inner = patterns.pixels() - 2 * edge;
  frames.narrow(1, edge, inner).narrow(2, edge, inner).zero_();
  return frames;
}

/// Patterns no two of which lie nearer than `distance` px.
Patterns thinned(const Patterns& patterns, double distance) {
  std::vector<std::int64_t> kept;
  const at::Tensor places = patterns.positions.contiguous();
  const auto* place = places.const_data_ptr<double>();
  for (std::int64_t k = 0; k < patterns.size(); ++k)
    if (std::ranges::all_of(kept, [&](std::int64_t other) {
          return std::hypot(place[2 * k] - place[2 * other],
                            place[2 * k + 1] - place[2 * other + 1]) >= distance;
        }))
      kept.push_back(k);
  return some_of(patterns, at::tensor(kept, at::kLong));
}

/// A shadow that stands out in the whole of the patterns.
struct SeenAllOver {
  Shadow shadow;         ///< its gain in pattern pixels per position pixel
  bool far_off = false;  ///< the gain is that of patterns far enough apart to tell it
};

/// The gain by patterns that lie farther apart, where there are some.
SeenAllOver with_gain(const Patterns& patterns, Shadow shadow, double bins, double step) {
  const double gain = std::abs(shadow.gain);
  bool far_off = gain * step >= kFarShift;
  if (!far_off) {
    const Patterns some = thinned(patterns, kFarShift / gain);
    if (some.size() >= kFewestShadows) {
      const Shadow better = shadows(likeness_of(some.counts, some.mask), some.positions, {},
                                    {gain / 2, gain * kAboutGain})[0];
      far_off = better.orientation == shadow.orientation && better.strength > kSeenInFrame &&
                better.gain * shadow.gain > 0;
      if (far_off) shadow.gain = better.gain;
    }
  }
  shadow.gain *= bins;
  return {shadow, far_off};
}

/// The strongest shadow; nothing where none stands out in the whole of the patterns and, at the
/// same gain, in their frame.
std::optional<SeenAllOver> shadow_all_over(const Patterns& patterns) {
  const double step = median_step_px(patterns.positions);
  if (patterns.size() < kFewestShadows || step <= 0) return std::nullopt;
  const Likeness likeness = likeness_of(patterns.counts, patterns.mask);
  const std::vector<Shadow> found =
      shadows(likeness, patterns.positions, {}, {kLeastShift / step, kMostShift / step});
  const Shadow best = found[0];
  if (best.strength < kSeenAllOver || best.mean < kMeanAllOver ||
      found[1].strength > kSecondAllOver * best.strength)
    return std::nullopt;
  const double gain = std::abs(best.gain);
  const Shadow there = shadows(likeness_of(frames_of(patterns), patterns.mask), patterns.positions,
                               {}, {gain / kAboutGain, gain * kAboutGain})[0];
  const bool same = there.orientation == best.orientation && there.gain * best.gain > 0;
  if (!same || there.strength < kSeenInFrame) return std::nullopt;
  return with_gain(patterns, best, likeness.detector_pixels, step);
}

/// What to type for a near-field scan whose shadows move by `pixel_m` metres of the sample per
/// pattern pixel; 0 = not known.
std::string near_field_options(const Geometry& geometry, double pixel_m) {
  const bool known =
      geometry.energy_ev > 0 && geometry.distance_m > 0 && geometry.detector_pixel_m > 0;
  if (!known)
    return "--near-field --energy .. --distance .. --detector-pixel .. (and --source-distance "
           "where "
           "the light comes from a focus)";
  const double magnified = pixel_m > 0 ? geometry.detector_pixel_m / pixel_m : 0;
  if (magnified > kParallel)
    return fmt::format(
        "--near-field --source-distance {:.4g}m (from focus to sample, by how far the shadows "
        "move)",
        geometry.distance_m / (magnified - 1));
  return magnified > 1 / kParallel
             ? "--near-field"
             : "--near-field (with --source-distance, metres from focus to sample, where the light "
               "comes from a focus)";
}

void say_shadows(Diagnosis& diagnosis, const Scan& scan, double gain, bool far_off) {
  const double pixel_m = far_off ? scan.geometry().object_pixel_m / gain : 0;
  diagnosis.say(
      Level::refuse, "patterns: near field",
      fmt::format(
          "light fills the detector, and what is seen in it moves with the sample by {:.2g} "
          "pattern pixels per object pixel of the far field, so that a pattern shows {:.1f} "
          "times as much of the sample as far-field patterns of its size can hold: they are "
          "shadow images, {}",
          gain, 1 / gain, near_field_options(scan.geometry(), pixel_m)));
}

/// From what energy and share of a detector pixel on an object pixel is too large for a far field.
struct NearDetector {
  double least_energy_ev = 0, least_share = 0;
};

void say_near_detector(Diagnosis& diagnosis, const Geometry& geometry, const NearDetector& near) {
  if (geometry.detector_pixel_m <= 0 || geometry.energy_ev < near.least_energy_ev ||
      geometry.object_pixel_m < near.least_share * geometry.detector_pixel_m)
    return;
  diagnosis.say(
      Level::warn, "patterns: near field?",
      fmt::format("the detector is so near that its pixels are only {:.2g} times as large as the "
                  "far field's object pixels: if the patterns are shadow images, {}",
                  geometry.detector_pixel_m / geometry.object_pixel_m,
                  near_field_options(geometry, 0)));
}

/// Where no shadow can be followed: steps, or pixels, that are no far field's.
void say_lengths(Diagnosis& diagnosis, const Scan& scan, double step) {
  const Geometry& geometry = scan.geometry();
  const auto size = static_cast<double>(scan.pattern_size());
  if (step > size)
    return diagnosis.say(
        Level::refuse, "patterns: near field, or positions: unit",
        fmt::format("light fills the detector, and the steps are {:.2g} times as wide as all that "
                    "far-field patterns of its size can hold: for shadow images {}; else the "
                    "positions are in another unit, or --energy, --distance, --detector-pixel are",
                    step / size, near_field_options(geometry, 0)));
  say_near_detector(diagnosis, geometry, {kLeastEnergy_ev, kPixelsAlike});
}

void say_scale(Diagnosis& diagnosis, const Scan& scan, double gain) {
  Geometry parallel = scan.geometry();
  parallel.source_distance_m = 0;
  diagnosis.say(
      Level::refuse, "near field: scale",
      fmt::format("the shadows move {:.2g} times as far as the positions, and in the near field it "
                  "is once: the light comes from another focus, or the positions or "
                  "--detector-pixel are in another unit: {}",
                  gain, near_field_options(parallel, scan.geometry().object_pixel_m / gain)));
}

}  // namespace

void judge_near_field(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                      const ExamineOptions& options) {
  if (scan.geometry().near_field || options.given.contains("near-field")) return;
  if (!is_lit_all_over(patterns))
    return say_near_detector(diagnosis, scan.geometry(), {kHardXrays_ev, kNearDetector});
  const std::optional<SeenAllOver> seen = shadow_all_over(patterns);
  if (!seen) return say_lengths(diagnosis, scan, median_step_px(patterns.positions));
  const double gain = std::abs(seen->shadow.gain);
  diagnosis.numbers["lit_shadow_gain"] = gain;
  if (gain < kLargestGain) say_shadows(diagnosis, scan, gain, seen->far_off);
}

void judge_near_positions(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                          const ExamineOptions& options) {
  const std::optional<SeenAllOver> seen = shadow_all_over(patterns);
  if (!seen) return;
  const Shadow& shadow = seen->shadow;
  const double gain = std::abs(shadow.gain);
  diagnosis.numbers["near_gain"] = shadow.gain;
  if (gain > kRightGain || gain < 1 / kRightGain) {
    if (seen->far_off) say_scale(diagnosis, scan, gain);
    return;
  }
  const NamedTurn turn = turn_back(shadow.orientation, shadow.gain > 0);
  if (turn.what.empty()) return;
  diagnosis.mend("positions: " + turn.what,
                 fmt::format("the shadows move so that the positions have {} ({:.0f} standard "
                             "errors); they are turned back (--swap-xy, --flip-x or --flip-y say "
                             "otherwise)",
                             turn.what, shadow.strength),
                 turn.back, options, axis_options());
}

}  // namespace ptyche
