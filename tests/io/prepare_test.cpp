#include <array>
#include <limits>

#include "ptyche/simulate/simulate.h"
#include "tests/io/scan_files.h"
#include "tests/support/shared.h"

namespace ptyche {
namespace {

std::vector<std::int64_t> frames_with(const Scan& scan, FrameUse use) {
  const at::Tensor frames = scan.frames_with(use);
  return {frames.const_data_ptr<std::int64_t>(),
          frames.const_data_ptr<std::int64_t>() + frames.numel()};
}

using Frames = std::vector<std::int64_t>;

TEST(Crop, TheRealStarAt128CroppedTo64IsTheRealStarAt64) {
  if (!shared_folder()) GTEST_SKIP() << "the shared scans are not there (PTYCHE_SHARED)";
  ReadOptions options;
  options.file = *shared_file("data/siemens-star/siemens-star-64-counts.npz");
  const Scan small = read_scan(options);
  options.file = *shared_file("data/siemens-star/siemens-star-counts.npz");
  options.crop = 64;
  const Scan cropped = read_scan(options);
  EXPECT_TRUE(at::equal(cropped.counts(), small.counts()));
  EXPECT_TRUE(at::equal(cropped.mask(), small.mask()));
  EXPECT_LT((cropped.positions() - small.positions()).abs().max().item<double>(), 1e-9);
  const double scale = at::abs(small.probe()).max().item<double>();
  EXPECT_LT(at::abs(cropped.probe() - small.probe()).max().item<double>(), 1e-4 * scale);
}

TEST(Crop, KeepsThePixelsAroundTheNamedCentre) {
  ReadOptions options;
  options.crop = 4;
  options.centre = DetectorCentre{3, 5};
  const Scan scan = read_arrays(small_arrays(), options);
  const at::Tensor expected = small_counts().slice(1, 1, 5).slice(2, 3, 7);
  EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat), expected));
  options.crop = 0;  // the largest even square around it: rows 0..5, columns 2..7
  EXPECT_TRUE(at::equal(read_arrays(small_arrays(), options).counts().to(at::kFloat),
                        small_counts().slice(1, 0, 6).slice(2, 2, 8)));
}

TEST(Crop, ScalesPositionsAndObjectPixelAndDropsTheTruth) {
  Arrays arrays = small_arrays();
  array(arrays, "objectGuess") = at::ones({60, 60}, at::kComplexFloat).cumsum(0);
  ReadOptions options;
  options.energy_ev = 12398.4198433;  // wavelength 1e-10 m
  options.distance_m = 2;
  options.detector_pixel_m = 25e-6;
  const Scan whole = read_arrays(arrays, options);
  options.crop = 4;
  const Scan half = read_arrays(arrays, options);
  EXPECT_TRUE(whole.truth().defined());
  EXPECT_FALSE(half.truth().defined());
  EXPECT_TRUE(at::equal(half.positions() * 2, whole.positions()));
  EXPECT_NEAR(half.geometry().object_pixel_m / whole.geometry().object_pixel_m, 2, 1e-12);
}

TEST(Positions, SwapComesBeforeTheFlipsAboutTheMiddle) {
  Arrays arrays = small_arrays();  // rows 20..24.5, columns 10..15
  ReadOptions options;
  options.flip_x = true;
  const at::Tensor flipped = read_arrays(arrays, options).positions();
  EXPECT_TRUE(at::allclose(flipped.select(1, 1), 25 - array(arrays, "xcoords")));
  EXPECT_TRUE(at::equal(flipped.select(1, 0), array(arrays, "ycoords")));
  options.swap_xy = true;
  const at::Tensor both = read_arrays(arrays, options).positions();
  EXPECT_TRUE(at::allclose(both.select(1, 1), 44.5 - array(arrays, "ycoords")));
  EXPECT_TRUE(at::equal(both.select(1, 0), array(arrays, "xcoords")));
}

