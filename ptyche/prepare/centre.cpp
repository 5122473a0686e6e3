// Where the zero frequency is, whether it stays there, and whether the probe's far field is the
// mean pattern.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/judge.h"

namespace ptyche {
namespace {

// Offset of the mean pattern, units of N: <= .03 | >= .68.
constexpr double kCorner = 0.3;
// px; by the probe's far field <= 2.0 and by the pattern's own symmetry <= 1.5, both on the real
// scan | 3.0 .. 3.6.
constexpr double kOffCentre_px = 2.5;
// px between the first and the last third of the frames, with the middle third between them: <= .4,
// one scan 2.4 | 1.97 .. 3.1 (3 px in all).
constexpr double kDrift_px = 1.6, kDriftBetween = 0.25;
constexpr std::int64_t kDriftFrames = 12;
// Times what the sample moves it across the scan: 3.8 px in time on two good scans of a Siemens
// star of 5.5 rad.
constexpr double kDriftOverSample = 2;
// Radius of half the mean pattern over that of the probe's far field: .77 .. 1.31 | flat 5 ..,
// Gaussian 4 .. (where it is a fault).
constexpr double kWidth = 1.5;
// 1 - cos of the angle between a frame and the median one, in the median, above which the sample
// may widen the mean pattern itself: .08 .. .6 where it did on good scans.
constexpr double kScattered = 0.05;
// Diameter of 90 % of the probe's power, units of N: <= .52 | sampled too coarsely: > 1.
constexpr double kFillsField = 0.8;

using Offset = std::array<double, 2>;

// Length of the mean of exp(i angle) of a probe's light around the field: one that fills it says
// not where it is.
constexpr double kSomewhere = 0.3;

double length(const Offset& offset) { return std::hypot(offset[0], offset[1]); }

/// How far image b is moved against a, px.
Offset move_between(const at::Tensor& a, const at::Tensor& b) {
  return peak_between_pixels(at::real(at::fft_ifft2(at::fft_fft2(b) * at::fft_fft2(a).conj())));
}

/// How the mean pattern moves from the first third of a list of patterns over the second to the
/// last.
struct Moves {
  Offset whole, one, two;

  double along(const Offset& part) const { return part[0] * whole[0] + part[1] * whole[1]; }
};

Moves moves_along(const Patterns& patterns, const at::Tensor& order) {
  std::array<at::Tensor, 3> thirds;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t first = i * order.size(0) / 3, end = (i + 1) * order.size(0) / 3;
    const at::Tensor mean = patterns.counts.index_select(0, order.narrow(0, first, end - first))
                                .mean({0}, false, at::kDouble);
    thirds[static_cast<std::size_t>(i)] =
        blurred_around(filled(mean, patterns.mask).clamp_min(0).sqrt(),
                       static_cast<double>(patterns.pixels()) / 32);
  }
  return {move_between(thirds[0], thirds[2]), move_between(thirds[0], thirds[1]),
          move_between(thirds[1], thirds[2])};
}

/// How far the sample itself moves the mean pattern: across the axis that goes less with time.
double moved_by_sample(const Patterns& patterns, const at::Tensor& which) {
  const at::Tensor places = patterns.positions.index_select(0, which);
  const at::Tensor time =
      at::arange(which.size(0), at::kDouble) - 0.5 * static_cast<double>(which.size(0) - 1);
  const at::Tensor away = places - places.mean(0);
  const at::Tensor follows =
      (away * time.unsqueeze(1)).sum(0).abs() / away.norm(2, {0}).clamp_min(1e-9);
  const at::Tensor across = places.select(1, follows.argmin().item<std::int64_t>());
  return length(moves_along(patterns, which.index_select(0, across.argsort(true, 0))).whole);
}

/// Where light lies on a circle of its length, as exp(i angle), in the mean.
std::complex<double> place_on_circle(const at::Tensor& light) {
  const at::Tensor angle =
      at::arange(light.size(0), at::kDouble) * (2 * M_PI / static_cast<double>(light.size(0)));
  const at::Tensor share = light / light.sum();
  return {(share * angle.cos()).sum().item<double>(), (share * angle.sin()).sum().item<double>()};
}

}  // namespace

