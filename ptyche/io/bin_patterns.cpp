#include "ptyche/io/bin_patterns.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/scan.h"

namespace ptyche {

void settle_bins(const RawScan& raw, ReadOptions& options) {
  if (options.bin == 1) return;
  require(!raw.geometry.near_field && !options.near_field,
          "--bin: expected a far-field scan, found {}", "a near-field one");
  const bool centred = options.centre.has_value() || raw.centre_row >= 0;
  require(options.crop > 0 || !centred,
          "--bin {}: expected --crop with a zero frequency that is not in the detector's middle, "
          "found none",
          options.bin);
  const std::int64_t wanted = options.crop > 0 ? options.crop : std::min(raw.rows(), raw.cols());
  const std::int64_t kept = wanted / (2 * options.bin) * 2 * options.bin;
  require(kept > 0, "--bin {}: expected at least {} pixels, found {}", options.bin, 2 * options.bin,
          wanted);
  if (kept != wanted)
    note("--bin {0}: {1} x {1} of {2} x {2} detector pixels are kept, an even number of sums",
         options.bin, kept, wanted);
  if (options.crop > 0 || kept != raw.rows() || kept != raw.cols()) options.crop = kept;
}

namespace {

constexpr std::int64_t kSummedAtOnce = 32;  // patterns, whose sums are wide numbers

at::Tensor sums_of(const at::Tensor& counts, std::int64_t bin) {
  const std::int64_t size = counts.size(1) / bin;
  const at::ScalarType wide = counts.is_floating_point() ? at::kDouble : at::kLong;
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < counts.size(0); first += kSummedAtOnce) {
    const at::Tensor some = counts.slice(0, first, first + kSummedAtOnce).contiguous();
    const at::Tensor sums =
        some.view({some.size(0), size, bin, size, bin}).sum({2, 4}, false, wide);
    parts.push_back(counts.is_floating_point() ? sums.to(at::kFloat) : sums.to(at::kInt));
  }
  return in_smallest_exact_type(at::cat(parts));
}

/// exp(-2 pi i s r / N) over the window of `size` around 0, s the shift in detector pixels.
at::Tensor tilt_of(std::int64_t size, std::int64_t whole, std::int64_t bin) {
  const double shift = static_cast<double>(bin - 1) / 2;
  const at::Tensor at = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  const at::Tensor phase = at * (-2 * std::numbers::pi * shift / static_cast<double>(whole));
  const at::Tensor line = at::polar(at::ones_like(phase), phase);
  return (line.unsqueeze(1) * line.unsqueeze(0)).to(at::kComplexFloat);
}

}  // namespace

void bin_patterns(RawScan& raw, at::Tensor& counts, std::int64_t bin) {
  if (bin == 1) return;
  const std::int64_t whole = counts.size(1), size = whole / bin;
  require(size * bin == whole, "--bin {}: expected a multiple of it, found {} pixels", bin, whole);
  counts = sums_of(counts, bin);
  raw.mask = raw.mask.contiguous().view({size, bin, size, bin}).all(3).all(1);
  require(raw.mask.any().item<bool>(), "--bin {}: expected sums without a masked pixel, found none",
          bin);
  raw.geometry.detector_pixel_m *= static_cast<double>(bin);
  if (!raw.probe.defined()) return;
  const std::int64_t border = (whole - size) / 2;
  const at::Tensor middle = raw.probe.narrow(1, border, size).narrow(2, border, size);
  raw.probe = (middle * tilt_of(size, whole, bin)).contiguous();
  raw.probe_calibrated = false;  // what of its power lay outside is lost
}

}  // namespace ptyche
