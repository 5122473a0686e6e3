#include "ptyche/io/cxi.h"

#include <cmath>
#include <optional>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/io/readers.h"

namespace ptyche {
namespace {

std::optional<std::string> find(const Hdf5File& file, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (file.has(path)) return path;
  }
  return std::nullopt;
}

std::string first_of(const Hdf5File& file, const std::vector<std::string>& paths) {
  const auto found = find(file, paths);
  require(found.has_value(), "{}: expected a dataset named {}, found {}", paths.front(),
          list_of(paths), list_of(file.datasets()));
  return *found;
}

/// (n, rows, cols); a raster's (rows of the scan, columns of the scan, rows, cols) is made flat.
at::Tensor flat_patterns(const at::Tensor& data, const std::string& name) {
  require((data.dim() == 3 || data.dim() == 4) && !data.is_complex(),
          "{}: expected (n, rows, cols) real numbers, found {}", name, describe(data));
  return data.dim() == 3 ? data : data.flatten(0, 1);
}

double metres_per_unit(const std::string& unit, const std::string& name) {
  if (unit == "m") return 1;
  if (unit == "mm") return 1e-3;
  if (unit == "um" || unit == "micron") return 1e-6;
  if (unit == "nm") return 1e-9;
  throw InvalidInput(fmt::format("{} attribute units: expected m, mm, um, nm or {}, found {}", name,
                                 cxi::kObjectPixel, unit));
}

void read_positions(const Hdf5File& file, RawScan& raw) {
  raw.positions_name = first_of(file, cxi::kTranslations);
  const at::Tensor xyz = file.read(raw.positions_name).values;
  require(xyz.dim() == 2 && xyz.size(1) >= 2 && xyz.size(0) == raw.frames() && !xyz.is_complex(),
          "{}: expected ({}, 3), one translation a pattern, found {}", raw.positions_name,
          raw.frames(), describe(xyz));
  const std::string unit = file.text(raw.positions_name, "units").value_or("m");
  raw.positions_in_metres = unit != cxi::kObjectPixel;
  const double scale = raw.positions_in_metres ? metres_per_unit(unit, raw.positions_name) : 1;
  raw.positions = xyz.narrow(1, 0, 2).flip(1).to(at::kDouble).contiguous() * scale;
}

std::optional<double> number(const Hdf5File& file, const std::string& path) {
  if (!file.has(path)) return std::nullopt;
  const at::Tensor value = file.read(path).values;
  require(value.numel() >= 1 && !value.is_complex(), "{}: expected a number, found {}", path,
          describe(value));
  return value.reshape(-1)[0].to(at::kDouble).item<double>();
}

/// NXcxi_ptycho keeps the machine's energy in source_1 and the photons' in beam_1, some writers use
/// eV: joules and electronvolts of X-rays and electrons are told apart by their size.
double photon_energy_ev(const Hdf5File& file) {
  const auto path = find(file, {cxi::kBeamEnergy, cxi::kSourceEnergy});
  if (!path) return 0;
  const double value = number(file, *path).value_or(0);
  if (value > 0 && value < 1e-11) return value / cxi::kJoulesPerEv;
  if (value >= 10 && value < 1e6) return value;
  warn("{}: expected a photon energy in joules or eV, found {}; not used", *path, value);
  return 0;
}

Geometry read_geometry(const Hdf5File& file) {
  Geometry geometry;
  geometry.energy_ev = photon_energy_ev(file);
  geometry.distance_m = std::abs(number(file, cxi::kDistance).value_or(0));
  geometry.detector_pixel_m = number(file, cxi::kPixelX).value_or(0);
  const double pixel_y = number(file, cxi::kPixelY).value_or(geometry.detector_pixel_m);
  require(std::abs(pixel_y - geometry.detector_pixel_m) <= 1e-6 * geometry.detector_pixel_m,
          "{}: expected square detector pixels like x_pixel_size {}, found {}", cxi::kPixelY,
          geometry.detector_pixel_m, pixel_y);
  geometry.exposure_s = number(file, cxi::kExposure).value_or(0);
  if (file.has(cxi::kOurs)) {
    geometry.object_pixel_m = file.number(cxi::kOurs, "object_pixel_m").value_or(0);
    geometry.near_field = file.number(cxi::kOurs, "near_field").value_or(0) != 0;
    geometry.source_distance_m = file.number(cxi::kOurs, "source_distance_m").value_or(0);
    geometry.energy_ev = file.number(cxi::kOurs, "energy_ev").value_or(geometry.energy_ev);
  }
  return geometry;
}

at::Tensor read_mask(const Hdf5File& file) {
  constexpr std::int64_t kHasSignal = 0x1000;  // CXI_PIXEL_HAS_SIGNAL is no fault
  if (!file.has(cxi::kMask)) return {};
  at::Tensor mask = file.read(cxi::kMask).values;
  require(mask.dim() >= 2 && !mask.is_complex() && !mask.is_floating_point(),
          "{}: expected (rows, cols) integers, 0 = good, found {}", cxi::kMask, describe(mask));
  if (mask.scalar_type() != at::kBool) mask = mask.to(at::kLong).bitwise_and(~kHasSignal);
  const at::Tensor good = mask.eq(0);
  return good.dim() == 2 ? good : good.flatten(0, -3).all(0);
}

/// entry_1/data_1/data with its translation (n, 3) in metres, detector_1, source_1.
RawScan read_cxi_scan(const std::filesystem::path& path) {
  const Hdf5File file = Hdf5File::open(path);
  RawScan raw;
  raw.patterns_name = first_of(file, cxi::kData);
  const FileArray patterns = file.read(raw.patterns_name);
  raw.patterns = flat_patterns(patterns.values, raw.patterns_name);
  // Our own files hold the narrowest type that fits: its largest value says nothing.
  raw.ceiling = file.has(cxi::kOurs) ? 0 : patterns.ceiling;
  raw.domain = Domain::counts;
  raw.domain_reason = "CXI files hold counts";
  read_positions(file, raw);
  raw.geometry = read_geometry(file);
  raw.mask = read_mask(file);
  if (const auto probe = find(file, cxi::kIlluminations)) {
    raw.probe_name = *probe;
    raw.probe = as_probe(file.read(*probe).values, *probe);
    raw.probe_calibrated = file.text(*probe, "units") == cxi::kRootPhoton;
  }
  if (file.has(cxi::kTruth)) raw.truth = file.read(cxi::kTruth).values.to(at::kComplexFloat);
  if (file.has(cxi::kTruePositions)) {
    const at::Tensor positions = file.read(cxi::kTruePositions).values;
    require(!positions.is_complex(), "{}: expected (n, 2) real numbers, found {}",
            cxi::kTruePositions, describe(positions));
    raw.true_positions = positions.to(at::kDouble);
  }
  return raw;
}

Reconstruction read_truth(const std::filesystem::path& path) {
  const Hdf5File file = Hdf5File::open(path);
  require(file.has(cxi::kTruth),
          "expected an object: 'object' of a reconstruction or 'ptyche/truth' of a simulated scan, "
          "found neither");
  Reconstruction image = as_object(file.read(cxi::kTruth).values, cxi::kTruth);
  image.geometry.object_pixel_m = file.number(cxi::kOurs, "object_pixel_m").value_or(0);
  image.provenance.source = path.string();
  return image;
}

}  // namespace

