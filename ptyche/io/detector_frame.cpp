#include "ptyche/io/detector_frame.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"

namespace ptyche {

Turn turn_numbered(std::int64_t number) {
  require(number >= 0 && number <= 7, "expected an orientation from 0 to 7, found {}", number);
  return {(number & 4) != 0, (number & 2) != 0, (number & 1) != 0};
}

Turn turn_of_basis(const at::Tensor& basis, const std::string& name) {
  const auto part = [&](int vector, int axis) { return basis[vector][axis].item<double>(); };
  const double row_x = part(0, 0), row_y = part(0, 1), col_x = part(1, 0), col_y = part(1, 1);
  const bool transpose = std::abs(row_x) > std::abs(row_y);
  const double row = transpose ? col_y : row_y, row_off = transpose ? col_x : row_x;
  const double col = transpose ? row_x : col_x, col_off = transpose ? row_y : col_y;
  require(std::abs(row_off) <= kOblique * std::abs(row) &&
              std::abs(col_off) <= kOblique * std::abs(col) && row != 0 && col != 0,
          "{}: expected a row and a column along x and y, found ({}, {}) and ({}, {})", name, row_x,
          row_y, col_x, col_y);
  return {transpose, row > 0, col > 0};
}

namespace {

at::Tensor reversed(const at::Tensor& images, std::int64_t axis) {
  const at::Tensor flipped = images.flip({axis});
  return images.size(axis) % 2 == 0 ? flipped.roll({1}, {axis}) : flipped;
}

}  // namespace

at::Tensor turned(const at::Tensor& images, Turn turn) {
  at::Tensor result = turn.transpose ? images.transpose(-1, -2) : images;
  if (turn.reverse_rows) result = reversed(result, -2);
  if (turn.reverse_cols) result = reversed(result, -1);
  return result.contiguous();
}

namespace {

/// Patterns whose sums follow the monitor are divided by it. Below the first share it says nothing;
/// the second is the least correlation of 1/monitor-free chance: |r| of 100 independent pairs is
/// below 0.3 in 99.8 % of cases.
constexpr double kMonitorMoves = 2e-3, kMonitorFollows = 0.5;

at::Tensor like_pattern(const RawScan& raw, at::Tensor image, const std::string& name) {
  while (image.dim() > 2) image = image.to(at::kDouble).mean(0);
  require(image.dim() == 2 && image.size(0) == raw.patterns.size(1) &&
              image.size(1) == raw.patterns.size(2) && !image.is_complex(),
          "{}: expected ({}, {}) like the patterns, found {}", name, raw.patterns.size(1),
          raw.patterns.size(2), describe(image));
  return image;
}

void subtract_dark(RawScan& raw) {
  if (!raw.dark.defined()) return;
  const at::Tensor dark = like_pattern(raw, raw.dark, "dark").to(at::kFloat);
  raw.dark = at::Tensor();
  if (dark.abs().max().item<float>() == 0) return;
  note("the file's dark (mean {:.4g} per pixel) is subtracted", dark.mean().item<double>());
  raw.patterns = raw.patterns.to(at::kFloat).sub(dark).clamp_min_(0);
  raw.ceiling = 0;
}

/// A flat of zeros or of no number counts no pixel.
void divide_by_flat(RawScan& raw) {
  if (!raw.flat.defined()) return;
  const at::Tensor flat = like_pattern(raw, raw.flat, "flat field").to(at::kFloat);
  raw.flat = at::Tensor();
  const at::Tensor good = at::isfinite(flat).logical_and_(flat.gt(0));
  raw.mask = raw.mask.defined() ? raw.mask.logical_and(good) : good;
  const at::Tensor gain = at::where(good, flat, at::ones_like(flat));
  const at::Tensor relative = gain / gain.masked_select(good).mean();
  if ((relative - 1).abs().max().item<float>() < 1e-6f) return;
  note("patterns are divided by the file's flat field");
  raw.patterns = raw.patterns.to(at::kFloat).div(relative);
  raw.ceiling = 0;
}

double correlation(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a - a.mean(), y = b - b.mean();
  const double power = ((x * x).sum() * (y * y).sum()).item<double>();
  return power > 0 ? (x * y).sum().item<double>() / std::sqrt(power) : 0;
}

void divide_by_monitor(RawScan& raw) {
  if (!raw.monitor.defined()) return;
  const at::Tensor monitor = raw.monitor.reshape(-1).to(at::kDouble);
  raw.monitor = at::Tensor();
  if (monitor.size(0) != raw.frames() || !monitor.gt(0).all().item<bool>()) {
    return warn("the file's monitor is left out: expected {} numbers above 0, found {}",
                raw.frames(), describe(monitor));
  }
  const at::Tensor relative = monitor / monitor.mean();
  if (raw.frames() < 3 || relative.std().item<double>() < kMonitorMoves) return;
  const double follows = correlation(raw.patterns.sum({1, 2}, false, at::kDouble), relative);
  if (follows < kMonitorFollows)
    return note(
        "the file's monitor is left out: the patterns' sums do not follow it (correlation "
        "{:.2f})",
        follows);
  note(
      "patterns are divided by the file's monitor ({:.2g} to {:.2g} of its mean), which their "
      "sums follow",
      relative.min().item<double>(), relative.max().item<double>());
  raw.patterns = raw.patterns.to(at::kFloat).div(relative.to(at::kFloat).view({-1, 1, 1}));
  raw.ceiling = 0;
}

void move_zero(RawScan& raw) {
  if (!raw.zero_at_corner) return;
  raw.patterns = middle_zero(raw.patterns);
  if (raw.mask.defined()) raw.mask = middle_zero(raw.mask);
  raw.zero_at_corner = false;
}

/// The probe lies as the detector does: its far field is what the detector sees.
void turn_all(RawScan& raw, Turn turn) {
  if (turn.nothing()) return;
  raw.patterns = turned(raw.patterns, turn);
  if (raw.mask.defined()) raw.mask = turned(raw.mask, turn);
  if (raw.probe.defined()) raw.probe = turned(raw.probe, turn);
  if (turn.transpose) std::swap(raw.detector_rows, raw.detector_cols);
  if (raw.centre_row < 0) return;
  if (turn.transpose) std::swap(raw.centre_row, raw.centre_col);
  const auto mirrored = [](double centre, std::int64_t length) {
    return static_cast<double>(length - length % 2) - centre;
  };
  if (turn.reverse_rows) raw.centre_row = mirrored(raw.centre_row, raw.patterns.size(1));
  if (turn.reverse_cols) raw.centre_col = mirrored(raw.centre_col, raw.patterns.size(2));
}

}  // namespace

void settle_detector(RawScan& raw, std::int64_t orientation) {
  subtract_dark(raw);
  divide_by_flat(raw);
  divide_by_monitor(raw);
  move_zero(raw);
  turn_all(raw, raw.turn);
  if (orientation <= 0) return;
  turn_all(raw, turn_numbered(orientation));
  raw.forget_truth("it has the orientation of the file's patterns");
}

at::Tensor middle_zero(const at::Tensor& images) {
  return images.roll({images.size(-2) / 2, images.size(-1) / 2}, {-2, -1});
}

}  // namespace ptyche
