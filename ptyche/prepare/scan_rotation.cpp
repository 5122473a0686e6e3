#include "ptyche/prepare/scan_rotation.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSmallestRaster = 4;
constexpr double kSameRow = 1e-6;  // of a step
constexpr std::int64_t kFramesAtOnce = 64;

struct RasterShape {
  std::int64_t rows = 0, cols = 0;
};

/// Rows and columns of positions (n, 2) that lie row by row on an unturned raster.
std::optional<RasterShape> raster_of(const at::Tensor& positions) {
  const std::int64_t n = positions.size(0);
  const at::Tensor row = positions.select(1, 0);
  const at::Tensor same = (row - row[0]).abs().le(kSameRow * (1 + row.abs().max()));
  const auto cols = same.sum().item<std::int64_t>();
  if (cols < kSmallestRaster || n % cols != 0 || n / cols < kSmallestRaster) return std::nullopt;
  return RasterShape{n / cols, cols};
}

/// Centres of mass (n, 2) float64, row and column, without the masked pixels.
at::Tensor centres_of_mass(const Scan& scan) {
  const at::Tensor mask = scan.mask().to(at::kDouble);
  const at::Tensor axis = at::arange(scan.pattern_size(), at::kDouble);
  std::vector<at::Tensor> all;
  for (const at::Tensor& batch : at::arange(scan.frames(), at::kLong).split(kFramesAtOnce)) {
    const at::Tensor counts = scan.counts().index_select(0, batch).to(at::kDouble) * mask;
    const at::Tensor total = counts.sum({1, 2}).clamp_min(1);
    all.push_back(
        at::stack({counts.sum(2).matmul(axis) / total, counts.sum(1).matmul(axis) / total}, 1));
  }
  return at::cat(all);
}

/// Differences of a field (rows, cols) from its next neighbours, in the middle of the raster.
at::Tensor along_rows(const at::Tensor& field) {
  return (field.slice(0, 2) - field.slice(0, 0, -2)).slice(1, 1, -1);
}
at::Tensor along_cols(const at::Tensor& field) {
  return (field.slice(1, 2) - field.slice(1, 0, -2)).slice(0, 1, -1);
}

double sum_of(const at::Tensor& values) { return values.sum().item<double>(); }

/// The turn that leaves the field (x, y) the least curl: with C and D its curl and divergence as it
/// is, a turn by a has the curl C cos a - D sin a.
ScanRotation least_curl(const at::Tensor& x, const at::Tensor& y, bool transposed) {
  const at::Tensor curl = along_cols(y) - along_rows(x);
  const at::Tensor divergence = along_cols(x) + along_rows(y);
  const double half = (sum_of(curl.square()) - sum_of(divergence.square())) / 2;
  const double mean = (sum_of(curl.square()) + sum_of(divergence.square())) / 2;
  const double mixed = sum_of(curl * divergence), swing = std::hypot(half, mixed);
  double angle = std::atan2(mixed, -half) / 2;
  const at::Tensor sources = divergence * std::cos(angle) + curl * std::sin(angle);
  const at::Tensor centred = sources - sources.mean();
  if (sum_of(centred.pow(3)) > 0) angle += std::numbers::pi;  // peaks of the phase are sinks
  const double degrees = std::remainder(angle * 180 / std::numbers::pi, 360);
  return {degrees, transposed, mean > 0 ? (mean - swing) / (mean + swing) : 1};
}

}  // namespace

std::optional<ScanRotation> find_scan_rotation(const Scan& scan) {
  const std::optional<RasterShape> shape = raster_of(scan.positions());
  if (!shape) return std::nullopt;
  const at::Tensor centres = centres_of_mass(scan);
  const at::Tensor moved = (centres - centres.mean(0)).t().reshape({2, shape->rows, shape->cols});
  const ScanRotation straight = least_curl(moved[1], moved[0], false);
  const ScanRotation swapped = least_curl(moved[0], moved[1], true);
  const ScanRotation best = straight.curl_left <= swapped.curl_left ? straight : swapped;
  if (best.curl_left > kMostCurl) return std::nullopt;
  return best;
}

Scan with_raster_turned(const Scan& scan, const ScanRotation& rotation) {
  const at::Tensor middle = scan.positions().mean(0), own = scan.positions() - middle;
  const double angle = rotation.degrees * std::numbers::pi / 180;
  const at::Tensor row = own.select(1, 0), col = own.select(1, 1);
  at::Tensor turned = at::stack({row * std::cos(angle) + col * std::sin(angle),
                                 col * std::cos(angle) - row * std::sin(angle)},
                                1);
  if (rotation.transposed) turned = turned.flip(1);
  return scan.with_positions((turned + middle).contiguous());
}

Scan read_turned_scan(const ReadOptions& options) {
  const Scan scan = read_scan(options);
  if (options.scan_rotation != "auto") return scan;
  const std::optional<ScanRotation> found = find_scan_rotation(scan);
  require(
      found.has_value(),
      "--scan-rotation auto: {}: expected a raster whose patterns are deflected along the slope "
      "of a phase, found none that one turn fits better than others; give it in degrees",
      options.file.string());
  note(
      "the raster is turned by {:.1f} degrees{} ({:.0f} % of the deflections' curl is left); the "
      "opposite turn is the twin image",
      found->degrees, found->transposed ? " against a transposed detector" : "",
      100 * found->curl_left);
  return with_raster_turned(scan, *found);
}

}  // namespace ptyche