TEST(Counts, InvalidValuesInMaskedPixelsAreCleared) {
  Arrays arrays = small_arrays();
  at::Tensor counts = small_counts().clone(), mask = at::ones({kSize, kSize}, at::kBool);
  counts.select(1, 2).select(1, 3).fill_(std::numeric_limits<float>::quiet_NaN());
  counts.select(1, 5).select(1, 4).fill_(-1);
  mask[2][3] = false;
  mask[5][4] = false;
  array(arrays, "diffraction") = counts;
  array(arrays, "mask") = mask;
  const Scan scan = read_arrays(arrays);
  EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat), small_counts() * mask));
}

TEST(Counts, PixelsAtTheTypesLargestValueInEveryPatternAreMasked) {
  Arrays arrays = small_arrays();
  at::Tensor counts = small_counts().to(at::kShort);
  counts.select(1, 0).select(1, 7).fill_(32767);
  array(arrays, "diffraction") = counts;
  const Scan scan = read_arrays(arrays);
  EXPECT_FALSE(scan.mask()[0][7].item<bool>());
  EXPECT_EQ(scan.mask().sum().item<int>(), kSize * kSize - 1);
  EXPECT_EQ(scan.frames_with(FrameUse::used).size(0), kFrames);
}

TEST(ChooseFrames, LeavesOutDarkAndSaturatedPatternsAndSaysWhich) {
  Arrays arrays = small_arrays();
  at::Tensor counts = small_counts().clone();
  counts.select(0, 3).zero_();
  counts.select(0, 7).mul_(0.04).floor_();
  counts.select(0, 9).mul_(25);
  array(arrays, "diffraction") = counts;
  testing::internal::CaptureStderr();
  const Scan scan = read_arrays(arrays);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(frames_with(scan, FrameUse::rejected), (Frames{3, 7, 9}));
  EXPECT_TRUE(contains(said, "3 of 12 patterns are left out; dark: 3, 7; saturated: 9")) << said;
}

TEST(ChooseFrames, SeveralPixelsAtTheTypesLargestValueSaturateAPattern) {
  Arrays arrays = small_arrays();
  at::Tensor counts = small_counts().to(at::kByte);
  counts.select(0, 2).select(0, 0).narrow(0, 0, 4).fill_(255);
  counts.select(0, 5).select(0, 0).narrow(0, 0, 3).fill_(255);  // too few to tell
  array(arrays, "diffraction") = counts;
  EXPECT_EQ(frames_with(read_arrays(arrays), FrameUse::rejected), (Frames{2}));
}

TEST(ChooseFrames, DrawsTheSameHoldOutForTheSameSeedOnly) {
  ReadOptions options;
  options.hold_out = 0.25;
  const Frames first = frames_with(read_arrays(small_arrays(), options), FrameUse::held_out);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(first, frames_with(read_arrays(small_arrays(), options), FrameUse::held_out));
  bool differs = false;
  for (options.seed = 2; options.seed < 6; ++options.seed) {
    differs |= first != frames_with(read_arrays(small_arrays(), options), FrameUse::held_out);
  }
  EXPECT_TRUE(differs);
}

TEST(ChooseFrames, HoldsOutTheListedPatternsUnlessRejected) {
  const TestFolder folder;
  write_raw(folder / "split.json", R"({"rng": "any", "heldout_indices": [0, 5, 11]})");
  Arrays arrays = small_arrays();
  array(arrays, "diffraction") = small_counts().clone();
  array(arrays, "diffraction").select(0, 5).zero_();
  ReadOptions options;
  options.hold_out_file = folder / "split.json";
  const Scan scan = read_arrays(arrays, options);
  EXPECT_EQ(frames_with(scan, FrameUse::held_out), (Frames{0, 11}));
  EXPECT_EQ(frames_with(scan, FrameUse::rejected), (Frames{5}));
}

