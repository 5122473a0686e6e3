// CXI files of all dialects: CXIDB and CDTools, PyNX, NXcxi_ptycho, ptychodus, DiamondNexus' and
// our own. What differs between them is said where it is read.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/detector_frame.h"
#include "ptyche/io/raster.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/units.h"
#include "ptyche/storage/arrays.h"

namespace ptyche {
namespace {

using Paths = std::vector<std::string>;

const std::string kDetector = "entry_1/instrument_1/detector_1/";
const Paths kFrames = {"entry_1/data_1/data", kDetector + "data", "entry_1/data/data"};
/// Columns x and y where there is no translation: NXdata's axes, NXtransformations.
const std::vector<std::pair<std::string, std::string>> kAxes = {
    {"entry_1/data/x", "entry_1/data/y"},
    {"entry_1/data_1/x", "entry_1/data_1/y"},
    {"entry_1/sample_1/transformations/x", "entry_1/sample_1/transformations/y"},
    {"entry_1/sample_1/transformations/translation_x",
     "entry_1/sample_1/transformations/translation_y"}};
const Paths kDarks = {kDetector + "data_dark", kDetector + "dark", kDetector + "darkfield",
                      kDetector + "dark_current"};
const Paths kFlats = {kDetector + "flatfield", kDetector + "qe_mask"};
const Paths kMonitors = {"entry_1/data_1/monitor", "entry_1/instrument_1/monitor/data",
                         "entry_1/monitor/data",   "entry_1/monitor_1/data",
                         "entry_1/control_1/data", "entry_1/control/data"};
const Paths kExposures = {cxi::kExposure, kDetector + "exposure_time"};
const Paths kWavelengths = {
    "entry_1/instrument_1/beam_1/incident_wavelength", "entry_1/instrument_1/beam_1/wavelength",
    "entry_1/instrument_1/source_1/wavelength", "entry_1/sample_1/beam_1/incident_wavelength"};
const Paths kEnergies = {cxi::kBeamEnergy,
                         "entry_1/instrument_1/beam_1/incident_energy",
                         "entry_1/sample_1/beam_1/incident_energy",
                         "entry_1/instrument_1/monochromator_1/energy",
                         "entry_1/instrument_1/monochromator/energy",
                         cxi::kSourceEnergy};

std::optional<std::string> first_there(const ArrayFile& file, const Paths& paths) {
  for (const std::string& path : paths)
    if (file.has(path)) return path;
  return std::nullopt;
}

std::string required_path(const ArrayFile& file, const Paths& paths) {
  const auto found = first_there(file, paths);
  require(found.has_value(), "{}: expected a dataset named {}, found {}", paths.front(),
          list_of(paths), list_of(file.names()));
  return *found;
}

/// (n, rows, cols); a raster's (rows of the scan, columns of the scan, rows, cols) is made flat.
at::Tensor flat_patterns(const at::Tensor& data, const std::string& name) {
  require((data.dim() == 3 || data.dim() == 4) && !data.is_complex(),
          "{}: expected (n, rows, cols) real numbers, found {}", name, describe(data));
  return data.dim() == 3 ? data : data.flatten(0, 1);
}

double first_number(const ArrayFile& file, const std::string& path) {
  const at::Tensor value = file.read(path).values;
  require(value.numel() >= 1 && !value.is_complex(), "{}: expected a number, found {}", path,
          describe(value));
  return value.reshape(-1)[0].to(at::kDouble).item<double>();
}

/// The unit of a dataset in the measure's own; 1 where the file does not say.
double unit_of(const ArrayFile& file, const std::string& path, Measure measure) {
  return with_context(path + " attribute units",
                      [&] { return in_own_unit(file.unit(path), measure); });
}

/// A number in the measure's own unit; nothing where it is not there.
std::optional<double> quantity(const ArrayFile& file, const Paths& paths, Measure measure) {
  const auto path = first_there(file, paths);
  if (!path) return std::nullopt;
  return first_number(file, *path) * unit_of(file, *path, measure);
}

/// (n, 2) row, col: -translation on the detector's default basis (-y, -x).
at::Tensor translations(const ArrayFile& file, const std::string& path, std::int64_t frames,
                        double unit) {
  return vectors_of(file.read(path).values, frames, path).narrow(1, 0, 2).flip(1) * unit;
}

void read_axes(const ArrayFile& file, RawScan& raw) {
  for (const auto& [x, y] : kAxes) {
    if (!file.has(x) || !file.has(y)) continue;
    raw.positions_name = x + ", " + y;
    raw.positions = positions_of(file.read(y).values * unit_of(file, y, Measure::length),
                                 file.read(x).values * unit_of(file, x, Measure::length),
                                 raw.frames(), raw.positions_name);
    raw.positions_in_metres = true;
    return;
  }
  raw.positions_name = "translation";
}

void read_places(const ArrayFile& file, RawScan& raw) {
  const auto path = first_there(file, cxi::kTranslations);
  if (!path) return read_axes(file, raw);
  raw.positions_name = *path;
  raw.positions_in_metres = file.unit(*path) != cxi::kObjectPixel;
  const double unit = raw.positions_in_metres ? unit_of(file, *path, Measure::length) : 1;
  raw.positions = translations(file, *path, raw.frames(), unit);
}

/// Below this an energy without a unit is in keV: light of that wavelength is no one's probe.
constexpr double kLeastInEv = 30;
// Above these lengths without a unit are in millimetres, the second kind also in micrometres.
constexpr double kFarthestDetector_m = 30, kLargestPixel_m = 0.01, kLargestPixel_mm = 1;

/// Joules and electronvolts of X-rays and electrons are told apart by their size where no unit
/// stands; a machine's energy (NXsource, 3 GeV) is none of a photon.
std::optional<double> plausible_ev(const ArrayFile& file, const std::string& path) {
  const double value = first_number(file, path);
  const std::string unit = file.unit(path);
  double ev = !unit.empty()   ? value * unit_of(file, path, Measure::energy)
              : value < 1e-11 ? value / cxi::kJoulesPerEv
                              : value;
  if (unit.empty() && ev > kLeastInEv / 1e3 && ev < kLeastInEv) {
    ev *= 1e3;
    note("{}: {:g} without a unit is taken for {:g} eV", path, value, ev);
  }
  if (ev >= 10 && ev < 1e6) return ev;
  return std::nullopt;
}

/// A length in metres. Without a unit in the file, and from some value on, it is in another one:
/// `units` are pairs of that value and the unit in metres, the last that fits counts.
double length_of(const ArrayFile& file, const Paths& paths, double otherwise,
                 const std::vector<std::pair<double, double>>& units) {
  const auto path = first_there(file, paths);
  if (!path) return otherwise;
  const double value = std::abs(first_number(file, *path)) * unit_of(file, *path, Measure::length);
  double unit = 1;
  for (const auto& [from, of] : units)
    if (file.unit(*path).empty() && value >= from) unit = of;
  if (unit != 1) note("{}: {:g} without a unit is taken for {:g} m", *path, value, value * unit);
  return value * unit;
}

/// The photons' energy stands before the wavelength, and both before the source's energy, which is
/// the machine's in NeXus.
double photon_energy_of(const ArrayFile& file) {
  for (const std::string& path : kEnergies) {
    if (path == cxi::kSourceEnergy)
      if (const auto wavelength = quantity(file, kWavelengths, Measure::wavelength))
        return photon_energy_ev(*wavelength);
    if (!file.has(path)) continue;
    if (const auto ev = plausible_ev(file, path)) return *ev;
    warn("{}: expected a photon energy in joules or eV, found {}; not used", path,
         first_number(file, path));
  }
  return 0;
}

/// All that the first dataset of energies or wavelengths holds, in eV.
at::Tensor energies_of(const ArrayFile& file) {
  for (const std::string& path : kEnergies) {
    if (path == cxi::kSourceEnergy)
      if (const auto waves = first_there(file, kWavelengths))
        return photon_energy_ev(unit_of(file, *waves, Measure::wavelength)) /
               file.read(*waves).values.to(at::kDouble);
    if (!file.has(path)) continue;
    const at::Tensor energies = file.read(path).values;
    const auto first = plausible_ev(file, path);
    if (first && energies.numel() > 0)
      return energies.to(at::kDouble) * (*first / first_number(file, path));
  }
  return {};
}

void read_our_geometry(const Hdf5File& file, Geometry& geometry) {
  geometry.object_pixel_m = file.number(cxi::kOurs, "object_pixel_m").value_or(0);
  geometry.near_field = file.number(cxi::kOurs, "near_field").value_or(0) != 0;
  geometry.source_distance_m = file.number(cxi::kOurs, "source_distance_m").value_or(0);
  geometry.semi_angle_rad = file.number(cxi::kOurs, "semi_angle_rad").value_or(0);
  geometry.energy_ev = file.number(cxi::kOurs, "energy_ev").value_or(geometry.energy_ev);
}

Geometry cxi_geometry(const ArrayFile& file) {
  Geometry geometry;
  geometry.energy_ev = photon_energy_of(file);
  geometry.distance_m = length_of(file, {cxi::kDistance}, 0, {{kFarthestDetector_m, 1e-3}});
  const std::vector<std::pair<double, double>> units{{kLargestPixel_m, 1e-3},
                                                     {kLargestPixel_mm, 1e-6}};
  const double pixel = length_of(file, {cxi::kPixelX, kDetector + "pixel_size"}, 0, units);
  const double pixel_y = length_of(file, {cxi::kPixelY}, pixel, units);
  require(std::abs(pixel_y - pixel) <= 1e-6 * pixel,
          "{}: expected square detector pixels like x_pixel_size {}, found {}", cxi::kPixelY, pixel,
          pixel_y);
  geometry.detector_pixel_m = pixel;
  geometry.exposure_s = quantity(file, kExposures, Measure::time).value_or(0);
  geometry.semi_angle_rad = quantity(file, {cxi::kSemiAngle}, Measure::angle).value_or(0);
  return geometry;
}

at::Tensor cxi_mask(const ArrayFile& file) {
  constexpr std::int64_t kHasSignal = 0x1000;  // CXI_PIXEL_HAS_SIGNAL is no fault
  const auto path = first_there(file, {cxi::kMask, kDetector + "pixel_mask"});
  if (!path) return {};
  at::Tensor mask = file.read(*path).values;
  require(mask.dim() >= 2 && !mask.is_complex() && !mask.is_floating_point(),
          "{}: expected (rows, cols) integers, 0 = good, found {}", *path, describe(mask));
  if (mask.scalar_type() != at::kBool) mask = mask.to(at::kLong).bitwise_and(~kHasSignal);
  const at::Tensor good = mask.eq(0);
  return good.dim() == 2 ? good : good.flatten(0, -3).all(0);
}

/// Steps of a row and of a column, (2, 3), or (3, 2) as CDTools and others have it.
void read_basis(const ArrayFile& file, RawScan& raw) {
  const std::string path = kDetector + "basis_vectors";
  if (!file.has(path)) return;
  at::Tensor basis = file.read(path).values.to(at::kDouble);
  while (basis.dim() > 2) basis = basis[0];  // one for each module or pattern
  if (basis.dim() == 2 && basis.size(0) == 3 && basis.size(1) == 2) basis = basis.transpose(0, 1);
  require(basis.dim() == 2 && basis.size(0) == 2 && basis.size(1) >= 2,
          "{}: expected (2, 3), a row's and a column's step, found {}", path, describe(basis));
  raw.turn = turn_of_basis(basis, path);
  if (!raw.turn.nothing()) note("patterns are turned as {} says (--orientation adds to it)", path);
}

/// The first pixel's corner in the laboratory (x, y, z), seen from the zero frequency: where that
/// is, in pixels. Writers that do not know it put the detector's middle there.
void read_centre(const ArrayFile& file, RawScan& raw) {
  const std::string corner = kDetector + "corner_position";
  const double pixel = raw.geometry.detector_pixel_m;
  if (file.has(kDetector + "beam_center_x") && file.has(kDetector + "beam_center_y")) {
    raw.centre_col = first_number(file, kDetector + "beam_center_x");
    raw.centre_row = first_number(file, kDetector + "beam_center_y");
  } else if (file.has(corner) && pixel > 0) {
    const at::Tensor xyz = file.read(corner).values.to(at::kDouble).reshape(-1) *
                           unit_of(file, corner, Measure::length);
    require(xyz.size(0) >= 2, "{}: expected 3 numbers, found {}", corner, xyz.size(0));
    const double x = std::abs(xyz[0].item<double>()) / pixel;
    const double y = std::abs(xyz[1].item<double>()) / pixel;
    raw.centre_row = raw.turn.transpose ? x : y;
    raw.centre_col = raw.turn.transpose ? y : x;
  }
}

void read_detector(const ArrayFile& file, RawScan& raw) {
  raw.mask = cxi_mask(file);
  if (const auto path = first_there(file, kDarks)) raw.dark = file.read(*path).values;
  if (const auto path = first_there(file, kFlats)) raw.flat = file.read(*path).values;
  if (const auto path = first_there(file, kMonitors)) raw.monitor = file.read(*path).values;
  read_basis(file, raw);
  read_centre(file, raw);
}

void read_truth_of(const ArrayFile& file, RawScan& raw) {
  if (file.has(cxi::kTruth)) raw.truth = file.read(cxi::kTruth).values.to(at::kComplexFloat);
  if (!file.has(cxi::kTruePositions)) return;
  const at::Tensor positions = file.read(cxi::kTruePositions).values;
  require(!positions.is_complex(), "{}: expected (n, 2) real numbers, found {}",
          cxi::kTruePositions, describe(positions));
  raw.true_positions = positions.to(at::kDouble);
}

void read_probe_of(const ArrayFile& file, RawScan& raw) {
  const auto path = first_there(file, cxi::kIlluminations);
  if (!path) return;
  raw.probe_name = *path;
  raw.probe = as_probe(file.read(*path).values, *path);
  raw.probe_calibrated = file.unit(*path) == cxi::kRootPhoton;
}

/// ptychodus 1.7 splits a scan: patterns in diffraction.cxi, all else in product.cxi.
void read_product_beside(const std::filesystem::path& path, RawScan& raw) {
  const std::filesystem::path product = path.parent_path() / "product.cxi";
  if (raw.positions.defined() || !std::filesystem::exists(product) || product == path) return;
  const auto file = open_hdf5_arrays(product);
  raw.files.push_back(product);
  read_places(*file, raw);
  const Geometry there = cxi_geometry(*file);
  Geometry& geometry = raw.geometry;
  if (geometry.energy_ev <= 0) geometry.energy_ev = there.energy_ev;
  if (geometry.distance_m <= 0) geometry.distance_m = there.distance_m;
  if (geometry.detector_pixel_m <= 0) geometry.detector_pixel_m = there.detector_pixel_m;
  const std::string probe = "entry_1/image_1/data";
  if (!raw.probe.defined() && file->has(probe)) {
    at::Tensor modes = file->read(probe).values;
    while (modes.dim() > 3) modes = modes[0];
    raw.probe = as_probe(modes, probe);
    raw.probe_name = probe;
  }
}

RawScan read_cxi_scan(const std::filesystem::path& path) {
  const auto file = open_hdf5_arrays(path);
  RawScan raw;
  raw.patterns_name = required_path(*file, kFrames);
  raw.take(file->frames(raw.patterns_name), [&] {
    FileArray patterns = file->read(raw.patterns_name);
    patterns.values = flat_patterns(patterns.values, raw.patterns_name);
    return patterns;
  });
  // Our own files hold the narrowest type that fits: its largest value says nothing.
  if (file->has(cxi::kOurs)) raw.ceiling = 0;
  raw.domain = Domain::counts;
  raw.domain_reason = "CXI files hold counts";
  raw.geometry = cxi_geometry(*file);
  raw.energy_as_written =
      !file->has(cxi::kOurs) && first_there(*file, kEnergies) && !first_there(*file, kWavelengths);
  if (file->has(cxi::kOurs))
    read_our_geometry(Hdf5File::open(path, SealCheck::later), raw.geometry);
  raw.split_by_energy(energies_of(*file));
  read_places(*file, raw);
  read_detector(*file, raw);
  read_probe_of(*file, raw);
  read_truth_of(*file, raw);
  read_product_beside(path, raw);
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

}  // namespace ptyche
