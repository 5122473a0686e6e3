#include "ptyche/io/cxi.h"

#include "ptyche/core/files.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {
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
  file.set(cxi::kOurs, "semi_angle_rad", geometry.semi_angle_rad);
}

void write_content(Hdf5File& file, const Scan& scan) {
  file.write("cxi_version", at::scalar_tensor(kCxiVersion, at::kLong));
  file.make_group(cxi::kOurs);
  file.set(cxi::kOurs, "version", version());
  file.set(cxi::kOurs, "commit", commit());
  file.write(cxi::kData.front(), scan.counts(), Hdf5File::Storage::deflated);
  write_positions(file, scan);
  file.write(cxi::kMask, scan.mask().logical_not().to(at::kInt));
  if (scan.probe_given()) {
    file.write(cxi::kIlluminations.front(), scan.probe());
    file.set(cxi::kIlluminations.front(), "units", cxi::kRootPhoton);
  }
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
