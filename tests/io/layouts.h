// One small scan in metres, in the layouts of the field as their writers write them.
#pragma once

#include <cmath>
#include <functional>

#include "ptyche/io/cxi.h"
#include "ptyche/io/units.h"
#include "ptyche/storage/arrays.h"
#include "tests/io/scan_files.h"

namespace ptyche {

/// 12 patterns of 8 x 8 on a 4 x 3 raster whose rows and columns differ; see small_arrays.
struct LayoutScan {
  double energy_ev = 8800, distance_m = 2, detector_pixel_m = 75e-6;
  at::Tensor counts = small_counts();
  at::Tensor x, y;  ///< (12) metres

  LayoutScan() {
    const at::Tensor index = at::arange(kFrames, at::kDouble);
    const at::Tensor row = at::floor(index / 3);
    x = (index - 3 * row) * 0.9e-6;
    y = row * 0.6e-6;
  }
  double object_pixel_m() const {
    return kHcInEvM / energy_ev * distance_m / (kSize * detector_pixel_m);
  }
};

inline void put(Hdf5File& file, const std::string& path, double value,
                const std::string& unit = "") {
  file.write(path, at::scalar_tensor(value, at::kDouble));
  if (!unit.empty()) file.set(path, "units", unit);
}

inline void link_to(const std::filesystem::path& file, const std::string& name,
                    const std::string& target, const std::string& path) {
  const Hdf5Id links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links.get(), 1);
  const Hdf5Id id(H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  ASSERT_GE(H5Lcreate_external(target.c_str(), path.c_str(), id.get(), name.c_str(), links.get(),
                               H5P_DEFAULT),
            0);
}

/// A CXI file without the parts that `keep` turns down.
inline std::filesystem::path write_cxi_layout(
    const std::filesystem::path& path, const LayoutScan& scan,
    const std::function<void(Hdf5File&, const std::string&)>& rest, at::Tensor data = {}) {
  Hdf5File file = Hdf5File::create(path);
  const std::string detector = "entry_1/instrument_1/detector_1/";
  file.write("entry_1/data_1/data", data.defined() ? data : scan.counts);
  rest(file, detector);
  file.close();
  return path;
}

inline void put_lengths(Hdf5File& file, const std::string& detector, const LayoutScan& scan) {
  put(file, detector + "distance", scan.distance_m);
  put(file, detector + "x_pixel_size", scan.detector_pixel_m);
  put(file, detector + "y_pixel_size", scan.detector_pixel_m);
}

inline at::Tensor translation_of(const LayoutScan& scan) {
  return at::stack({scan.x, scan.y, at::zeros_like(scan.x)}, 1);
}

/// The same counts, energy, lengths and places (up to where the origin lies) as LayoutScan has.
inline void expect_layout(const Scan& found, const LayoutScan& scan, double counts_within = 0) {
  ASSERT_EQ(found.frames(), kFrames);
  const at::Tensor off = (found.counts().to(at::kDouble) - scan.counts.to(at::kDouble)).abs();
  EXPECT_LE(off.max().item<double>(), counts_within);
  const double pixel = scan.object_pixel_m();
  EXPECT_NEAR(found.geometry().object_pixel_m / pixel, 1, 1e-7);
  const at::Tensor places = found.positions() - found.positions()[0];
  const at::Tensor expected = at::stack({scan.y, scan.x}, 1) / pixel;
  EXPECT_LT((places - (expected - expected[0])).abs().max().item<double>(), 1e-4);
}

inline void expect_energy(const Scan& found, const LayoutScan& scan) {
  EXPECT_NEAR(found.geometry().energy_ev / scan.energy_ev, 1, 1e-7);
}

inline Scan read_layout(const std::filesystem::path& file, ReadOptions options = {}) {
  options.file = file;
  return read_scan(options);
}

}  // namespace ptyche
