#include <nlohmann/json.hpp>

#include "ptyche/io/product.h"
#include "ptyche/io/result.h"
#include "ptyche/io/write_result.h"
#include "ptyche/io/write_scan.h"
#include "ptyche/storage/file_array.h"
#include "ptyche/storage/hdf5.h"
#include "tests/io/layouts.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

/// Whole counts in metres, a masked pixel.
Scan scan_in_metres() {
  ScanFields fields = small_scan().fields();
  fields.counts = in_smallest_exact_type(fields.counts.round());
  fields.geometry = {.energy_ev = 8800, .distance_m = 1.5, .detector_pixel_m = 75e-6};
  fields.geometry.object_pixel_m = far_field_object_pixel_m(fields.geometry, 16);
  fields.mask = at::ones({16, 16}, at::kBool);
  fields.mask[2][5] = false;
  fields.counts = fields.counts.mul(fields.mask);
  fields.truth = at::Tensor();
  return Scan(fields);
}

TEST(Convert, GivesBackTheScanInEveryLayout) {
  const Scan scan = scan_in_metres();
  for (const std::string& format : scan_formats_written()) {
    SCOPED_TRACE(format);
    const TestFolder folder;
    write_scan_as(format, folder / "out", scan);
    const Scan found = read_layout(folder / "out");
    EXPECT_TRUE(at::equal(found.counts(), scan.counts()));
    EXPECT_TRUE(at::equal(found.mask(), scan.mask()));
    EXPECT_LT((found.positions() - scan.positions()).abs().max().item<double>(), 1e-6);
    if (format == "PtychoPINN") continue;  // object pixels only
    EXPECT_NEAR(found.geometry().energy_ev, 8800, 1e-6);
    EXPECT_NEAR(found.geometry().distance_m, 1.5, 1e-12);
    EXPECT_NEAR(found.geometry().object_pixel_m / scan.geometry().object_pixel_m, 1, 1e-9);
  }
}

TEST(Convert, WritesThePixelOfThePatternsWherePtychodusLooksForIt) {
  const TestFolder folder;
  write_scan_as("ptychodus", folder / "out", scan_in_metres());
  const Hdf5File file = Hdf5File::open(folder / "out" / "diffraction.h5");
  EXPECT_EQ(file.number("patterns", "detector_pixel_width_m").value(), 75e-6);
  EXPECT_EQ(file.number("patterns", "detector_pixel_height_m").value(), 75e-6);
}

TEST(Convert, WritesNoProbeThatNobodyGave) {
  ScanFields fields = scan_in_metres().fields();
  fields.probe_given = false;
  for (const char* format : {"CXI", "NXcxi_ptycho", "PtychoPINN", "ptychodus"}) {
    const TestFolder folder;
    write_scan_as(format, folder / "out", Scan(fields));
    EXPECT_FALSE(read_layout(folder / "out").probe_given()) << format;
  }
}

TEST(Convert, GivesPtychodusAProductWithAllThatItLoads) {
  ScanFields fields = scan_in_metres().fields();
  fields.probe_given = false;
  const Scan scan(fields);
  const TestFolder folder;
  write_scan_as("ptychodus", folder / "out", scan);
  const Reconstruction product = read_reconstruction(folder / "out" / "product.h5");
  EXPECT_TRUE(at::equal(product.object, at::ones_like(product.object)));
  EXPECT_TRUE(at::equal(product.main_probe(), scan.probe()));
  EXPECT_LT((product.positions - scan.positions()).abs().max().item<double>(), 1e-6);
  const Hdf5File file = Hdf5File::open(folder / "out" / "product.h5");
  for (const char* name : {"pixel_width_m", "pixel_height_m", "center_x_m", "center_y_m"})
    EXPECT_TRUE(file.number("object", name)) << name;
}

TEST(Convert, AsksForLengthsWhereTheLayoutWantsMetres) {
  const TestFolder folder;
  EXPECT_TRUE(contains(message_of([&] { write_scan_as("ptyd", folder / "a.ptyd", small_scan()); }),
                       "--energy"));
}

