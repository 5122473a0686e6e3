#include "ptyche/io/prepare.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/quantity.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/bright_disk.h"
#include "ptyche/io/given_mask.h"
#include "ptyche/io/units.h"

namespace ptyche {
namespace {

/// The file's numbers in words.
std::string numbers_in_words(const at::Tensor& numbers) {
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < numbers.size(0); ++i)
    words.push_back(fmt::format("{}", numbers[i].item<std::int64_t>()));
  return list_of(words);
}

}  // namespace

void choose_scan(RawScan& raw, std::int64_t scan_index) {
  if (!raw.scan_index.defined()) {
    require(scan_index < 0, "--scan-index: expected a file with an array scan_index, found none");
    return;
  }
  const at::Tensor numbers = std::get<0>(at::_unique(raw.scan_index.contiguous()));
  require(scan_index >= 0 || numbers.size(0) == 1,
          "{}: expected one scan, found {}: {}; --scan-index K takes one of them",
          raw.energies.defined() ? "energies" : "scan_index", numbers.size(0),
          numbers_in_words(numbers));
  if (scan_index < 0) return;
  if (raw.energies.defined() && raw.positions.size(0) * numbers.size(0) == raw.frames())
    raw.positions = raw.positions.repeat({numbers.size(0), 1});  // those of each energy
  require(raw.positions.size(0) == raw.frames(),
          "{}: expected {} positions like patterns, found {}", raw.positions_name, raw.frames(),
          raw.positions.size(0));
  const at::Tensor chosen = at::nonzero(raw.scan_index.eq(scan_index)).flatten();
  require(chosen.size(0) > 0, "--scan-index: expected one of {}, found {}",
          numbers_in_words(numbers), scan_index);
  if (chosen.size(0) < raw.frames())
    note("scan {}: {} of the file's {} patterns, counted from 0 among themselves", scan_index,
         chosen.size(0), raw.frames());
  raw.keep(chosen);
  if (!raw.energies.defined()) return;
  raw.geometry.energy_ev = raw.energies[scan_index].item<double>();
  note("scan {}: at {:.6g} eV", scan_index, raw.geometry.energy_ev);
}

// Detector.

namespace {

std::int64_t largest_even_square(double row, double col, std::int64_t rows, std::int64_t cols) {
  const auto r = static_cast<std::int64_t>(row), c = static_cast<std::int64_t>(col);
  return 2 * std::min(std::min(r, rows - r), std::min(c, cols - c));
}

/// A padded detector is at most so many times as wide: more is a slip.
constexpr std::int64_t kMostPadding = 4;

Window square_at(std::int64_t row, std::int64_t col, std::int64_t size) {
  return {row, row + size, col, col + size};
}

/// Of patterns of which nothing says what to keep: all, but for the last line of an odd number; of
/// oblong ones the square around them, unless most of it would be empty.
std::int64_t own_size(std::int64_t rows, std::int64_t cols) {
  const std::int64_t longer = std::max(rows, cols), shorter = std::min(rows, cols);
  const bool nearly_square = 2 * longer <= 3 * shorter;
  const std::int64_t size = nearly_square ? longer : shorter;
  return size - size % 2;
}

/// Where the zero frequency is in raw.patterns: the user says, or the file, or the middle.
DetectorCentre centre_of(const RawScan& raw, const ReadOptions& options) {
  if (options.centre) return *options.centre;
  if (raw.centre_row >= 0) return {raw.centre_row, raw.centre_col};
  return {static_cast<double>(raw.patterns.size(1) / 2),
          static_cast<double>(raw.patterns.size(2) / 2)};
}

bool has_centre(const RawScan& raw, const ReadOptions& options) {
  return options.centre.has_value() || raw.centre_row >= 0;
}

/// May reach beyond the detector.
Window window_of(const RawScan& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2);
  const DetectorCentre centre = centre_of(raw, options);
  const double row = std::round(centre.row), col = std::round(centre.col);
  require(
      row >= 0 && row < static_cast<double>(rows) && col >= 0 && col < static_cast<double>(cols),
      "--center: expected a pixel of the {} x {} detector, found {},{}", rows, cols, centre.row,
      centre.col);
  const std::int64_t size = options.crop > 0           ? options.crop
                            : has_centre(raw, options) ? largest_even_square(row, col, rows, cols)
                                                       : own_size(rows, cols);
  require(options.crop > 0 || size >= 2, "{}: expected patterns of at least 2 x 2 pixels, found {}",
          raw.patterns_name, describe(raw.patterns));
  require(size >= 2 && size <= kMostPadding * std::max(raw.rows(), raw.cols()),
          "--crop: expected 2 to {} pixels of the {} x {} detector, found {}",
          kMostPadding * std::max(raw.rows(), raw.cols()), raw.rows(), raw.cols(), size);
  return square_at(static_cast<std::int64_t>(row) - size / 2,
                   static_cast<std::int64_t>(col) - size / 2, size);
}