void judge_probe_place(Diagnosis& diagnosis, const at::Tensor& probe,
                       const ExamineOptions& options) {
  const std::int64_t size = probe.size(-1);
  const at::Tensor light = mode_power(probe).to(at::kDouble);
  for (const std::int64_t axis : {0, 1}) {
    const std::complex<double> place = place_on_circle(light.sum(1 - axis));
    const double offset = std::abs(std::arg(place)) / (2 * M_PI);  // from the corner, units of N
    if (std::abs(place) < kSomewhere || 0.5 - offset < kCorner) return;
  }
  diagnosis.mend(
      "probe: at the corner",
      "the middle of the probe's light is at the corner of its field: it is moved to the "
      "middle (--probe says otherwise)",
      ShiftProbe{size / 2, size / 2}, options, {"probe"});
}

void judge_drift(Diagnosis& diagnosis, const Patterns& patterns) {
  const double median = patterns.totals.median().item<double>();
  const at::Tensor usual =
      patterns.totals.gt(0.3 * median).logical_and(patterns.totals.lt(3 * median));
  const at::Tensor which = usual.nonzero().flatten();
  if (which.size(0) < kDriftFrames) return;
  const Moves moves = moves_along(patterns, which);
  const double drift = length(moves.whole);
  diagnosis.numbers["centre_drift"] = drift;
  if (drift <= kDrift_px ||
      std::min(moves.along(moves.one), moves.along(moves.two)) <= kDriftBetween * drift * drift)
    return;
  const double by_sample = moved_by_sample(patterns, which);
  diagnosis.numbers["moved_by_sample"] = by_sample;
  if (drift <= kDriftOverSample * by_sample) return;
  diagnosis.say(Level::warn, "centre: drifts",
                fmt::format("the patterns move by about {:.1f} px on the detector in the course of "
                            "the scan",
                            1.5 * drift));
}

