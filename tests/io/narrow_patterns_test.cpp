// Floating-point numbers that are narrowed while they are read give what they give when they are
// read whole first.
#include "ptyche/io/narrow_patterns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ptyche/io/pattern_values.h"
#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

/// (60, 64, 128) whole numbers, brighter from frame to frame: some pieces of float32.
at::Tensor brighter_counts(std::int64_t brightest) {
  const at::Tensor level = at::arange(1, 61, at::kDouble).view({60, 1, 1}) / 60;
  const at::Tensor pixel = at::arange(64 * 128, at::kDouble).remainder(97).div(96);
  return (level * pixel.view({1, 64, 128}) * static_cast<double>(brightest)).round();
}

std::unique_ptr<FrameStack> stack_of(const std::filesystem::path& file, const at::Tensor& values) {
  const std::string header = npy_header(values);
  std::string bytes = header;
  bytes.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  write_raw(file, bytes);
  return npy_frames(file);
}

const Window kAll{0, 64, 0, 128};

TEST(NarrowPatterns, WholeNumbersAndRootsBecomeTheCountsOfTheNarrowestType) {
  const TestFolder folder;
  const at::Tensor all = at::arange(60, at::kLong);
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const auto& [most, narrowest] :
         {std::pair{200, at::kByte}, std::pair{9000, at::kShort}, std::pair{100000, at::kInt}})
      for (const bool roots : {false, true}) {
        const at::Tensor counts = brighter_counts(most);
        const at::Tensor values = (roots ? counts.sqrt() : counts).to(type);
        const auto found = read_narrow(*stack_of(folder / "a.npy", values), all, kAll, true);
        ASSERT_TRUE(found) << most;
        EXPECT_EQ(found->squared, roots);
        EXPECT_EQ(found->counts.scalar_type(), narrowest);
        EXPECT_TRUE(at::equal(found->counts.to(at::kDouble), counts)) << most << roots;
      }
}

TEST(NarrowPatterns, SomeFramesAndAWindowAreThoseOfTheWhole) {
  const TestFolder folder;
  const at::Tensor counts = brighter_counts(300);
  const auto stack = stack_of(folder / "a.npy", counts.to(at::kFloat));
  const at::Tensor numbers = at::tensor({0, 3, 4, 5, 40, 41, 59}, at::kLong);
  const Window window{5, 50, 7, 100};
  const auto found = read_narrow(*stack, numbers, window, true);
  ASSERT_TRUE(found);
  EXPECT_TRUE(
      at::equal(found->counts.to(at::kDouble), cut(counts.index_select(0, numbers), window)));
  EXPECT_EQ(message_of([&] {
              read_narrow(*stack, at::tensor({58, 60}, at::kLong), window, true);
            }),
            "expected patterns 0 to 59, found 60");
}

TEST(NarrowPatterns, WhatIsNoCountAnywhereIsLeftToTheReadingAsAWhole) {
  const TestFolder folder;
  const at::Tensor all = at::arange(60, at::kLong);
  const at::Tensor whole = brighter_counts(200).to(at::kFloat);
  for (const float odd : {0.25f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), 3e9f}) {
    at::Tensor values = whole.clone();
    values[17][3][5] = odd;
    EXPECT_FALSE(read_narrow(*stack_of(folder / "a.npy", values), all, kAll, true)) << odd;
  }
  EXPECT_FALSE(read_narrow(*stack_of(folder / "a.npy", whole.sqrt()), all, kAll, false));
  EXPECT_FALSE(read_narrow(*stack_of(folder / "a.npy", whole.to(at::kShort)), all, kAll, true));
}

TEST(NarrowPatterns, APatternFarBrighterThanTheFirstOnesIsReadAsWell) {
  const TestFolder folder;
  at::Tensor values = brighter_counts(50).to(at::kFloat);
  values[17][3][5] = 30000;
  const auto stack = stack_of(folder / "a.npy", values);
  EXPECT_FALSE(read_narrow(*stack, at::arange(60, at::kLong), kAll, true));
  EXPECT_TRUE(at::equal(read_frames(*stack, at::arange(60, at::kLong), kAll), values));
}

/// Float32 numbers in one piece, as h5py writes them.
void write_contiguous(const std::filesystem::path& path, const at::Tensor& values) {
  const Hdf5Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const std::vector<hsize_t> lengths(values.sizes().begin(), values.sizes().end());
  const Hdf5Id space(H5Screate_simple(3, lengths.data(), nullptr), H5Sclose);
  const Hdf5Id data(H5Dcreate2(file.get(), "frames", H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT),
                    H5Dclose);
  EXPECT_GE(H5Dwrite(data.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                     values.contiguous().const_data_ptr()),
            0);
}

/// A scan whose patterns are not packed, on a 4 x 3 grid.
Scan scan_of(const TestFolder& folder, const at::Tensor& values, ReadOptions options) {
  write_contiguous(folder / "any.h5", values);
  EXPECT_TRUE(Hdf5File::open(folder / "any.h5").frames("frames")->plain());
  std::string table = "x,y\n";
  for (int i = 0; i < kFrames; ++i) table += fmt::format("{},{}\n", i % 3, 0.5 * (i / 3));
  write_raw(folder / "pos.csv", table);
  options.patterns = "frames";
  const std::string places = (folder / "pos.csv").string();
  options.positions = places + ":x*1e-6," + places + ":y*1e-6";
  options.energy_ev = 8800;
  options.distance_m = 2;
  options.detector_pixel_m = 75e-6;
  options.file = folder / "any.h5";
  options.hold_out = 0.0;
  return read_scan(options);
}

TEST(NarrowPatterns, AScansDomainIsDecidedAsWhenItIsReadWhole) {
  const TestFolder folder;
  const at::Tensor counts = small_counts(), roots = counts.sqrt();
  const auto expect = [&](const at::Tensor& values, const std::string& domain,
                          const at::Tensor& wanted, at::ScalarType type) {
    ReadOptions options;
    options.domain = domain;
    const Scan scan = scan_of(folder, values, options);
    EXPECT_EQ(scan.counts().scalar_type(), type) << domain;
    EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat), wanted)) << domain;
  };
  expect(counts, "auto", counts, at::kByte);
  expect(counts, "counts", counts, at::kByte);
  expect(counts, "amplitude", counts.square(), at::kByte);
  expect(roots, "auto", counts, at::kByte);
  expect(roots, "amplitude", counts, at::kByte);
  expect(roots, "counts", roots, at::kFloat);
}

TEST(NarrowPatterns, AMaskStillHidesWhatIsNoCount) {
  const TestFolder folder;
  at::Tensor values = small_counts();
  values.select(1, 0).fill_(std::numeric_limits<float>::quiet_NaN());
  at::Tensor mask = at::ones({kSize, kSize}, at::kBool);
  mask[0].fill_(false);
  write_npz(folder / "mask.npz", {{"mask", mask}});
  ReadOptions options;
  options.mask = (folder / "mask.npz").string();
  const Scan scan = scan_of(folder, values, options);
  EXPECT_EQ(scan.counts().scalar_type(), at::kByte);
  EXPECT_EQ(scan.counts().select(1, 0).sum().item<int>(), 0);
}

}  // namespace
}  // namespace ptyche