TEST(ChooseFrames, RefusesAHoldOutFileThatDoesNotFit) {
  const TestFolder folder;
  const std::vector<std::pair<std::string, std::string>> table = {
      {R"({"heldout_indices": [0, 12]})", "0 to 11, found 12"},
      {R"({"heldout_indices": [-1]})", "found -1"},
      {R"({"heldout_indices": [1.5]})", "found 1.5"},
      {R"({"heldout": [1]})", "heldout_indices"},
      {R"({"heldout_indices": [1)", "expected JSON"},
  };
  for (const auto& [json, part] : table) {
    write_raw(folder / "split.json", json);
    ReadOptions options;
    options.hold_out_file = folder / "split.json";
    const std::string message = message_of([&] { read_arrays(small_arrays(), options); });
    EXPECT_TRUE(contains(message, part) && contains(message, "split.json")) << message;
  }
}

TEST(ChooseFrames, HeldOutPatternsDoNotTouchTheCalibration) {
  const TestFolder folder;
  write_raw(folder / "split.json", R"({"heldout_indices": [4]})");
  ReadOptions options;
  options.hold_out_file = folder / "split.json";
  Arrays arrays = small_arrays();
  const Scan before = read_arrays(arrays, options);
  array(arrays, "diffraction") = small_counts().clone();
  array(arrays, "diffraction").select(0, 4).mul_(3);
  EXPECT_TRUE(at::equal(read_arrays(arrays, options).probe(), before.probe()));
}

TEST(ChooseFrames, HeldOutPatternsDoNotTouchTheScaleThatTheNoiseGives) {
  const Scan simulated = simulate({.pattern_size = 32, .frames = 60, .step_px = 4, .photons = 1e4});
  Arrays arrays = small_arrays();
  remove(arrays, "probeGuess");
  array(arrays, "diffraction") = 1e-3 * simulated.counts().to(at::kFloat).sqrt();
  array(arrays, "xcoords") = simulated.positions().select(1, 1).contiguous();
  array(arrays, "ycoords") = simulated.positions().select(1, 0).contiguous();
  ReadOptions options;
  options.hold_out = 0.3;
  const Scan clean = read_arrays(arrays, options);
  const at::Tensor used = clean.frames_with(FrameUse::used);
  const double counted = counts_of(clean, used).to(at::kDouble).sum({1, 2}).mean().item<double>();
  EXPECT_NEAR(
      counted / counts_of(simulated, used).to(at::kDouble).sum({1, 2}).mean().item<double>(), 1,
      0.2);
  const at::Tensor held = clean.frames_with(FrameUse::held_out);
  at::Tensor& values = array(arrays, "diffraction");
  values = values.index_copy(0, held, 1.5 * values.index_select(0, held));
  EXPECT_TRUE(at::equal(counts_of(read_arrays(arrays, options), used), counts_of(clean, used)));
}

TEST(ChooseFrames, TheUpperHalfEndsAtTheMedianRow) {
  ReadOptions options;
  options.unseen_half = "lower";  // rows 20, 21.5, 23, 24.5, three patterns each; median 22.25
  EXPECT_EQ(frames_with(read_arrays(small_arrays(), options), FrameUse::unseen),
            (Frames{6, 7, 8, 9, 10, 11}));
  options.unseen_half = "upper";
  EXPECT_EQ(frames_with(read_arrays(small_arrays(), options), FrameUse::unseen),
            (Frames{0, 1, 2, 3, 4, 5}));
}

TEST(ReadScan, PhotonsSetTheProbesPower) {
  ReadOptions options;
  options.photons = 12345;
  const at::Tensor probe = read_arrays(small_arrays(), options).probe();
  EXPECT_NEAR(at::abs(probe).square().sum(at::kDouble).item<double>() / 12345, 1, 1e-6);
}

TEST(Counts, MaskedPixelsAtTheTypesLargestValueHoldNoCounts) {
  Arrays arrays = small_arrays();
  at::Tensor counts = small_counts().to(at::kInt), mask = at::ones({kSize, kSize}, at::kBool);
  counts.select(1, 0).select(1, 7).fill_(std::numeric_limits<std::int32_t>::max());  // no mask
  counts.select(1, 2).select(1, 3).narrow(0, 0, 5).fill_(std::numeric_limits<std::int32_t>::max());
  mask[2][3] = false;
  array(arrays, "diffraction") = counts;
  array(arrays, "mask") = mask;
  const Scan scan = read_arrays(arrays);
  EXPECT_EQ(scan.counts().scalar_type(), at::kByte);
  EXPECT_EQ(scan.counts().max().item<int>(), 13);
  EXPECT_EQ(scan.counts().select(1, 0).select(1, 7).sum().item<int>(), 0);
}