/// Zeros, which the mask leaves out, where the window reaches beyond the detector.
void pad_to(RawScan& raw, Window& window) {
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2);
  const std::vector<std::int64_t> border{std::max<std::int64_t>(-window.col_begin, 0),
                                         std::max<std::int64_t>(window.col_end - cols, 0),
                                         std::max<std::int64_t>(-window.row_begin, 0),
                                         std::max<std::int64_t>(window.row_end - rows, 0)};
  if (std::all_of(border.begin(), border.end(), [](std::int64_t width) { return width == 0; }))
    return;
  note("patterns of {} x {} are padded to {} x {} around the zero frequency; the border is masked",
       raw.rows(), raw.cols(), window.rows(), window.cols());
  raw.patterns = at::constant_pad_nd(raw.patterns, border, 0);
  raw.mask = at::constant_pad_nd(raw.mask, border, false);
  window = square_at(window.row_begin + border[2], window.col_begin + border[0], window.rows());
}

void require_probe_fits(const RawScan& raw, std::int64_t kept) {
  if (!raw.probe.defined() || raw.probe.size(1) == kept) return;
  const std::int64_t rows = raw.rows(), cols = raw.cols();
  const std::string crop =
      kept == rows && kept == cols ? "" : fmt::format(" or ({0}, {0}) like what is kept", kept);
  require(raw.probe.size(1) == rows && rows == cols,
          "{}: expected ({}, {}) like the patterns in {}{}, found {}", raw.probe_name, rows, cols,
          raw.patterns_name, crop, describe(raw.probe));
}

/// Whether lengths in pixels are already those of the `kept` x `kept` window: the probe's are.
bool in_pixels_of_the_window(const RawScan& raw, std::int64_t kept) {
  const bool whole = raw.rows() == kept && raw.cols() == kept;
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

namespace {

/// A given mask of what `--crop` keeps, as one of the whole detector.
at::Tensor on_detector(const at::Tensor& mask, const RawScan& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2), kept = options.crop;
  if (kept <= 0 || kept > std::min(rows, cols) || mask.size(0) != kept || mask.size(1) != kept ||
      (rows == kept && cols == kept))
    return mask;
  const Window window = window_of(raw, options);
  if (window.row_begin < 0 || window.col_begin < 0 || window.row_end > rows ||
      window.col_end > cols)
    return mask;
  at::Tensor whole = at::zeros({rows, cols}, mask.options());
  cut(whole, window).copy_(mask);
  note("--mask: read as that of the {} x {} pixels that are kept", window.rows(), window.cols());
  return whole;
}

/// The file's, or the one that is given, as it was written; undefined where there is none.
at::Tensor mask_as_written(const RawScan& raw, const ReadOptions& options) {
  if (options.mask == "none") return {};
  if (options.mask == "file") return raw.mask;
  return with_context("--mask",
                      [&] { return on_detector(read_given_mask(options), raw, options); });
}

void require_shape_of_patterns(const at::Tensor& mask, std::int64_t rows, std::int64_t cols) {
  if (mask.dim() == 2 && mask.size(0) == rows && mask.size(1) == cols) return;
  const bool transposed = mask.dim() == 2 && mask.size(0) == cols && mask.size(1) == rows;
  throw InvalidInput(fmt::format("mask: expected ({}, {}) like the patterns, found {}{}", rows,
                                 cols, describe(mask), transposed ? ": is it transposed?" : ""));
}

}  // namespace