Reader cxi_reader() {
  return {.name = "CXI",
          .signature = "HDF5 with a group entry_1",
          .recognises =
              [](const FileSample& sample) { return sample.hdf5 && sample.hdf5->has("entry_1"); },
          .read_scan = read_cxi_scan,
          .read_object = read_truth};
}

namespace {

constexpr std::int64_t kCxiVersion = 160;  // CXI 1.6

void write_number(Hdf5File& file, const std::string& path, double value) {
  file.write(path, at::scalar_tensor(value, at::kDouble));
}

void write_positions(Hdf5File& file, const Scan& scan) {
  const Geometry& geometry = scan.geometry();
  const bool metres = geometry.has_object_pixel();
  const at::Tensor xy = scan.positions().flip(1) * (metres ? geometry.object_pixel_m : 1.0);
  const at::Tensor z = at::zeros({scan.frames(), 1}, at::kDouble);
  for (const std::size_t place : {0, 1}) {
    file.write(cxi::kTranslations[place], at::cat({xy, z}, 1));
    file.set(cxi::kTranslations[place], "units", metres ? std::string("m") : cxi::kObjectPixel);
  }
}

void write_geometry(Hdf5File& file, const Geometry& geometry) {
  if (geometry.energy_ev > 0) {
    write_number(file, cxi::kSourceEnergy, geometry.energy_ev * cxi::kJoulesPerEv);
  }
  if (geometry.distance_m > 0) write_number(file, cxi::kDistance, geometry.distance_m);
  if (geometry.detector_pixel_m > 0) {
    write_number(file, cxi::kPixelX, geometry.detector_pixel_m);
    write_number(file, cxi::kPixelY, geometry.detector_pixel_m);
  }
  if (geometry.exposure_s > 0) write_number(file, cxi::kExposure, geometry.exposure_s);
  file.set(cxi::kOurs, "energy_ev", geometry.energy_ev);
  file.set(cxi::kOurs, "object_pixel_m", geometry.object_pixel_m);
  file.set(cxi::kOurs, "near_field", std::int64_t{geometry.near_field});
  file.set(cxi::kOurs, "source_distance_m", geometry.source_distance_m);
}

void write_content(Hdf5File& file, const Scan& scan) {
  file.write("cxi_version", at::scalar_tensor(kCxiVersion, at::kLong));
  file.make_group(cxi::kOurs);
  file.set(cxi::kOurs, "version", version());
  file.set(cxi::kOurs, "commit", commit());
  file.write(cxi::kData.front(), scan.counts(), Hdf5File::Storage::deflated);
  write_positions(file, scan);
  file.write(cxi::kMask, scan.mask().logical_not().to(at::kInt));
  file.write(cxi::kIlluminations.front(), scan.probe());
  file.set(cxi::kIlluminations.front(), "units", cxi::kRootPhoton);
  write_geometry(file, scan.geometry());
  if (scan.truth().defined()) file.write(cxi::kTruth, scan.truth());
  if (scan.true_positions().defined()) file.write(cxi::kTruePositions, scan.true_positions());
}

}  // namespace

void write_cxi(const std::filesystem::path& path, const Scan& scan) {
  write_atomically(path, [&](const std::filesystem::path& temporary) {
    Hdf5File file = Hdf5File::create(temporary);
    write_content(file, scan);
    file.close();
  });
}

}  // namespace ptyche
