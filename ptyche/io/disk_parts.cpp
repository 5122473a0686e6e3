#include <algorithm>

#include "ptyche/data/array.h"
#include "ptyche/io/bright_disk.h"

namespace ptyche {
namespace {

// That are looked at, of all patterns: the more take two seconds.
constexpr std::int64_t kUsualPixels = std::int64_t{1} << 24, kMostPixels = std::int64_t{1} << 26;
constexpr double kSparse = 0.2;  // mean of a pixel below which more are needed
constexpr std::int64_t kBatchPixels = std::int64_t{1} << 22;
constexpr std::int64_t kPartsASide = 4;
constexpr double kGoldenRatio = 0.6180339887498949;

std::int64_t most_pixels(const at::Tensor& patterns) {
  const std::int64_t every = std::max<std::int64_t>(1, patterns.size(0) / 16);
  const double usual = patterns.slice(0, 0, {}, every).to(at::kFloat).mean().item<double>();
  return usual < kSparse ? kMostPixels : kUsualPixels;
}

/// Evenly spread, but not in step with the rows of a raster.
at::Tensor some_of(std::int64_t patterns, std::int64_t wanted) {
  if (patterns <= wanted) return at::arange(patterns, at::kLong);
  const at::Tensor steps = at::arange(wanted, at::kDouble);
  const at::Tensor jitter = at::frac(steps * kGoldenRatio);
  const double stride = static_cast<double>(patterns) / static_cast<double>(wanted);
  return ((steps + jitter) * stride).to(at::kLong).clamp_max(patterns - 1);
}

/// Which of kPartsASide^2 parts of the scan each pattern (k) is of: (k) int64.
at::Tensor parts_of(const at::Tensor& numbers, std::int64_t patterns, const at::Tensor& positions) {
  const auto in_parts = [](const at::Tensor& share, std::int64_t parts) {
    return (share * parts).to(at::kLong).clamp(0, parts - 1);
  };
  const bool placed = positions.defined() && positions.size(0) == patterns &&
                      at::isfinite(positions).all().item<bool>();
  if (!placed) return in_parts(numbers.to(at::kDouble) / patterns, kPartsASide * kPartsASide);
  const at::Tensor own = positions.index_select(0, numbers).to(at::kDouble);
  const at::Tensor first = own.amin(0), extent = (own.amax(0) - first).clamp_min(1e-300);
  const at::Tensor part = in_parts((own - first) / extent, kPartsASide);
  return part.select(1, 0) * kPartsASide + part.select(1, 1);
}

DiskImage sum_over(const at::Tensor& patterns, const at::Tensor& numbers, const at::Tensor& mask,
                   const PatternValues& values) {
  const std::int64_t rows = patterns.size(1), cols = patterns.size(2);
  at::Tensor light = at::zeros({rows, cols}, at::kDouble), weight = at::zeros_like(light);
  const std::int64_t batch = std::max<std::int64_t>(1, kBatchPixels / (rows * cols));
  for (std::int64_t first = 0; first < numbers.size(0); first += batch) {
    const at::Tensor some =
        patterns.index_select(0, numbers.slice(0, first, first + batch)).to(at::kFloat);
    at::Tensor counts = at::isfinite(some);
    if (values.ceiling > 0) counts = counts.logical_and(some.lt(values.ceiling));
    const at::Tensor kept = at::where(counts, some, at::zeros_like(some));
    light += (values.roots ? kept.square() : kept).sum(0, false, at::kDouble);
    weight += counts.sum(0);
  }
  return {rows, cols, to_vector(light), to_vector(weight * mask)};
}

}  // namespace

std::vector<DiskImage> disk_parts(const at::Tensor& patterns, const at::Tensor& mask,
                                  const at::Tensor& positions, const PatternValues& values) {
  const std::int64_t pixels = patterns.size(1) * patterns.size(2);
  const at::Tensor numbers =
      some_of(patterns.size(0), std::max<std::int64_t>(1, most_pixels(patterns) / pixels));
  const at::Tensor part = parts_of(numbers, patterns.size(0), positions);
  std::vector<DiskImage> parts;
  for (std::int64_t p = 0; p < kPartsASide * kPartsASide; ++p) {
    const at::Tensor own = numbers.index_select(0, part.eq(p).nonzero().flatten());
    if (own.size(0) > 0) parts.push_back(sum_over(patterns, own, mask, values));
  }
  return parts;
}

}  // namespace ptyche