void choose_mask(RawScan& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.patterns.size(1), cols = raw.patterns.size(2);
  at::Tensor mask = mask_as_written(raw, options);
  if (!mask.defined()) mask = at::ones({rows, cols}, at::kBool);
  require_shape_of_patterns(mask, rows, cols);
  const bool given = options.mask != "file" && options.mask != "none";
  const std::string name = given ? "--mask " + options.mask : "the file's mask";
  // One of the file's that is bool means what its format says; the doctor looks at its light.
  const bool asked = given || mask.scalar_type() != at::kBool || options.mask_counts != "auto";
  raw.mask =
      asked ? counted_pixels(mask, light_of_pixels(raw.patterns), options.mask_counts, name) : mask;
  require(raw.mask.any().item<bool>(),
          "mask: expected counted pixels (true), found none{}; --mask none counts all",
          given ? " in " + options.mask : "");
}

void crop_detector(RawScan& raw, const ReadOptions& options) {
  const std::int64_t rows = raw.rows(), cols = raw.cols();
  const bool chosen = options.crop > 0 || has_centre(raw, options);
  const bool whole = !chosen && rows == cols && rows % 2 == 0;
  require(whole || !(raw.geometry.near_field || options.near_field),
          "{}: expected square patterns of an even size, no --crop and no --center for a "
          "near-field scan, whose pixels are the object's, found {}",
          raw.patterns_name, describe(raw.patterns));
  Window window = window_of(raw, options);
  require(window.rows() % 2 == 0, "--crop: expected an even pattern size N, found {}",
          window.rows());
  if (!whole && !chosen)
    note("{}: patterns of {} x {}: {} x {} around their middle are taken (--crop N, --center)",
         raw.patterns_name, rows, cols, window.rows(), window.rows());
  const bool lengths_fit = in_pixels_of_the_window(raw, window.rows());
  if (chosen) require_probe_fits(raw, window.rows());
  require(rows == cols || raw.positions_in_metres || lengths_fit,
          "{}: expected square patterns, positions in metres or a probe of what is kept, found {}",
          raw.patterns_name, describe(raw.patterns));
  if (!chosen) require_probe_fits(raw, window.rows());
  pad_to(raw, window);
  raw.patterns = cut(raw.patterns, window);
  raw.mask = cut(raw.mask, window).contiguous();
  if (raw.probe.defined() && raw.probe.size(1) != window.rows()) {
    raw.probe = probe_for_size(raw.probe, window.rows());
  }
  if (lengths_fit)
    note("{}: read in pixels of {}, which has the size of what is kept", raw.positions_name,
         raw.probe_name);
  else
    rescale_lengths(raw, rows, window.rows());
}

// Positions.

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

