#include "ptyche/io/write_scan.h"

#include <algorithm>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/named_writer.h"
#include "ptyche/io/product.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr double kEvPerKev = 1000;

void require_metres(const Scan& scan, const std::string& format) {
  require(
      scan.geometry().has_object_pixel(),
      "{}: expected a scan in metres, found one in object pixels: give --energy, --distance and "
      "--detector-pixel",
      format);
}

void number_with_unit(Hdf5File& file, const std::string& path, double value, const char* unit) {
  if (value <= 0) return;
  file.write(path, at::scalar_tensor(value, at::kDouble));
  file.set(path, "units", std::string(unit));
}

/// NXcxi_ptycho: application definition of NeXus, with an attribute `units` everywhere.
void write_nexus(const fs::path& path, const Scan& scan) {
  require_metres(scan, "NXcxi_ptycho");
  const Geometry& geometry = scan.geometry();
  write_hdf5(path, [&](Hdf5File& file) {
    const std::string detector = "entry_1/instrument_1/detector_1/";
    file.make_group("entry_1");
    file.set("entry_1", "NX_class", std::string("NXentry"));
    file.write_text("entry_1/definition", "NXcxi_ptycho");
    file.write(detector + "data", scan.counts(), Hdf5File::Storage::deflated);
    const at::Tensor xy = scan.positions().flip(1) * geometry.object_pixel_m;
    file.write(detector + "translation",
               at::cat({xy, at::zeros({scan.frames(), 1}, at::kDouble)}, 1));
    file.set(detector + "translation", "units", std::string("m"));
    file.write(detector + "mask", scan.mask().logical_not().to(at::kInt));
    number_with_unit(file, detector + "distance", geometry.distance_m, "m");
    number_with_unit(file, detector + "x_pixel_size", geometry.detector_pixel_m, "m");
    number_with_unit(file, detector + "y_pixel_size", geometry.detector_pixel_m, "m");
    number_with_unit(file, detector + "count_time", geometry.exposure_s, "s");
    number_with_unit(file, "entry_1/instrument_1/beam_1/energy", geometry.energy_ev, "eV");
    number_with_unit(file, cxi::kSemiAngle, geometry.semi_angle_rad, "rad");
    if (!scan.probe_given()) return;
    file.write(detector + "probe", scan.probe());
    file.set(detector + "probe", "units", cxi::kRootPhoton);
  });
}

/// An image of nothing that the scan's positions fit into: ptychodus wants object and probe beside
/// them.
Reconstruction empty_image(const Scan& scan) {
  Reconstruction image;
  const at::Tensor low = scan.positions().amin(0), high = scan.positions().amax(0);
  const auto size = scan.pattern_size();
  const auto first = [&](int axis) {
    return static_cast<std::int64_t>(low[axis].item<double>()) - size / 2 - 1;
  };
  const auto length = [&](int axis) {
    return static_cast<std::int64_t>((high - low)[axis].item<double>()) + size + 3;
  };
  image.object = at::ones({1, length(0), length(1)}, at::kComplexFloat);
  image.coverage = at::zeros({length(0), length(1)}, at::kFloat);
  image.probe = scan.probe().unsqueeze(0);
  image.positions = scan.positions();
  image.frame_use = scan.frame_use();
  image.origin_row = first(0);
  image.origin_col = first(1);
  image.geometry = scan.geometry();
  image.provenance.source = scan.source();
  image.provenance.input_hash = scan.input_hash();
  return image;
}

void write_ptychodus(const fs::path& folder, const Scan& scan) {
  require_metres(scan, "ptychodus");
  require_writable_folder(folder);
  write_hdf5(folder / "diffraction.h5", [&](Hdf5File& file) {
    file.write("patterns", scan.counts(), Hdf5File::Storage::deflated);
    file.write("indexes", at::arange(scan.frames(), at::kLong));
    file.write("bad_pixels", scan.mask().logical_not());
    for (const char* place :
         {"/", "patterns"})  // of the file; of the patterns, where ptychodus 1.7 looks
      for (const char* name : {"detector_pixel_width_m", "detector_pixel_height_m"})
        file.set(place, name, scan.geometry().detector_pixel_m);
    if (scan.geometry().semi_angle_rad > 0)
      file.set("/", "semi_convergence_angle_rad", scan.geometry().semi_angle_rad);
  });
  const Reconstruction empty = empty_image(scan);
  if (scan.probe_given())
    write_reconstruction(folder / "product.h5", empty);
  else
    write_unsolved(folder / "product.h5", empty);
}

void write_ptyd(const fs::path& path, const Scan& scan) {
  require_metres(scan, "ptyd");
  const Geometry& geometry = scan.geometry();
  write_hdf5(path, [&](Hdf5File& file) {
    file.write("chunks/0/data", scan.counts(), Hdf5File::Storage::deflated);
    file.write("chunks/0/indices", at::arange(scan.frames(), at::kLong));
    file.write("chunks/0/positions", scan.positions() * geometry.object_pixel_m);
    file.write("chunks/0/weights", scan.mask().to(at::kFloat));
    const double n = static_cast<double>(scan.pattern_size());
    file.write("meta/energy", at::scalar_tensor(geometry.energy_ev / kEvPerKev, at::kDouble));
    file.write("meta/distance", at::scalar_tensor(geometry.distance_m, at::kDouble));
    file.write("meta/psize", at::full({2}, geometry.detector_pixel_m, at::kDouble));
    file.write("meta/center", at::full({2}, n / 2, at::kDouble));
    file.write("meta/shape", at::full({2}, scan.pattern_size(), at::kLong));
    file.write("meta/num_frames", at::scalar_tensor(scan.frames(), at::kLong));
    number_with_unit(file, "meta/semi_convergence_angle", geometry.semi_angle_rad, "rad");
    file.write_text("meta/propagation", geometry.near_field ? "nearfield" : "farfield");
  });
}

void write_ptychopinn(const fs::path& path, const Scan& scan) {
  const at::Tensor x = scan.positions().select(1, 1), y = scan.positions().select(1, 0);
  std::vector<std::pair<std::string, at::Tensor>> arrays{
      {"diffraction", scan.counts().to(at::kDouble).sqrt().to(at::kFloat)},
      {"xcoords", x},
      {"ycoords", y},
      {"xcoords_start", x},
      {"ycoords_start", y},
      {"objectGuess", scan.truth().defined() ? scan.truth() : empty_image(scan).projection()},
      {"scan_index", at::zeros({scan.frames()}, at::kLong)}};
  if (scan.probe_given())
    arrays.emplace_back("probeGuess", scan.probe().size(0) == 1 ? scan.probe()[0] : scan.probe());
  if (!scan.mask().all().item<bool>()) arrays.emplace_back("mask", scan.mask());
  write_npz(path, arrays);
}

const std::vector<NamedWriter<Scan>>& scan_writers() {
  static const std::vector<NamedWriter<Scan>> all{{"CXI", ".cxi", write_cxi},
                                                  {"NXcxi_ptycho", ".nxs", write_nexus},
                                                  {"ptychodus", "", write_ptychodus},
                                                  {"ptyd", ".ptyd", write_ptyd},
                                                  {"PtychoPINN", ".npz", write_ptychopinn}};
  return all;
}

}  // namespace

const std::vector<std::string>& scan_formats_written() {
  static const std::vector<std::string> names = formats_of(scan_writers());
  return names;
}

std::string scan_format_for(const fs::path& file) { return format_for(scan_writers(), file); }

void write_scan_as(const std::string& format, const fs::path& file, const Scan& scan) {
  write_as(scan_writers(), format, file, scan);
}

}  // namespace ptyche
