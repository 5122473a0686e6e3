#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/data/describe.h"
#include "ptyche/io/file_array.h"
#include "ptyche/io/prepare.h"

namespace ptyche {
namespace {

/// A scan wider than this is in another unit: no object of that size could be held.
constexpr double kWidestScan_px = 1e5;

void apply_geometry_options(Geometry& geometry, const ReadOptions& options, std::int64_t size) {
  const bool changed = options.energy_ev > 0 || options.distance_m > 0 ||
                       options.detector_pixel_m > 0 || options.source_distance_m > 0 ||
                       (options.near_field && !geometry.near_field);
  if (options.energy_ev > 0) geometry.energy_ev = options.energy_ev;
  if (options.distance_m > 0) geometry.distance_m = options.distance_m;
  if (options.detector_pixel_m > 0) geometry.detector_pixel_m = options.detector_pixel_m;
  if (options.source_distance_m > 0) geometry.source_distance_m = options.source_distance_m;
  geometry.near_field = geometry.near_field || options.near_field;
  require(geometry.near_field || options.source_distance_m == 0,
          "--source-distance: it goes with --near-field; in the far field it changes nothing");
  const double computed = object_pixel_m(geometry, size);
  if (computed > 0 && (changed || geometry.object_pixel_m <= 0)) geometry.object_pixel_m = computed;
}

/// The column's (1) or row's (0) positions mirrored about the middle of their range.
void mirror(at::Tensor& positions, std::int64_t axis) {
  const at::Tensor values = positions.select(1, axis);
  values.copy_(values.min() + values.max() - values);
}

/// The object's image must fit this machine's memory.
void require_canvas_fits(const RawScan& raw, const at::Tensor& extent) {
  const auto pixels = [&](int axis) {
    return static_cast<std::int64_t>(extent[axis].item<double>()) + raw.patterns.size(1 + axis);
  };
  with_context(raw.positions_name + ": are the positions in another unit? The object's image", [&] {
    return checked_bytes({pixels(0), pixels(1)}, kCanvasBytesPerPixel);
  });
}

void require_sensible_extent(const RawScan& raw) {
  const at::Tensor extent = raw.positions.amax(0) - raw.positions.amin(0);
  const double widest = extent.max().item<double>();
  require(
      widest <= kWidestScan_px,
      "{}: expected a scan of at most {} object pixels, found {:.6g}: are the positions in another "
      "unit?",
      raw.positions_name, kWidestScan_px, widest);
  require_canvas_fits(raw, extent);
  if (raw.frames() > 1 && widest > 0 && widest < 1) {
    warn("{}: the whole scan spans {:.3g} object pixels: are the positions in another unit?",
         raw.positions_name, widest);
  }
}

}  // namespace

void settle_positions(RawScan& raw, const ReadOptions& options) {
  require(at::isfinite(raw.positions).all().item<bool>(),
          "{}: expected finite positions, found {} that are not", raw.positions_name,
          at::isfinite(raw.positions).logical_not().sum().item<std::int64_t>());
  const double pixel = raw.geometry.object_pixel_m;
  apply_geometry_options(raw.geometry, options, raw.patterns.size(1));
  if (raw.positions_in_metres && pixel > 0 &&
      std::abs(raw.geometry.object_pixel_m / pixel - 1) > 1e-9)
    raw.forget_truth("the options changed the object pixel");
  if (raw.positions_in_metres) {
    require(
        raw.geometry.has_object_pixel(),
        "{}: positions are in metres, expected a known object pixel, found none: give --energy, "
        "--distance and --detector-pixel",
        raw.positions_name);
    raw.positions = raw.positions / raw.geometry.object_pixel_m;
    raw.positions_in_metres = false;
  }
  raw.positions = options.swap_xy ? raw.positions.flip(1) : raw.positions.clone();
  if (options.flip_y) mirror(raw.positions, 0);
  if (options.flip_x) mirror(raw.positions, 1);
  require_sensible_extent(raw);
  if (options.swap_xy || options.flip_x || options.flip_y)
    raw.forget_truth("it has the orientation of the file's positions");
}

}  // namespace ptyche
