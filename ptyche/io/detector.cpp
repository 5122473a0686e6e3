#include <algorithm>
#include <array>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/data/describe.h"
#include "ptyche/io/npy.h"
#include "ptyche/io/npz.h"
#include "ptyche/io/prepare.h"

namespace ptyche {
namespace {

/// First row and column, and the side, of the square that is kept.
struct Window {
  std::int64_t row = 0, col = 0, size = 0;
};

at::Tensor read_mask_file(const std::filesystem::path& path) {
  if (path.extension() != ".npz") return read_npy_file(path).values;
  return with_context(path.string(), [&] {
    const NpzFile file(path);
    return file.read(file.names().size() == 1 ? file.names().front() : "mask").values;
  });
}

std::int64_t largest_even_square(double row, double col, std::int64_t rows, std::int64_t cols) {
  const auto r = static_cast<std::int64_t>(row), c = static_cast<std::int64_t>(col);
  return 2 * std::min(std::min(r, rows - r), std::min(c, cols - c));
}

Window window_of(const RawScan& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2);
  const DetectorCentre middle{static_cast<double>(rows / 2), static_cast<double>(cols / 2)};
  const DetectorCentre centre = options.centre.value_or(middle);
  const double row = std::round(centre.row), col = std::round(centre.col);
  require(
      row >= 0 && row < static_cast<double>(rows) && col >= 0 && col < static_cast<double>(cols),
      "--center: expected a pixel of the {} x {} detector, found {},{}", rows, cols, centre.row,
      centre.col);
  if (options.crop == 0 && !options.centre) return {0, 0, std::min(rows, cols)};
  const std::int64_t size =
      options.crop > 0 ? options.crop : largest_even_square(row, col, rows, cols);
  const Window window{static_cast<std::int64_t>(row) - size / 2,
                      static_cast<std::int64_t>(col) - size / 2, size};
  require(
      size >= 2 && window.row >= 0 && window.col >= 0 && window.row + size <= rows &&
          window.col + size <= cols,
      "--crop: expected {0} x {0} pixels around {1},{2} inside the {3} x {4} detector, found {5}",
      size, row, col, rows, cols, "a window that leaves it");
  return window;
}

at::Tensor cut(const at::Tensor& images, const Window& window) {
  return images.narrow(-2, window.row, window.size).narrow(-1, window.col, window.size);
}

/// The probe without the far field outside the central size x size pixels. Unitary transforms of
/// the two sizes keep the power of what is left.
at::Tensor crop_far_field(const at::Tensor& probe, std::int64_t size) {
  constexpr std::array<std::int64_t, 2> axes{-2, -1};
  const at::Tensor centred = at::fft_ifftshift(probe.to(at::kComplexDouble), axes);
  const at::Tensor wave = at::fft_fftshift(at::fft_fft2(centred, {}, axes, "ortho"), axes);
  const std::int64_t first = (probe.size(1) - size) / 2;
  const at::Tensor kept = at::fft_ifftshift(cut(wave, {first, first, size}), axes);
  return at::fft_fftshift(at::fft_ifft2(kept, {}, axes, "ortho"), axes).to(at::kComplexFloat);
}

void require_probe_fits(const RawScan& raw, std::int64_t kept) {
  if (!raw.probe.defined() || raw.probe.size(1) == kept) return;
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2);
  const std::string crop =
      kept == rows && kept == cols ? "" : fmt::format(" or ({0}, {0}) like what is kept", kept);
  require(raw.probe.size(1) == rows && rows == cols,
          "{}: expected ({}, {}) like the patterns in {}{}, found {}", raw.probe_name, rows, cols,
          raw.patterns_name, crop, describe(raw.probe));
}

/// Whether lengths in pixels are already those of the `kept` x `kept` window: the probe's are.
bool in_pixels_of_the_window(const RawScan& raw, std::int64_t kept) {
  const bool whole = raw.patterns.size(1) == kept && raw.patterns.size(2) == kept;
  return !whole && !raw.positions_in_metres && raw.probe.defined() && raw.probe.size(1) == kept;
}

/// Lengths follow the far field's extent; see crop_detector.
void rescale_lengths(RawScan& raw, std::int64_t old_size, std::int64_t new_size) {
  if (new_size == old_size) return;
  const double ratio = static_cast<double>(new_size) / static_cast<double>(old_size);
  if (!raw.positions_in_metres) raw.positions = raw.positions * ratio;
  raw.geometry.object_pixel_m /= ratio;
  raw.forget_truth("cropping changed the object pixel");
}

}  // namespace

void choose_mask(RawScan& raw, const std::string& choice) {
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2);
  if (choice != "file" && choice != "none") {
    raw.mask = with_context("--mask", [&] { return read_mask_file(choice); });
    require(raw.mask.scalar_type() == at::kBool, "{}: expected bool, true = counted, found {}",
            choice, describe(raw.mask));
  }
  if (choice == "none" || !raw.mask.defined()) raw.mask = at::ones({rows, cols}, at::kBool);
  require(raw.mask.dim() == 2 && raw.mask.size(0) == rows && raw.mask.size(1) == cols,
          "mask: expected ({}, {}) like the patterns, found {}", rows, cols, describe(raw.mask));
  require(raw.mask.any().item<bool>(),
          "mask: expected counted pixels (true), found none{}; --mask none counts all",
          choice == "file" ? "" : " in " + choice);
}

void crop_detector(RawScan& raw, const ReadOptions& options) {
  const bool whole = options.crop == 0 && !options.centre.has_value() &&
                     raw.patterns.size(1) == raw.patterns.size(2);
  require(whole || !(raw.geometry.near_field || options.near_field),
          "{}: expected square patterns, no --crop and no --center for a near-field scan, whose "
          "pixels are the object's, found {}",
          raw.patterns_name, describe(raw.patterns));
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2);
  const Window window = window_of(raw, options);
  require(rows == cols || options.crop > 0 || options.centre.has_value(),
          "{}: expected square patterns, found {}; --crop N keeps a square", raw.patterns_name,
          describe(raw.patterns));
  require(window.size % 2 == 0,
          "{}: expected an even pattern size N, found {}; --crop {} keeps "
          "the middle",
          raw.patterns_name, window.size, window.size - 1);
  require_probe_fits(raw, window.size);
  const bool lengths_fit = in_pixels_of_the_window(raw, window.size);
  require(rows == cols || raw.positions_in_metres || lengths_fit,
          "{}: expected square patterns, positions in metres or a probe of what is kept, found {}",
          raw.patterns_name, describe(raw.patterns));
  raw.patterns = cut(raw.patterns, window);
  raw.mask = cut(raw.mask, window).contiguous();
  if (raw.probe.defined() && raw.probe.size(1) != window.size) {
    raw.probe = crop_far_field(raw.probe, window.size);
  }
  if (lengths_fit)
    note("{}: read in pixels of {}, which has the size of what is kept", raw.positions_name,
         raw.probe_name);
  else
    rescale_lengths(raw, rows, window.size);
}

}  // namespace ptyche
