#include "ptyche/io/load_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/detector_frame.h"
#include "ptyche/io/narrow_patterns.h"

namespace ptyche {

void settle_centre(RawScan& raw, const ReadOptions& options) {
  if (options.centre || raw.centre_row < 0 || raw.centre_col < 0) {
    if (!options.centre) raw.centre_row = raw.centre_col = -1;
    return;
  }
  const auto rows = static_cast<double>(raw.rows()), cols = static_cast<double>(raw.cols());
  const double row = raw.centre_row, col = raw.centre_col;
  const double off = std::max(std::abs(row - rows / 2), std::abs(col - cols / 2));
  const bool inner = std::abs(row - rows / 2) <= rows / 4 && std::abs(col - cols / 2) <= cols / 4;
  if (off > 1 && inner) {
    note("patterns are cut around the file's zero frequency, pixel {:.1f},{:.1f}", row, col);
    return;
  }
  raw.centre_row = raw.centre_col = -1;
  if (off <= 1) return;
  note("the file's zero frequency, pixel {:.1f},{:.1f} of {} x {}, is left out (--center sets it)",
       row, col, rows, cols);
}

// Some of the patterns.

at::Tensor sampled_patterns(const RawScan& raw) {
  const std::int64_t all = raw.frames();
  const std::int64_t bytes = raw.patterns.defined() ? 1 : raw.stack->shape().frame_bytes();
  const std::int64_t count =
      std::min(all, std::clamp<std::int64_t>(kSampledBytes / bytes, 2, kSampledPatterns));
  const bool in_order = raw.stack && (raw.stack->in_order_only() || raw.stack->shape().last_axis);
  if (in_order || all == count) return at::arange(count, at::kLong);
  // Neighbours are often in one packed chunk.
  const std::int64_t runs = std::min(kSampledRuns, count), each = count / runs;
  std::vector<at::Tensor> numbers;
  for (std::int64_t run = 0; run < runs; ++run)
    numbers.push_back((2 * run + 1) * (all - each) / (2 * runs) + at::arange(each, at::kLong));
  return std::get<0>(at::_unique(at::cat(numbers)));
}

// The part that is kept.

namespace {

constexpr std::int64_t kBatchBytes = std::int64_t{64} << 20;  // of frames that are rolled

/// Where a pixel of the turned detector lies in the file's.
DetectorCentre unturned(DetectorCentre centre, Turn turn, std::int64_t rows, std::int64_t cols) {
  if (turn.transpose) std::swap(rows, cols);  // of the turned detector
  const auto mirrored = [](double at, std::int64_t length) {
    return static_cast<double>(length - length % 2) - at;
  };
  if (turn.reverse_rows) centre.row = mirrored(centre.row, rows);
  if (turn.reverse_cols) centre.col = mirrored(centre.col, cols);
  if (turn.transpose) std::swap(centre.row, centre.col);
  return centre;
}

/// The zero frequency in the file's frame (in the middle of it, where it is at the corner).
DetectorCentre file_centre(const RawScan& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.rows(), cols = raw.cols();
  if (!options.centre) {
    if (raw.centre_row >= 0) return {raw.centre_row, raw.centre_col};
    return {static_cast<double>(rows / 2), static_cast<double>(cols / 2)};
  }
  const Turn by_user = turn_numbered(std::max<std::int64_t>(options.orientation, 0));
  const bool swapped = raw.turn.transpose;
  const DetectorCentre once =
      unturned(*options.centre, by_user, swapped ? cols : rows, swapped ? rows : cols);
  return unturned(once, raw.turn, rows, cols);
}

/// A pixel more on each side than is kept: a reversed axis of even length keeps its pixel N/2.
Window window_around(const DetectorCentre& centre, std::int64_t crop, std::int64_t rows,
                     std::int64_t cols) {
  const std::int64_t half = crop / 2 + 1;
  const auto row = static_cast<std::int64_t>(std::round(centre.row));
  const auto col = static_cast<std::int64_t>(std::round(centre.col));
  return {std::max<std::int64_t>(row - half, 0), std::min(row + half, rows),
          std::max<std::int64_t>(col - half, 0), std::min(col + half, cols)};
}

/// All of the detector where the part that is kept is not known yet.
Window kept_window(const RawScan& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.rows(), cols = raw.cols();
  const Window all{0, rows, 0, cols};
  const bool mask_of_turned = options.mask != "file" && options.mask != "none";
  if (options.crop < 2 || mask_of_turned || raw.geometry.near_field || options.near_field)
    return all;
  const DetectorCentre centre = file_centre(raw, options);
  const bool inside = centre.row >= 0 && centre.row < static_cast<double>(rows) &&
                      centre.col >= 0 && centre.col < static_cast<double>(cols);
  return inside ? window_around(centre, options.crop, rows, cols) : all;
}

/// Frames with the zero frequency at the corner: whole ones, some at a time, are rolled and cut.
at::Tensor read_rolled(const FrameStack& stack, const at::Tensor& numbers, const Window& window) {
  const StackShape& shape = stack.shape();
  const Window all{0, shape.rows, 0, shape.cols};
  const std::int64_t step = std::max<std::int64_t>(1, kBatchBytes / shape.frame_bytes());
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < numbers.size(0); first += step) {
    const at::Tensor batch = numbers.slice(0, first, first + step);
    parts.push_back(cut(middle_zero(read_frames(stack, batch, all)), window).contiguous());
  }
  at::ScalarType type = parts.front().scalar_type();  // the batches' narrowest may differ
  for (const at::Tensor& part : parts) type = at::promote_types(type, part.scalar_type());
  for (at::Tensor& part : parts) part = part.to(type);
  return at::cat(parts);
}

/// Whether the values may be squared as they are read: nothing is done to them before.
bool may_be_roots(const RawScan& raw, const ReadOptions& options) {
  const bool as_they_are = !raw.dark.defined() && !raw.flat.defined() && !raw.monitor.defined() &&
                           !raw.clip_negative && options.semi_angle_rad <= 0;
  return as_they_are && options.domain != "counts" && raw.domain != Domain::counts;
}

/// All patterns, whole, of one or two bytes a pixel: a narrower copy would be more and not less.
bool costs_nothing(const FrameStack& stack, const at::Tensor& numbers, const Window& window) {
  const StackShape& shape = stack.shape();
  return numbers.size(0) == shape.frames && window == Window{0, shape.rows, 0, shape.cols} &&
         (shape.type == at::kByte || shape.type == at::kShort) && stack.in_memory();
}

at::Tensor read_unrolled(RawScan& raw, const ReadOptions& options, const at::Tensor& numbers,
                         const Window& window) {
  raw.in_memory_file = costs_nothing(*raw.stack, numbers, window);
  if (raw.in_memory_file) return read_frames(*raw.stack, numbers, window);
  const bool floats = at::isFloatingType(raw.stack->shape().type);
  const auto narrow =
      read_narrow(*raw.stack, numbers, window, {floats && may_be_roots(raw, options), raw.ceiling});
  if (!narrow) return read_frames(*raw.stack, numbers, window);
  if (floats) raw.narrowed = narrow->squared ? Narrowed::squares : Narrowed::values;
  return narrow->counts;
}

void cut_image(at::Tensor& image, bool roll, const Window& window, std::int64_t rows,
               std::int64_t cols) {
  if (!image.defined()) return;
  const bool like_patterns = image.dim() >= 2 && image.size(-2) == rows && image.size(-1) == cols;
  require(like_patterns, "expected ({}, {}) like the patterns, found {}", rows, cols,
          describe(image));
  image = cut(roll ? middle_zero(image) : image, window).contiguous();
}

}  // namespace