TEST(Crop, TakesAProbeThatHasTheSizeOfWhatIsKeptAndPositionsInItsPixels) {
  Arrays arrays = small_arrays();
  const at::Tensor probe = at::eye(4).to(at::kComplexFloat);
  array(arrays, "probeGuess") = probe;
  ReadOptions options;
  options.crop = 4;
  const Scan scan = read_arrays(arrays, options);
  EXPECT_EQ(scan.pattern_size(), 4);
  const at::Tensor shape = scan.probe()[0] / scan.probe()[0][0][0];
  EXPECT_TRUE(at::allclose(shape, probe));
  EXPECT_TRUE(at::equal(scan.positions().select(1, 0), array(arrays, "ycoords")));
  EXPECT_TRUE(
      at::equal(scan.counts().to(at::kFloat), small_counts().slice(1, 2, 6).slice(2, 2, 6)));
}

TEST(Crop, KeepsASquareOfADetectorThatIsNone) {
  Arrays arrays = small_arrays();
  const at::Tensor wide = at::arange(kFrames * 6 * 8, at::kFloat).remainder(13).add(1);
  array(arrays, "diffraction") = wide.reshape({kFrames, 6, 8});
  array(arrays, "probeGuess") = at::ones({4, 4}, at::kComplexFloat);
  ReadOptions options;
  options.crop = 4;
  const Scan scan = read_arrays(arrays, options);
  EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat),
                        array(arrays, "diffraction").slice(1, 1, 5).slice(2, 2, 6)));
  array(arrays, "probeGuess") = at::ones({8, 8}, at::kComplexFloat);
  const std::string message = message_of([&] { read_arrays(arrays, options); });
  EXPECT_TRUE(contains(message, "(6, 8)") && contains(message, "or (4, 4)")) << message;
}

TEST(Crop, LeavesTheLastLinesOfAnOddSizeOutWhereTheZeroFrequencyStaysInTheMiddle) {
  Arrays arrays = small_arrays();
  const at::Tensor odd = at::arange(kFrames * 7 * 7, at::kFloat).remainder(13).add(1);
  array(arrays, "diffraction") = odd.reshape({kFrames, 7, 7});
  array(arrays, "probeGuess") = at::ones({7, 7}, at::kComplexFloat);
  const Scan scan = read_arrays(arrays);
  EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat),
                        array(arrays, "diffraction").slice(1, 0, 6).slice(2, 0, 6)));
  ReadOptions same;
  same.crop = 6;
  EXPECT_TRUE(at::equal(scan.positions(), read_arrays(arrays, same).positions()));
}

/// An HDF5 file with patterns of any shape and positions in metres times `unit`.
ReadOptions in_metres(const TestFolder& folder, std::int64_t rows, std::int64_t cols,
                      double unit = 1) {
  Arrays arrays = small_arrays();
  Hdf5File file = Hdf5File::create(folder / "scan.h5");
  file.write("frames", at::arange(kFrames * rows * cols, at::kFloat)
                           .remainder(13)
                           .add(1)
                           .reshape({kFrames, rows, cols}));
  for (const char* name : {"xcoords", "ycoords"})
    file.write(name, array(arrays, name) * 1e-6 * unit);
  file.close();
  ReadOptions options{.file = folder / "scan.h5"};
  options.patterns = "/frames";
  options.positions = "/xcoords,/ycoords";
  options.energy_ev = 12398.4198433;
  options.distance_m = 2;
  options.detector_pixel_m = 25e-6;  // an object pixel of 1 um, of 8
  return options;
}

