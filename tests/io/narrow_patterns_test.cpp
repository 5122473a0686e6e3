// Numbers that are narrowed while they are read give what they give when they are
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
        const auto found =
            read_narrow(*stack_of(folder / "a.npy", values), all, kAll, {.may_be_roots = true});
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
  const auto found = read_narrow(*stack, numbers, window, {.may_be_roots = true});
  ASSERT_TRUE(found);
  EXPECT_TRUE(
      at::equal(found->counts.to(at::kDouble), cut(counts.index_select(0, numbers), window)));
  EXPECT_EQ(message_of([&] {
              read_narrow(*stack, at::tensor({56, 57, 58, 60}, at::kLong), window,
                          {.may_be_roots = true});
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
    EXPECT_FALSE(
        read_narrow(*stack_of(folder / "a.npy", values), all, kAll, {.may_be_roots = true}))
        << odd;
  }
  EXPECT_FALSE(read_narrow(*stack_of(folder / "a.npy", whole.sqrt()), all, kAll, {}));
}

TEST(NarrowPatterns, APatternFarBrighterThanTheFirstOnesWidensTheType) {
  const TestFolder folder;
  at::Tensor values = brighter_counts(50).to(at::kFloat);
  for (const float bright : {30000.0f, 2e6f}) {
    values[17][3][5] = bright;
    const auto stack = stack_of(folder / "a.npy", values);
    const auto found = read_narrow(*stack, at::arange(60, at::kLong), kAll, {});
    ASSERT_TRUE(found) << bright;
    EXPECT_EQ(found->counts.scalar_type(), bright < 32768 ? at::kShort : at::kInt);
    EXPECT_TRUE(at::equal(found->counts.to(at::kFloat), values));
  }
}

TEST(NarrowPatterns, PackedChunksOfAnyShapeGiveTheSameFrames) {
  const TestFolder folder;
  const at::Tensor counts = brighter_counts(300);
  const at::Tensor numbers = at::tensor({0, 3, 4, 5, 40, 41, 59}, at::kLong);
  const Window window{5, 50, 7, 100};
  for (const std::vector<hsize_t>& chunk :
       {std::vector<hsize_t>{1, 64, 128}, {7, 64, 128}, {7, 9, 50}, {60, 64, 1}})
    for (const bool floats : {false, true}) {
      write_chunked(folder / "a.h5", counts.to(floats ? at::kFloat : at::kShort), chunk, true,
                    floats ? H5T_NATIVE_FLOAT : H5T_NATIVE_UINT16);
      const auto stack = Hdf5File::open(folder / "a.h5").frames("data");
      EXPECT_EQ(stack->read_together(), chunk[0]);
      const auto all = read_narrow(*stack, at::arange(60, at::kLong), kAll, {});
      const auto some = read_narrow(*stack, numbers, window, {});
      ASSERT_TRUE(all && some);
      EXPECT_TRUE(at::equal(all->counts.to(at::kDouble), counts));
      EXPECT_TRUE(
          at::equal(some->counts.to(at::kDouble), cut(counts.index_select(0, numbers), window)));
    }
}

TEST(NarrowPatterns, WhatStandsAtTheCeilingIsLeftToTheReadingAsAWhole) {
  const TestFolder folder;
  at::Tensor values = brighter_counts(300).to(at::kShort);
  for (const auto& [type, ceiling, top] :
       {std::tuple{H5T_NATIVE_UINT16, 65535.0, -1}, {H5T_NATIVE_INT16, 32767.0, 32767}}) {
    for (const bool blind : {false, true}) {
      values[17][3][5] = blind ? top : 7;
      write_chunked(folder / "a.h5", values, {1, 64, 128}, true, type);
      const auto stack = Hdf5File::open(folder / "a.h5").frames("data");
      EXPECT_EQ(stack->shape().ceiling, ceiling);
      EXPECT_EQ(
          read_narrow(*stack, at::arange(60, at::kLong), kAll, {.ceiling = ceiling}).has_value(),
          !blind);
    }
  }
}

/// A scan whose patterns are not packed, on a 4 x 3 grid.
Scan scan_of(const TestFolder& folder, const at::Tensor& values, ReadOptions options) {
  write_chunked(folder / "any.h5", values, {}, false, H5T_NATIVE_FLOAT);
  EXPECT_EQ(Hdf5File::open(folder / "any.h5").frames("data")->read_together(), 1);
  std::string table = "x,y\n";
  for (int i = 0; i < kFrames; ++i) table += fmt::format("{},{}\n", i % 3, 0.5 * (i / 3));
  write_raw(folder / "pos.csv", table);
  options.patterns = "data";
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