namespace {

/// A scan wider than this is in another unit: no object of that size could be held.
constexpr double kWidestScan_px = 1e5;
/// By so much may a pixel's angle differ from what the bright disk says: camera lengths are
/// nominal.
constexpr double kAngleAgrees = 0.05;

BrightDisk measured_disk(const RawScan& raw, const ReadOptions& options) {
  const bool amplitudes = options.domain == "amplitude" ||
                          (options.domain == "auto" && raw.domain == Domain::amplitude);
  const PatternValues values{.roots = amplitudes && raw.narrowed != Narrowed::squares,
                             .ceiling = raw.ceiling};
  return bright_disk_of(disk_parts(raw.patterns, raw.mask, raw.positions, values));
}

/// Angle of a detector pixel by what file and options say of the detector; 0 = they do not.
double pixel_angle_rad(const Geometry& geometry, const ReadOptions& options, std::int64_t size) {
  const double distance = options.distance_m > 0 ? options.distance_m : geometry.distance_m;
  const double pixel =
      options.detector_pixel_m > 0 ? options.detector_pixel_m : geometry.detector_pixel_m;
  if (distance > 0 && pixel > 0) return pixel / distance;
  const double wavelength = wavelength_m(geometry);
  return geometry.has_object_pixel() && wavelength > 0
             ? wavelength / (static_cast<double>(size) * geometry.object_pixel_m)
             : 0;
}

void warn_of_another_angle(const BrightDisk& disk, double angle, const ReadOptions& options) {
  const double radius = disk.edge.circle.radius, by_disk = options.semi_angle_rad / radius;
  if (!disk.doubt.empty() || std::abs(angle / by_disk - 1) <= kAngleAgrees) return;
  const bool said = options.distance_m > 0 || options.detector_pixel_m > 0;
  warn(
      "the bright disk has a radius of {:.1f} px: with --semi-angle {:.3g} mrad {:.3g} mrad per "
      "detector pixel, but {} {:.3g}, which is used: the angle would be {:.3g} mrad; --distance 1m "
      "--detector-pixel {:.4g}mm go with --semi-angle",
      radius, 1e3 * options.semi_angle_rad, 1e3 * by_disk,
      said ? "--distance and --detector-pixel say" : "the file says", 1e3 * angle,
      1e3 * angle * radius, 1e3 * by_disk);
}

void require_certain(const BrightDisk& disk, const ReadOptions& options) {
  const Circle& circle = disk.edge.circle;
  require(
      disk.doubt.empty(),
      "--semi-angle: expected patterns with a bright disk whose radius is certain, found {:.1f} "
      "px around pixel {:.1f},{:.1f}: {}; if it is right, type --distance 1m --detector-pixel "
      "{:.4g}mm, else {:.4g}mm over the radius in pixels",
      circle.radius, circle.row, circle.col, disk.doubt,
      1e3 * options.semi_angle_rad / std::max(circle.radius, 1.0), 1e3 * options.semi_angle_rad);
}

/// What an electron microscope's numbers say: the wavelength, and the angle of a detector pixel as
/// far as the beam's own angle tells it, written as a pixel's size at one metre.
void apply_electrons(RawScan& raw, const ReadOptions& options) {
  Geometry& geometry = raw.geometry;
  if (options.voltage_v > 0)
    geometry.energy_ev = photon_energy_ev(electron_wavelength_m(options.voltage_v));
  if (options.semi_angle_rad <= 0) return;
  const double of_file = geometry.semi_angle_rad;
  if (of_file > 0 && std::abs(options.semi_angle_rad / of_file - 1) > kAngleAgrees)
    warn("--semi-angle {:.3g} mrad is used, the file says {:.3g} mrad",
         1e3 * options.semi_angle_rad, 1e3 * of_file);
  geometry.semi_angle_rad = options.semi_angle_rad;
  if (geometry.near_field || options.near_field) return;  // its patterns hold no disk
  const std::int64_t size = raw.patterns.size(1);
  const double angle = pixel_angle_rad(geometry, options, size);
  if (angle <= 0 && geometry.has_object_pixel()) return;
  const BrightDisk disk = measured_disk(raw, options);
  if (angle > 0) return warn_of_another_angle(disk, angle, options);
  require_certain(disk, options);
  const double radius = disk.edge.circle.radius;
  geometry.distance_m = 1;
  geometry.detector_pixel_m = options.semi_angle_rad / radius;
  geometry.object_pixel_m = object_pixel_m(geometry, size);
  note(
      "the bright disk of {:.3g} mrad has a radius of {:.2f} px around pixel {:.1f},{:.1f}{}: "
      "{:.4g} mrad per detector pixel",
      1e3 * options.semi_angle_rad, radius, disk.edge.circle.row, disk.edge.circle.col,
      disk.moves_px > 0 ? fmt::format(" and moves by up to {:.1f} px", disk.moves_px) : "",
      1e3 * geometry.detector_pixel_m);
}

// X-rays of more are hardly used; electrons of 60 to 300 keV are.
constexpr double kHardestXrays_ev = 5e4;
// Between visible light and the extreme ultraviolet: no source of a file that says so.
constexpr Range kNoLight_ev{4.5, 25};

void require_one_kind_of_beam(const ReadOptions& options) {
  require(options.energy_ev == 0 || options.voltage_v == 0,
          "--energy and --voltage: expected one of them, found both; an energy is a photon's, "
          "--voltage gives the wavelength of electrons");
  if (options.energy_ev > kHardestXrays_ev)
    warn("--energy: photons of {} are taken, as X-rays; of electrons give --voltage {:g}kV",
         size_text(options.energy_ev, "eV"), options.energy_ev / 1e3);
}

/// A number of the file that was written in another unit than its format says.
void require_real_size_in_file(const Sizes& sizes, const std::string& name, double value,
                               const std::string& own, const std::string& option) {
  const std::string hint = option + " gives another one";
  Sizes asked = sizes;
  asked.hint = hint.c_str();
  require_real_size(asked, "the file's " + name, value, own, own);
}

/// Lengths and energies that the file gives and no option corrects: none that no instrument has.
void require_real_geometry(const RawScan& raw, const ReadOptions& options) {
  const Geometry& geometry = raw.geometry;
  if (options.distance_m == 0)
    require_real_size_in_file(kDistances, "detector distance", geometry.distance_m, "m",
                              "--distance");
  if (options.detector_pixel_m == 0)
    require_real_size_in_file(kDetectorPixels, "detector pixel", geometry.detector_pixel_m, "m",
                              "--detector-pixel");
  if (options.energy_ev > 0 || options.voltage_v > 0 || !raw.energy_as_written ||
      geometry.semi_angle_rad > 0)
    return;
  const double energy = geometry.energy_ev;
  require_real_size_in_file(kPhotonEnergies, "photon energy", energy, "eV", "--energy");
  require(!kNoLight_ev.holds(energy),
          "the file's photon energy: {0:g} eV? No light that is used has it: --energy {0:g}keV, or "
          "--energy {0:g}eV",
          energy);
  require(energy <= kHardestXrays_ev,
          "the file's photon energy: {}? Of electrons give --voltage {:g}kV, of light --energy "
          "{:g}keV",
          size_text(energy, "eV"), energy / 1e3, energy / 1e3);
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

double widest_px(const RawScan& raw) {
  return (raw.positions.amax(0) - raw.positions.amin(0)).max().item<double>();
}

/// Of the file's probe, else half the window, px.
double probe_width(const RawScan& raw) {
  const auto size = static_cast<double>(raw.patterns.size(1));
  return raw.probe.defined() ? std::min(probe_diameter_px(raw.probe), size) : size / 2;
}

/// Positions of a scan that no object could hold, in micrometres where metres belong, become those
/// of the one unit that fits. Against options that say how large a pixel is, or in which unit the
/// positions are, nothing is done.
void mend_unit(RawScan& raw, const ReadOptions& options) {
  const bool said = options.energy_ev > 0 || options.distance_m > 0 ||
                    options.detector_pixel_m > 0 ||
                    options.positions.find('*') != std::string::npos;
  const double widest = widest_px(raw);
  if (said || widest <= kWidestScan_px) return;
  const double step = median_step_px(raw.positions);
  const int power = only_power_of_ten(step, probe_width(raw));
  if (power == 0) return;
  say({.kind = Remark::Kind::correction,
       .text = fmt::format(
           "{}: the positions span {:.3g} object pixels: they are in another unit; only a factor "
           "of 1e{} fits, and they are multiplied by it (--energy, --distance and "
           "--detector-pixel say otherwise)",
           raw.positions_name, widest, power),
       .cause = "positions: unit",
       .before = fmt::format("steps of {:.4g} px", step),
       .after = fmt::format("steps of {:.4g} px", step * std::pow(10.0, power))});
  raw.positions = raw.positions * std::pow(10.0, power);
  raw.forget_truth("the positions were in another unit");
}

void require_sensible_extent(const RawScan& raw) {
  const at::Tensor extent = raw.positions.amax(0) - raw.positions.amin(0);
  const double widest = widest_px(raw);
  require(
      widest <= kWidestScan_px,
      "{}: expected a scan of at most {} object pixels, found {:.6g}: are the positions in another "
      "unit ({})?",
      raw.positions_name, kWidestScan_px, widest,
      [&] { return units_to_type(median_step_px(raw.positions), probe_width(raw)); });
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
  require_one_kind_of_beam(options);
  apply_electrons(raw, options);
  const double pixel = raw.geometry.object_pixel_m;
  apply_geometry_options(raw.geometry, options, raw.patterns.size(1));
  if (raw.positions_in_metres && pixel > 0 &&
      std::abs(raw.geometry.object_pixel_m / pixel - 1) > 1e-9)
    raw.forget_truth("the options changed the object pixel");
  if (raw.positions_in_metres) {
    require(
        raw.geometry.has_object_pixel(),
        "{}: positions are in metres, expected a known object pixel, found none: give --energy, "
        "--distance and --detector-pixel, of electrons --voltage and --semi-angle",
        raw.positions_name);
    require_real_geometry(raw, options);
    raw.positions = raw.positions / raw.geometry.object_pixel_m;
    raw.positions_in_metres = false;
  }
  mend_unit(raw, options);
  raw.positions = options.swap_xy ? raw.positions.flip(1) : raw.positions.clone();
  if (options.flip_y) mirror(raw.positions, 0);
  if (options.flip_x) mirror(raw.positions, 1);
  require_sensible_extent(raw);
  if (options.swap_xy || options.flip_x || options.flip_y)
    raw.forget_truth("it has the orientation of the file's positions");
}

}  // namespace ptyche