TEST(Crop, PadsADetectorThatIsNearlySquareAndCutsALongOne) {
  const TestFolder folder;
  for (const auto& [rows, cols, size] :
       {std::array<std::int64_t, 3>{6, 8, 8}, {12, 8, 12}, {6, 16, 6}, {7, 8, 8}, {9, 8, 8}}) {
    const Scan scan = read_scan(in_metres(folder, rows, cols));
    EXPECT_EQ(scan.pattern_size(), size) << rows << " x " << cols;
    EXPECT_EQ(scan.mask().sum().item<std::int64_t>(), std::min(rows, size) * std::min(cols, size));
  }
}

TEST(Positions, InMicrometresThatOptionsOfTheGeometryContradictAreRefusedWithTheUnitNamed) {
  const TestFolder folder;
  ReadOptions options = in_metres(folder, 8, 8, 1e6);
  const std::string message = message_of([&] { read_scan(options); });
  EXPECT_TRUE(contains(message, "--positions X*um,Y*um")) << message;
  options.positions = "/xcoords*um,/ycoords*um";
  const Scan named = read_scan(options);
  const Scan right = read_scan(in_metres(folder, 8, 8));
  EXPECT_LT((named.positions() - right.positions()).abs().max().item<double>(), 1e-9);
}

/// What reading the arrays prints.
std::string said_of(const Arrays& arrays, const ReadOptions& options = {}) {
  testing::internal::CaptureStderr();
  read_arrays(arrays, options);
  return testing::internal::GetCapturedStderr();
}

TEST(ReadScan, WarnsWherePatternsDoNotOverlap) {
  Arrays arrays = small_arrays();
  EXPECT_FALSE(contains(said_of(arrays), "overlap"));
  array(arrays, "xcoords") = array(arrays, "xcoords") * 20;  // 50 px
  array(arrays, "ycoords") = array(arrays, "ycoords") * 20;  // 30 px
  const std::string said = said_of(arrays);
  EXPECT_TRUE(contains(said, "30 object pixels") && contains(said, "pattern's size of 8")) << said;
  EXPECT_TRUE(contains(said, "another unit")) << said;
}

TEST(ReadScan, WarnsWherePatternsOverlapButTheirProbesDoNot) {
  Arrays arrays = small_arrays();
  at::Tensor probe = at::zeros({kSize, kSize}, at::kComplexFloat);
  probe[4][4] = 1;
  array(arrays, "probeGuess") = probe;
  EXPECT_TRUE(contains(said_of(arrays), "probe's diameter"));
}

Arrays two_scans() {
  Arrays arrays = small_arrays();
  array(arrays, "scan_index") = (at::arange(kFrames, at::kLong) >= 6).to(at::kLong) * 4 + 3;
  return arrays;
}

TEST(ChooseScan, RefusesSeveralScansAndNamesThem) {
  const std::string message = message_of([] { read_arrays(two_scans()); });
  EXPECT_TRUE(contains(message, "found 2: 3, 7; --scan-index K")) << message;
  ReadOptions options;
  options.scan_index = 4;
  EXPECT_TRUE(contains(message_of([&] { read_arrays(two_scans(), options); }),
                       "--scan-index: expected one of 3, 7, found 4"));
  EXPECT_TRUE(contains(message_of([&] { read_arrays(small_arrays(), options); }), "--scan-index"));
}

TEST(ChooseScan, TakesTheOneThatIsAskedForAndTellsItFromTheOther) {
  ReadOptions options;
  options.scan_index = 7;
  const Scan scan = read_arrays(two_scans(), options);
  EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat), small_counts().slice(0, 6, 12)));
  Arrays arrays = small_arrays();
  EXPECT_TRUE(at::equal(scan.positions().select(1, 1), array(arrays, "xcoords").slice(0, 6)));
  options.scan_index = 3;
  EXPECT_NE(read_arrays(two_scans(), options).input_hash(), scan.input_hash());
}

TEST(ChooseScan, OneScanNeedsNoChoice) {
  Arrays arrays = small_arrays();
  array(arrays, "scan_index") = at::full({kFrames}, 5, at::kLong);
  EXPECT_EQ(read_arrays(arrays).frames(), kFrames);
}

}  // namespace
}  // namespace ptyche
