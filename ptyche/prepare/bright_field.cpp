#include "ptyche/prepare/bright_field.h"

#include <ATen/ops/fft_fft2.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/short_solve.h"

namespace ptyche {
namespace {

constexpr std::int64_t kAcross = 8;  // parts of the disk
// Of the disk's radius. Farther out one side band of most waves is cut off, and the image is moved
// by more than the defocus does: .9 made the defocus of 12 simulated scans 8 to 17 % too large.
constexpr double kInside = 0.75;
constexpr double kLeastRadius_px = 3;
constexpr std::int64_t kFewestShifted = 64, kMostShifted = 4096, kSummedAtOnce = 256;
constexpr double kMostAcross = 1000;          // steps: of other scans no picture can be laid out
constexpr std::int64_t kLowFrequencies = 16;  // cycles over the grid
constexpr double kTurnStep = 6, kShiftStep = 0.5,
                 kFarthestShift = 0.35;  // degrees; grid px; of the grid
constexpr int kMostRefinements = 30;
constexpr double kAtRest = 1e-4;    // of the largest shift
constexpr double kLeastOthers = 4;  // samples of other parts about a place that is judged
constexpr double kFiner = 3, kLeastDrawn = 2;  // pixels of the picture in a step; samples on one
constexpr double kLeastRimShift = 0.75;        // steps at the rim
constexpr double kLeastGain = 0.1;             // of the correlation over that without shifts
constexpr double kMostDegrees = 1, kMostDefocus = 0.05;  // standard errors
constexpr double kDegreesInRadian = 180 / std::numbers::pi;

/// Parts of the disk: where their middles lie from its own, and what each pattern has in them.
struct Parts {
  at::Tensor at;      // (parts, 2) float64, detector px
  at::Tensor values;  // (parts, n) float64, relative deviations from the mean
  at::Tensor places;  // (n, 2) float64, object px
  double radius_px = 0;
};

/// Which pixels belong to which part: (N^2, parts) float32, each part's with the sum 1.
at::Tensor part_weights(const at::Tensor& mask, const at::Tensor& middle, double radius,
                        at::Tensor& at) {
  const std::int64_t size = mask.size(0);
  const at::Tensor axis = at::arange(size, at::kDouble);
  const at::Tensor row = (axis - middle[0]).unsqueeze(1).expand({size, size}),
                   col = (axis - middle[1]).unsqueeze(0).expand({size, size});
  const at::Tensor inside = (row.square() + col.square()).le(std::pow(kInside * radius, 2)) * mask;
  const auto across = std::min(kAcross, static_cast<std::int64_t>(2 * radius));
  const auto number = [&](const at::Tensor& from) {
    return ((from / radius + 1) * (static_cast<double>(across) / 2))
        .floor()
        .clamp(0, static_cast<double>(across - 1));
  };
  const at::Tensor part = (number(row) * static_cast<double>(across) + number(col)).to(at::kLong);
  std::vector<at::Tensor> weights, places;
  for (std::int64_t k = 0; k < across * across; ++k) {
    const at::Tensor own = inside.logical_and(part.eq(k)).to(at::kDouble);
    const double pixels = own.sum().item<double>();
    if (pixels < 1) continue;
    weights.push_back(own.flatten() / pixels);
    places.push_back(at::stack({(own * row).sum(), (own * col).sum()}) / pixels);
  }
  if (weights.empty()) return {};
  at = at::stack(places);
  return at::stack(weights, 1).to(at::kFloat);
}

/// Without what varies slowly over the scan: descan, drift, a wedge.
at::Tensor without_trend(const at::Tensor& values, const at::Tensor& places) {
  const at::Tensor away = places - places.mean(0);
  const at::Tensor unit = away / away.abs().amax(0).clamp_min(1e-9);
  const at::Tensor row = unit.select(1, 0), col = unit.select(1, 1);
  const at::Tensor basis = std::get<0>(
      at::linalg_qr(at::stack({at::ones_like(row), row, col, row * row, row * col, col * col}, 1)));
  return values - values.matmul(basis).matmul(basis.t());
}

/// Middle of the light within a circle of 1.3 radii around the middle of the detector.
at::Tensor middle_of_disk(const at::Tensor& mean, double radius) {
  const auto half = static_cast<double>(mean.size(0) / 2);
  const at::Tensor axis = at::arange(mean.size(0), at::kDouble) - half;
  const at::Tensor near =
      (axis.square().unsqueeze(1) + axis.square()).le(std::pow(1.3 * radius, 2));
  const at::Tensor light = mean * near;
  const at::Tensor lit = light * light.gt(0.5 * light.max());
  const at::Tensor all = lit.sum().clamp_min(1e-30);
  return at::stack({(lit.sum(1) * axis).sum(), (lit.sum(0) * axis).sum()}) / all + half;
}

std::optional<Parts> parts_of(const Scan& scan) {
  const Geometry& geometry = scan.geometry();
  const double wavelength = wavelength_m(geometry);
  if (geometry.near_field || geometry.semi_angle_rad <= 0 || geometry.object_pixel_m <= 0 ||
      wavelength <= 0)
    return std::nullopt;
  const auto size = static_cast<double>(scan.pattern_size());
  Parts parts;
  parts.radius_px = geometry.semi_angle_rad * size * geometry.object_pixel_m / wavelength;
  const at::Tensor frames = middle_frames(scan, kMostShifted);
  if (parts.radius_px < kLeastRadius_px || frames.size(0) < kFewestShifted) return std::nullopt;
  const at::Tensor mean = mean_pattern(scan, frames) * scan.mask();
  const at::Tensor weights =
      part_weights(scan.mask(), middle_of_disk(mean, parts.radius_px), parts.radius_px, parts.at);
  if (!weights.defined()) return std::nullopt;
  std::vector<at::Tensor> sums;
  for (const at::Tensor& some : frames.split(kSummedAtOnce))
    sums.push_back(counts_of(scan, some).to(at::kFloat).flatten(1).matmul(weights));
  const at::Tensor light = at::cat(sums).t().to(at::kDouble);
  parts.places = scan.positions().index_select(0, frames);
  parts.values = without_trend(light / light.mean(1, true).clamp_min(1e-12) - 1, parts.places);
  return parts;
}

/// A grid on which the samples of all parts are laid.
struct Grid {
  at::Tensor sum, weight;  // (rows, cols) float64
};

/// Where samples lie on a grid: the four nodes about each, and their weights, (4, samples).
struct Nodes {
  at::Tensor index, share;
  std::int64_t rows = 0, cols = 0;
};

Nodes nodes_at(const at::Tensor& places) {  // (samples, 2), from 1 on
  const at::Tensor whole = places.floor().to(at::kLong), rest = places - whole;
  Nodes nodes{.rows = whole.select(1, 0).max().item<std::int64_t>() + 3,
              .cols = whole.select(1, 1).max().item<std::int64_t>() + 3};
  std::vector<at::Tensor> index, share;
  for (const std::int64_t down : {0, 1})
    for (const std::int64_t right : {0, 1}) {
      index.push_back((whole.select(1, 0) + down) * nodes.cols + whole.select(1, 1) + right);
      share.push_back((1 - down - rest.select(1, 0)).abs() * (1 - right - rest.select(1, 1)).abs());
    }
  nodes.index = at::stack(index);
  nodes.share = at::stack(share);
  return nodes;
}

Grid on_grid(const Nodes& nodes, const at::Tensor& values) {
  Grid grid{at::zeros({nodes.rows * nodes.cols}, at::kDouble),
            at::zeros({nodes.rows * nodes.cols}, at::kDouble)};
  for (std::int64_t k = 0; k < 4; ++k) {
    grid.sum.index_add_(0, nodes.index[k], values * nodes.share[k]);
    grid.weight.index_add_(0, nodes.index[k], nodes.share[k]);
  }
  return grid;
}

at::Tensor at_nodes(const Nodes& nodes, const at::Tensor& grid) {
  at::Tensor all = at::zeros({nodes.index.size(1)}, at::kDouble);
  for (std::int64_t k = 0; k < 4; ++k) all += grid.index_select(0, nodes.index[k]) * nodes.share[k];
  return all;
}

/// All parts laid with some shifts, and how well each fits the others there.
struct LaidParts {
  Nodes nodes;
  Grid grid;
  at::Tensor others, judged;  // (samples) what the others say at each sample; bool, enough of them
  double correlation = 0;
};

/// Places in steps of the scan, from 1 on.
at::Tensor shifted_places(const Parts& parts, const at::Tensor& shifts, double step) {
  const at::Tensor by = parts.at.matmul(shifts.t()).unsqueeze(1);
  const at::Tensor places = ((parts.places.unsqueeze(0) + by) / step).flatten(0, 1);
  return places - places.amin(0) + 1;
}

LaidParts lay_parts(const Parts& parts, const at::Tensor& shifts, double step) {
  LaidParts made;
  made.nodes = nodes_at(shifted_places(parts, shifts, step));
  const at::Tensor values = parts.values.flatten();
  made.grid = on_grid(made.nodes, values);
  const at::Tensor own = made.nodes.share.square().sum(0);
  const at::Tensor weight = at_nodes(made.nodes, made.grid.weight) - own;
  made.judged = weight.gt(kLeastOthers);
  made.others =
      (at_nodes(made.nodes, made.grid.sum) - own * values) / weight.clamp_min(1e-9) * made.judged;
  const double power =
      ((made.others.square()).sum() * (values * made.judged).square().sum()).item<double>();
  made.correlation = power > 0 ? (made.others * values).sum().item<double>() / std::sqrt(power) : 0;
  return made;
}

/// The parts' images on a grid of the scan's step, their spectra at low frequencies.
struct Spectra {
  at::Tensor values;     // (parts, f) complex128
  at::Tensor frequency;  // (f, 2) float64, cycles / grid px
  double extent = 0;     // grid px
};

Spectra spectra_of(const Parts& parts, double step) {
  const at::Tensor places = (parts.places - parts.places.amin(0)) / step + 1;
  const Nodes nodes = nodes_at(places);
  std::vector<at::Tensor> images;
  for (const at::Tensor& values : parts.values.unbind(0)) {
    const Grid grid = on_grid(nodes, values);
    images.push_back((grid.sum / grid.weight.clamp_min(0.2)).view({nodes.rows, nodes.cols}));
  }
  const at::Tensor spectra = at::fft_fft2(at::stack(images).to(at::kComplexDouble));
  const at::Tensor row = at::fft_fftfreq(nodes.rows, 1.0, at::kDouble),
                   col = at::fft_fftfreq(nodes.cols, 1.0, at::kDouble);
  const auto low = [](const at::Tensor& frequency, std::int64_t length) {
    return (frequency * static_cast<double>(length)).abs().le(kLowFrequencies);
  };
  const at::Tensor wanted = low(row, nodes.rows)
                                .unsqueeze(1)
                                .logical_and(low(col, nodes.cols))
                                .logical_and(col.ge(0))
                                .logical_and(row.unsqueeze(1).abs().add(col.abs()).gt(0));
  const at::Tensor chosen = wanted.flatten().nonzero().squeeze(1);
  const at::Tensor frequencies =
      at::stack({row.unsqueeze(1).expand({nodes.rows, nodes.cols}).flatten(),
                 col.unsqueeze(0).expand({nodes.rows, nodes.cols}).flatten()},
                1);
  return {spectra.flatten(1).index_select(1, chosen), frequencies.index_select(0, chosen),
          static_cast<double>(std::min(nodes.rows, nodes.cols))};
}

/// [[cos, sin], [-sin, cos]], its second column reversed where it is mirrored.
at::Tensor turn_matrix(double degrees, bool mirrored) {
  const double cos = std::cos(degrees / kDegreesInRadian),
               sin = std::sin(degrees / kDegreesInRadian);
  const double sign = mirrored ? -1 : 1;
  return at::tensor({cos, sin * sign, -sin, cos * sign}, at::kDouble).view({2, 2});
}

/// The shifts, in object px for a detector px, under which the images add up to the most.
at::Tensor coarse_shifts(const Parts& parts, double step) {
  const Spectra spectra = spectra_of(parts, step);
  const auto steps = static_cast<std::int64_t>(kFarthestShift * spectra.extent / kShiftStep);
  at::Tensor best = at::zeros({2, 2}, at::kDouble);
  double most = 0;
  for (const bool mirrored : {false, true})
    for (double degrees = 0; degrees < 180; degrees += kTurnStep) {
      const at::Tensor unit = turn_matrix(degrees, mirrored) / parts.radius_px;
      const at::Tensor along = parts.at.matmul(unit.t()).matmul(spectra.frequency.t());
      const at::Tensor angle = along * (-2 * std::numbers::pi * kShiftStep);
      const at::Tensor forth = at::polar(at::ones_like(angle), angle);
      at::Tensor sum =
          spectra.values * at::polar(at::ones_like(angle), angle * static_cast<double>(-steps));
      for (std::int64_t k = -steps; k <= steps; ++k) {
        const double power = sum.sum(0).abs().square().sum().item<double>();
        if (power > most) {
          most = power;
          best = unit * (static_cast<double>(k) * kShiftStep * step);
        }
        sum.mul_(forth);
      }
    }
  return best;
}

struct Refined {
  at::Tensor shifts, errors;
  LaidParts laid;
};

/// Slope of the mean image at the samples, per step: (samples, 2).
at::Tensor slopes_at(const LaidParts& made) {
  const at::Tensor mean = (made.grid.sum / made.grid.weight.clamp_min(1e-9))
                              .masked_fill(made.grid.weight.lt(kLeastOthers), 0)
                              .view({made.nodes.rows, made.nodes.cols});
  const auto slope = [&](std::int64_t axis) {
    const std::int64_t length = mean.size(axis) - 2;
    at::Tensor central = at::zeros_like(mean);
    central.narrow(axis, 1, length)
        .copy_((mean.narrow(axis, 2, length) - mean.narrow(axis, 0, length)) / 2);
    return at_nodes(made.nodes, central.flatten());
  };
  return at::stack({slope(0), slope(1)}, 1);
}

/// Gauss-Newton on what the others say at each sample, as long as the images agree better.
Refined refined_shifts(const Parts& parts, const at::Tensor& start, double step) {
  Refined best{start, at::zeros({2, 2}, at::kDouble), lay_parts(parts, start, step)};
  const std::int64_t count = parts.values.size(1);
  const at::Tensor at = parts.at.repeat_interleave(count, 0), values = parts.values.flatten();
  for (int k = 0; k < kMostRefinements; ++k) {
    // A part that is laid too far by d shows the value of a place d before it.
    const at::Tensor slopes = slopes_at(best.laid) * best.laid.judged.unsqueeze(1);
    const at::Tensor design = (slopes.unsqueeze(2) * at.unsqueeze(1)).flatten(1) / step;
    const at::Tensor left = (values - best.laid.others) * best.laid.judged;
    const at::Tensor normal = design.t().matmul(design) + 1e-9 * at::eye(4, at::kDouble);
    const at::Tensor change = at::linalg_solve(normal, design.t().matmul(left)).view({2, 2});
    const double noise = left.square().sum().item<double>() /
                         std::max(best.laid.judged.sum().item<double>() - 4, 1.0);
    best.errors = (at::linalg_inv(normal).diagonal() * noise).clamp_min(0).sqrt().view({2, 2});
    bool better = false;
    for (double length = 1; length > 0.2 && !better; length /= 2) {
      const at::Tensor next = best.shifts + length * change;
      LaidParts there = lay_parts(parts, next, step);
      better = there.correlation > best.laid.correlation;
      if (better) best = {next, best.errors, std::move(there)};
    }
    if (!better ||
        change.abs().max().item<double>() < kAtRest * best.shifts.abs().max().item<double>())
      break;
  }
  return best;
}

double number_in(const at::Tensor& matrix, std::int64_t row, std::int64_t col) {
  return matrix[row][col].item<double>();
}

/// Turn, mirror and defocus of M = U P, P symmetric: T = U^T, or -U^T with a negative defocus.
void interpret(const at::Tensor& shifts, double metres_of_unit, BrightField& found) {
  const auto [u, s, vt] = at::linalg_svd(shifts);
  at::Tensor turn = u.matmul(vt).t();
  const at::Tensor spread = s * metres_of_unit;
  found.mirrored = number_in(turn, 0, 0) * number_in(turn, 1, 1) -
                       number_in(turn, 0, 1) * number_in(turn, 1, 0) <
                   0;
  found.defocus_m = spread.mean().item<double>();
  found.astigmatism_m = (spread[0] - spread[1]).item<double>() / 2;
  const auto degrees_of = [&](const at::Tensor& m) {
    return kDegreesInRadian * (found.mirrored ? std::atan2(number_in(m, 1, 1), number_in(m, 0, 1))
                                              : std::atan2(number_in(m, 0, 1), number_in(m, 0, 0)));
  };
  if (std::abs(degrees_of(turn)) > 90) {
    turn = -turn;
    found.defocus_m = -found.defocus_m;
  }
  found.degrees = degrees_of(turn);
  found.turn = {{{number_in(turn, 0, 0), number_in(turn, 0, 1)},
                 {number_in(turn, 1, 0), number_in(turn, 1, 1)}}};
}

/// As T turns the scan. The parts of each pattern lie at different places, so that pixels may be
/// smaller than a step.
void draw(Parts parts, double pixel_px, BrightField& found) {
  const auto& m = found.turn.matrix;
  const at::Tensor turn =
      at::tensor({m[0][0], m[0][1], m[1][0], m[1][1]}, at::kDouble).view({2, 2});
  parts.places = parts.places.matmul(turn.t());
  const Nodes nodes = nodes_at(shifted_places(parts, turn.matmul(found.shifts), pixel_px));
  const Grid grid = on_grid(nodes, parts.values.flatten());
  const at::Tensor unseen = grid.weight.lt(kLeastDrawn);
  const std::array<std::int64_t, 2> shape{nodes.rows, nodes.cols};
  found.image = (1 + grid.sum / grid.weight).masked_fill(unseen, 1).view(shape).to(at::kFloat);
  found.seen = (grid.weight / grid.weight.max()).masked_fill(unseen, 0).view(shape).to(at::kFloat);
}

}  // namespace

bool BrightField::sure() const {
  return rim_shift_steps >= kLeastRimShift && correlation > unshifted + kLeastGain &&
         degrees_error < kMostDegrees && defocus_error_m < kMostDefocus * std::abs(defocus_m);
}

std::string degrees_in_words(const BrightField& found) {
  return fmt::format("{:.1f} degrees{}", found.degrees,
                     found.mirrored ? " against a mirrored detector" : "");
}

std::string defocus_in_words(const BrightField& found) {
  const bool micrometres = std::abs(found.defocus_m) >= 1e-6;
  return fmt::format("{:.3g} {}", found.defocus_m * (micrometres ? 1e6 : 1e9),
                     micrometres ? "um" : "nm");
}

std::string in_words(const BrightField& found) {
  const double percent = 100 / std::max(std::abs(found.defocus_m), 1e-30);
  return fmt::format(
      "the scan is turned by {} (+- {:.1f}), defocus {} (+- {:.2g} %), astigmatism {:.2g} %; "
      "images "
      "of the disk's parts correlate by {:.2f} when shifted by it, by {:.2f} as they are{}",
      degrees_in_words(found), found.degrees_error, defocus_in_words(found),
      percent * found.defocus_error_m, percent * found.astigmatism_m, found.correlation,
      found.unshifted, found.sure() ? "" : ": not sure");
}

std::optional<BrightField> bright_field(const Scan& scan) {
  const std::optional<Parts> parts = parts_of(scan);
  if (!parts) return std::nullopt;
  const double step = median_step_px(parts->places);
  if (!(step > 0)) return std::nullopt;
  const at::Tensor extent = parts->places.amax(0) - parts->places.amin(0);
  if (extent.max().item<double>() > kMostAcross * step) return std::nullopt;
  const Refined best = refined_shifts(*parts, coarse_shifts(*parts, step), step);
  const Geometry& geometry = scan.geometry();
  const double unit = static_cast<double>(scan.pattern_size()) * geometry.object_pixel_m *
                      geometry.object_pixel_m / wavelength_m(geometry);
  BrightField found{
      .shifts = best.shifts,
      .correlation = best.laid.correlation,
      .unshifted = lay_parts(*parts, at::zeros({2, 2}, at::kDouble), step).correlation,
      .pixel_m = step / kFiner * geometry.object_pixel_m};
  interpret(best.shifts, unit, found);
  // Turn and defocus are halves of sums of two entries.
  const double error = best.errors.square().mean().sqrt().item<double>() / std::numbers::sqrt2;
  found.defocus_error_m = error * unit;
  found.degrees_error = kDegreesInRadian * found.defocus_error_m /
                        std::max(std::abs(found.defocus_m), std::numeric_limits<double>::min());
  found.rim_shift_steps = std::abs(found.defocus_m) / unit * parts->radius_px / step;
  draw(*parts, step / kFiner, found);
  return found;
}

}  // namespace ptyche
