#include "ptyche/io/cxi.h"

#include "ptyche/storage/hdf5.h"
#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

ScanFields some_fields() {
  ScanFields fields;
  fields.counts = in_smallest_exact_type(small_counts() * 100);
  fields.positions = at::stack({at::arange(kFrames, at::kDouble) * 1.37 + 20,
                                at::arange(kFrames, at::kDouble).sin() * 9 + 30},
                               1);
  const at::Tensor wave = at::arange(2.0 * kSize * kSize, at::kFloat).reshape({2, kSize, kSize});
  fields.probe = at::complex(wave.sin() + 2, wave.cos());
  fields.mask = at::ones({kSize, kSize}, at::kBool);
  fields.mask[3][1] = false;
  fields.truth = at::complex(at::ones({60, 50}).cumsum(0), at::ones({60, 50}));
  return fields;
}

Scan written_and_read(const Scan& scan, ReadOptions options = {}) {
  const TestFolder folder;
  options.file = folder / "scan.cxi";
  write_cxi(options.file, scan);
  return read_scan(options);
}

void expect_same(const Scan& found, const Scan& expected) {
  EXPECT_EQ(found.counts().scalar_type(), expected.counts().scalar_type());
  EXPECT_TRUE(at::equal(found.counts(), expected.counts()));
  EXPECT_LT((found.positions() - expected.positions()).abs().max().item<double>(), 1e-9);
  EXPECT_TRUE(at::equal(found.probe(), expected.probe()));
  EXPECT_TRUE(at::equal(found.mask(), expected.mask()));
  EXPECT_TRUE(at::equal(found.truth(), expected.truth()));
  ASSERT_EQ(found.true_positions().defined(), expected.true_positions().defined());
  if (found.true_positions().defined()) {
    EXPECT_TRUE(at::equal(found.true_positions(), expected.true_positions()));
  }
  const Geometry a = found.geometry(), b = expected.geometry();
  EXPECT_DOUBLE_EQ(a.energy_ev, b.energy_ev);
  EXPECT_DOUBLE_EQ(a.distance_m, b.distance_m);
  EXPECT_DOUBLE_EQ(a.detector_pixel_m, b.detector_pixel_m);
  EXPECT_DOUBLE_EQ(a.exposure_s, b.exposure_s);
  EXPECT_DOUBLE_EQ(a.object_pixel_m, b.object_pixel_m);
  EXPECT_EQ(a.near_field, b.near_field);
  EXPECT_DOUBLE_EQ(a.source_distance_m, b.source_distance_m);
}

TEST(Cxi, GivesBackAScanInObjectPixels) {
  const Scan scan(some_fields());
  expect_same(written_and_read(scan), scan);
}

TEST(Cxi, GivesBackAScanInMetresWithItsGeometry) {
  ScanFields fields = some_fields();
  fields.geometry = {8801.5, 1.9, 75e-6, 0.02, 0};
  fields.geometry.object_pixel_m = far_field_object_pixel_m(fields.geometry, kSize);
  const Scan scan(fields);
  expect_same(written_and_read(scan), scan);
}

TEST(Cxi, GivesBackANearFieldScanWithItsTruePositions) {
  ScanFields fields = some_fields();
  fields.geometry = {.energy_ev = 17000,
                     .distance_m = 1.2,
                     .detector_pixel_m = 6.5e-6,
                     .near_field = true,
                     .source_distance_m = 0.1};
  fields.geometry.object_pixel_m = near_field_object_pixel_m(fields.geometry);
  EXPECT_DOUBLE_EQ(fields.geometry.object_pixel_m, 0.5e-6);
  fields.true_positions = fields.positions + 0.25;
  const Scan scan(fields);
  expect_same(written_and_read(scan), scan);
}

TEST(Cxi, FractionalCountsComeBackBitForBit) {
  ScanFields fields = some_fields();
  fields.counts = small_counts() * 1.7f;
  const Scan scan(fields);
  expect_same(written_and_read(scan), scan);
}

TEST(Cxi, GeometryOptionsGiveTheObjectPixel) {
  ReadOptions options;
  options.energy_ev = 12398.4198433;  // wavelength 1e-10 m
  options.distance_m = 2;
  options.detector_pixel_m = 50e-6;
  const Scan scan = written_and_read(Scan(some_fields()), options);
  EXPECT_NEAR(scan.geometry().object_pixel_m, 1e-10 * 2 / (kSize * 50e-6), 1e-16);
}

/// A file as another program writes it: metres, joules, integer mask, no probe.
std::string write_foreign(const TestFolder& folder, double energy, bool nexus = false) {
  Hdf5File file = Hdf5File::create(folder / "foreign.cxi");
  file.write("entry_1/data_1/data", small_counts().to(at::kInt));
  at::Tensor xyz = at::zeros({kFrames, 3}, at::kDouble);
  xyz.select(1, 0).copy_(at::arange(kFrames, at::kDouble) * 2e-6);  // x
  xyz.select(1, 1).fill_(5e-6);                                     // y
  file.write("entry_1/sample_1/geometry_1/translation", xyz);
  file.write("entry_1/instrument_1/detector_1/distance", at::scalar_tensor(2.0, at::kDouble));
  file.write("entry_1/instrument_1/detector_1/x_pixel_size", at::scalar_tensor(25e-6, at::kDouble));
  file.write("entry_1/instrument_1/detector_1/y_pixel_size", at::scalar_tensor(25e-6, at::kDouble));
  file.write(nexus ? cxi::kBeamEnergy : cxi::kSourceEnergy, at::scalar_tensor(energy, at::kDouble));
  if (nexus) file.write(cxi::kSourceEnergy, at::scalar_tensor(3e9, at::kDouble));  // the machine's
  at::Tensor mask = at::zeros({kSize, kSize}, at::kInt);
  mask[0][1] = 1;
  mask[0][2] = 0x1000;  // has signal: no fault
  mask[0][3] = 0x1002;
  file.write("entry_1/instrument_1/detector_1/mask", mask);
  file.close();
  return folder / "foreign.cxi";
}