void load_patterns(RawScan& raw, ReadOptions& options) {
  if (!raw.stack) return;
  const std::int64_t rows = raw.rows(), cols = raw.cols();
  const Window window = kept_window(raw, options);
  const DetectorCentre centre = file_centre(raw, options);
  const at::Tensor numbers =
      raw.chosen.defined() ? raw.chosen : at::arange(raw.stack->frames(), at::kLong);
  raw.patterns = with_context(raw.patterns_name, [&] {
    return raw.zero_at_corner ? read_rolled(*raw.stack, numbers, window)
                              : read_unrolled(raw, options, numbers, window);
  });
  raw.stack.reset();
  raw.chosen = at::Tensor();
  const bool uncut = window == Window{0, rows, 0, cols};
  if (uncut && !raw.zero_at_corner) return;
  with_context("mask", [&] { cut_image(raw.mask, raw.zero_at_corner, window, rows, cols); });
  with_context("dark", [&] { cut_image(raw.dark, raw.zero_at_corner, window, rows, cols); });
  with_context("flat field", [&] { cut_image(raw.flat, raw.zero_at_corner, window, rows, cols); });
  raw.zero_at_corner = false;
  if (uncut) return;
  raw.detector_rows = rows;
  raw.detector_cols = cols;
  raw.centre_row = std::round(centre.row) - static_cast<double>(window.row_begin);
  raw.centre_col = std::round(centre.col) - static_cast<double>(window.col_begin);
  options.centre.reset();
}

}  // namespace ptyche