Reconstruction some_result(const Scan& scan) {
  Reconstruction image;
  image.object = at::polar(at::rand({1, 41, 38}) + 0.5f, at::rand({1, 41, 38}) * 2 - 1);
  image.coverage = at::ones({41, 38}, at::kFloat);
  image.probe = scan.probe().unsqueeze(0);
  image.positions = scan.positions();
  image.frame_use = scan.frame_use();
  image.origin_row = 3;
  image.origin_col = -5;
  image.geometry = scan.geometry();
  return image;
}

TEST(Export, GivesBackObjectProbeLengthsAndPlaces) {
  const Scan scan = scan_in_metres();
  const Reconstruction image = some_result(scan);
  for (const char* format : {"ptychodus", "PyNX", "ptyr"}) {
    SCOPED_TRACE(format);
    const TestFolder folder;
    write_result_as(format, folder / "out", image);
    const Reconstruction found = read_start(folder / "out", scan);
    EXPECT_TRUE(at::equal(found.object, image.object));
    EXPECT_TRUE(at::equal(found.probe, image.probe));
    EXPECT_NEAR(found.geometry.energy_ev, 8800, 1e-6);
    EXPECT_NEAR(found.geometry.object_pixel_m / image.geometry.object_pixel_m, 1, 1e-9);
    if (std::string(format) == "PyNX") continue;  // no positions
    EXPECT_EQ(found.origin_row, 3);
    EXPECT_EQ(found.origin_col, -5);
    EXPECT_LT((found.positions - scan.positions()).abs().max().item<double>(), 1e-6);
  }
}

TEST(Export, WritesPicturesWhoseScaleGivesTheObjectBack) {
  const TestFolder folder;
  const Reconstruction image = some_result(scan_in_metres());
  write_result_as("images", folder / "out", image);
  const auto scale = nlohmann::json::parse(read_bytes(folder / "out" / "scale.json"));
  const double low = scale["phase_rad"]["png_0"], high = scale["phase_rad"]["png_65535"];
  const at::Tensor png = read_image(folder / "out" / "phase.png") * (high - low) + low;
  EXPECT_LT((png - at::angle(image.projection())).abs().max().item<double>(), (high - low) / 65535);
  const auto tiff = open_arrays(folder / "out" / "amplitude.tif");
  EXPECT_TRUE(at::equal(tiff->read("frames").values[0], at::abs(image.projection())));
}

TEST(Results, OfPtyRadArePhaseAndAmplitudeInLayers) {
  const TestFolder folder;
  const at::Tensor phase = at::rand({1, 2, 20, 22}) - 0.5f;
  Hdf5File file = Hdf5File::create(folder / "model.hdf5");
  file.write("optimizable_tensors/obja", at::ones_like(phase));
  file.write("optimizable_tensors/objp", phase);
  file.write("optimizable_tensors/probe", at::ones({2, 16, 16}, at::kComplexFloat));
  file.close();
  const Result result = read_result(folder / "model.hdf5");
  EXPECT_EQ(result.format, "PtyRAD");
  const at::Tensor expected = phase[0];
  EXPECT_LT((at::angle(result.image.object) - expected).abs().max().item<float>(), 1e-5f);
  EXPECT_EQ(result.image.modes(), 2);
}

TEST(Results, OfPtyPyMayBeAProbeAlone) {
  const TestFolder folder;
  Hdf5File file = Hdf5File::create(folder / "probe.ptyr");
  file.write("content/probe/Sscan_00G00/data", at::ones({1, 16, 16}, at::kComplexFloat));
  put(file, "content/probe/Sscan_00G00/_energy", 0.71);
  file.close();
  EXPECT_EQ(read_probe_file(folder / "probe.ptyr").size(0), 1);
  EXPECT_NEAR(read_result(folder / "probe.ptyr").image.geometry.energy_ev, 710, 1e-9);
  EXPECT_TRUE(contains(message_of([&] { read_start(folder / "probe.ptyr", small_scan()); }),
                       "probe.ptyr: expected a result with an object"));
}

TEST(Results, OfPtychodusHaveTheEnergyUnderItsNewName) {
  const TestFolder folder;
  const Reconstruction image = some_result(scan_in_metres());
  write_reconstruction(folder / "a.h5", image);
  {
    const Hdf5Id file(H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    ASSERT_GE(H5Adelete(file.get(), "probe_energy_eV"), 0);
  }
  EXPECT_DOUBLE_EQ(read_result(folder / "a.h5").image.geometry.energy_ev, 8800);
}

}  // namespace
}  // namespace ptyche