TEST(Cxi, ReadsForeignFilesWithEnergyInJoulesOrElectronvolts) {
  const TestFolder folder;
  for (const auto& [energy, nexus] : {std::pair{12398.4198433 * 1.602176634e-19, false},
                                      {12398.4198433, false},
                                      {12398.4198433, true}}) {
    ReadOptions options;
    options.file = write_foreign(folder, energy, nexus);
    const Scan scan = read_scan(options);
    const double pixel = 1e-10 * 2 / (kSize * 25e-6);  // 1 um
    EXPECT_NEAR(scan.geometry().object_pixel_m / pixel, 1, 1e-8);
    EXPECT_NEAR(scan.positions()[3][1].item<double>(), 6e-6 / pixel, 1e-6);  // x is the column
    EXPECT_NEAR(scan.positions()[3][0].item<double>(), 5e-6 / pixel, 1e-6);
    EXPECT_EQ(scan.mask().logical_not().sum().item<int>(), 2);
    EXPECT_FALSE(scan.mask()[0][1].item<bool>());
    EXPECT_TRUE(scan.mask()[0][2].item<bool>());
    EXPECT_FALSE(scan.mask()[0][3].item<bool>());
  }
}

/// What the file of write_foreign says of a length, replaced.
void say_length(const std::filesystem::path& path, const std::string& name, double value) {
  const Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  const Hdf5Id data(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  ASSERT_GE(H5Dwrite(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), 0);
}

TEST(Cxi, LengthsAndEnergiesWithoutAUnitThatNoInstrumentHasAreReadInTheUnitThatOneHas) {
  const TestFolder folder;
  const std::string detector = "entry_1/instrument_1/detector_1/";
  for (const auto& [energy, pixel, distance] : {std::array<double, 3>{12.3984198433, 25e-6, 2},
                                                {12398.4198433, 25, 2},
                                                {12398.4198433, 0.025, 2000},
                                                {12.3984198433 * 1.602176634e-19, 25e-6, 2000}}) {
    const std::filesystem::path file = write_foreign(folder, energy, false);
    for (const char* name : {"x_pixel_size", "y_pixel_size"})
      say_length(file, detector + name, pixel);
    say_length(file, detector + "distance", distance);
    testing::internal::CaptureStderr();
    const Scan scan = read_scan({.file = file});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NEAR(scan.geometry().object_pixel_m / (1e-10 * 2 / (kSize * 25e-6)), 1, 1e-8) << said;
    EXPECT_NE(said.find("without a unit is taken for"), std::string::npos) << said;
  }
}

TEST(Cxi, PositionsInMicrometresAreMultipliedByTheOnePowerOfTenThatFits) {
  const TestFolder folder;
  const std::filesystem::path file = write_foreign(folder, 12398.4198433, false);
  const at::Tensor right = read_scan({.file = file}).positions();
  {
    const Hdf5Id opened(H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const Hdf5Id data(
        H5Dopen2(opened.get(), "entry_1/sample_1/geometry_1/translation", H5P_DEFAULT), H5Dclose);
    at::Tensor values = at::zeros({kFrames, 3}, at::kDouble);
    ASSERT_GE(
        H5Dread(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data_ptr()),
        0);
    values *= 1e6;
    ASSERT_GE(
        H5Dwrite(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data_ptr()),
        0);
  }
  testing::internal::CaptureStderr();
  const at::Tensor found = read_scan({.file = file}).positions();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("corrected: positions: unit"), std::string::npos) << said;
  EXPECT_LT((found - right).abs().max().item<double>(), 1e-6) << said;
  ReadOptions options{.file = file};
  options.energy_ev = 12398.4198433;
  EXPECT_NE(message_of([&] { read_scan(options); }).find("another unit"), std::string::npos);
}

TEST(Cxi, MetresWithoutAnObjectPixelAskForTheGeometry) {
  const TestFolder folder;
  ReadOptions options;
  options.file = write_foreign(folder, 3e9);  // not a photon's energy
  const std::string message = message_of([&] { read_scan(options); });
  for (const char* part : {"foreign.cxi", "translation", "--energy", "--distance"}) {
    EXPECT_TRUE(contains(message, part)) << message;
  }
}

TEST(Cxi, ListsWhatIsThereWhenTheDataAreMissing) {
  const TestFolder folder;
  Hdf5File file = Hdf5File::create(folder / "x.cxi");
  file.write("entry_1/other", at::ones({2}));
  file.close();
  ReadOptions options;
  options.file = folder / "x.cxi";
  const std::string message = message_of([&] { read_scan(options); });
  for (const char* part : {"x.cxi", "entry_1/data_1/data", "found entry_1/other"}) {
    EXPECT_TRUE(contains(message, part)) << message;
  }
}

}  // namespace
}  // namespace ptyche