namespace {

/// Where the middle of the mean pattern lies, px from (N/2, N/2): of the two halves of what point
/// pairs sum to, that near the centre of mass on the circle.
Offset offset_by_symmetry(const at::Tensor& root) {
  const std::int64_t size = root.size(0);
  const auto length = static_cast<double>(size);
  const at::Tensor transform = at::fft_fft2(root), power = root.square();
  const std::int64_t best =
      at::real(at::fft_ifft2(transform * transform)).argmax().item<std::int64_t>();
  const std::array<std::int64_t, 2> twice{best / size, best % size};
  Offset offset{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const at::Tensor turn = at::arange(size, at::kDouble) * (2 * M_PI / length);
    const at::Tensor line = power.sum(axis == 0 ? 1 : 0);
    const double angle = std::atan2((line * turn.sin()).sum().item<double>(),
                                    (line * turn.cos()).sum().item<double>());
    const double mass = angle / (2 * M_PI) * length, half = length / 2;
    double centre = static_cast<double>(twice[axis]) / 2;
    centre += std::round((mass - centre) / half) * half;
    offset[axis] = std::fmod(std::fmod(centre, length) + length, length) - half;
  }
  return offset;
}

/// Radius about the middle that holds half of an image, px.
double half_radius(const at::Tensor& image) {
  const at::Tensor axis =
      at::arange(image.size(0), at::kDouble) - static_cast<double>(image.size(0) / 2);
  const at::Tensor radius = (axis.square().unsqueeze(1) + axis.square()).sqrt().flatten();
  const at::Tensor order = radius.argsort(true, 0);
  const at::Tensor sum = image.flatten().index_select(0, order).cumsum(0);
  const auto place = sum.lt(0.5 * sum[-1].item<double>()).sum().item<std::int64_t>();
  return radius[order[std::min(place, radius.size(0) - 1)]].item<double>() + 0.5;
}

/// The mean pattern beside the far field of a probe.
struct AgainstProbe {
  Offset offset{};
  double width = 1;
};

/// Without what the median pixel of the outermost tenth has: a background.
at::Tensor above_outside(const at::Tensor& image) {
  const std::int64_t size = image.size(0), edge = std::max<std::int64_t>(size / 20, 1);
  at::Tensor outside = at::ones_like(image, at::kBool);
  outside.narrow(0, edge, size - 2 * edge).narrow(1, edge, size - 2 * edge).fill_(false);
  return (image - image.masked_select(outside).median()).clamp_min(0);
}

AgainstProbe against_probe(const at::Tensor& root, const at::Tensor& probe) {
  const at::Tensor field = blurred_around(far_field_of(probe).sqrt(), 1).clamp_min(0);
  return {move_between(field, blurred_around(root, 1)),
          half_radius(above_outside(root.square())) / half_radius(above_outside(field.square()))};
}

void judge_probe(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& probe,
                 double width) {
  // A sample that scatters strongly widens the mean pattern, and its patterns differ from each
  // other.
  const bool scattered = width > kWidth && diagnosis.numbers["unlike_median"] > kScattered;
  if (width < 1 / kWidth || width > kWidth)
    diagnosis.say(scattered ? Level::note : Level::warn, "probe: far field",
                  fmt::format("the mean pattern is {:.3g} times as wide as the far field of the "
                              "file's probe: the probe is not this scan's, or sampled in other "
                              "pixels",
                              width));
  const double diameter = probe_diameter_px(probe);
  if (diameter > kFillsField * static_cast<double>(patterns.pixels()))
    diagnosis.say(
        Level::warn, "probe: fills the field",
        fmt::format("90 % of the probe's light need {:.0f} of {} pixels: it is sampled too "
                    "coarsely",
                    diameter, patterns.pixels()));
}

std::int64_t half_or_none(double offset, std::int64_t size) {
  return std::abs(offset) > static_cast<double>(size) / 4 ? size / 2 : 0;
}

}  // namespace

void judge_centre(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& probe,
                  bool probe_given, const ExamineOptions& options) {
  const at::Tensor mean = patterns.counts.mean({0}, false, at::kDouble);
  const at::Tensor root = filled(mean, patterns.mask).clamp_min(0).sqrt();
  const Offset own = offset_by_symmetry(root);
  AgainstProbe seen{own, 1};
  if (probe_given) seen = against_probe(root, probe);
  const bool misfit = seen.width < 1 / kWidth || seen.width > kWidth;
  const auto size = static_cast<double>(patterns.pixels());
  diagnosis.numbers["centre_own"] = length(own);
  diagnosis.numbers["centre_by_probe"] = length(seen.offset);
  diagnosis.numbers["width"] = seen.width;
  if (length(own) > kCorner * size && (length(seen.offset) > kCorner * size || misfit))
    return diagnosis.mend(
        "centre: at the corner",
        fmt::format(
            "the mean pattern's middle is {:.0f} px off the detector's: the zero frequency "
            "is at the corner, and is moved to the middle (--center ROW,COL says otherwise)",
            length(own)),
        ShiftPatterns{half_or_none(own[0], patterns.pixels()),
                      half_or_none(own[1], patterns.pixels()), true},
        options, {"center"});
  if (length(own) > kOffCentre_px && (length(seen.offset) > kOffCentre_px || misfit))
    return diagnosis.mend(
        "centre: off",
        fmt::format("the mean pattern's middle is at {:.1f},{:.1f} and not at {:.0f},{:.0f}: it is "
                    "moved there by whole pixels (--center ROW,COL says otherwise)",
                    size / 2 + own[0], size / 2 + own[1], size / 2, size / 2),
        ShiftPatterns{std::lround(own[0]), std::lround(own[1]), false}, options, {"center"});
  if (probe_given) judge_probe(diagnosis, patterns, probe, seen.width);
}

}  // namespace ptyche
