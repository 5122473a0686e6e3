#include <cmath>

#include "ptyche/io/read_scan.h"
#include "tests/io/scan_files.h"
#include "tests/support/shared.h"

namespace ptyche {
namespace {

ReadOptions with_domain(const std::string& domain) {
  ReadOptions options;
  options.domain = domain;
  return options;
}

at::Tensor as_double(const at::Tensor& tensor) { return tensor.to(at::kDouble); }

TEST(ReadNpz, ReadsWholeNumbersOfAnyTypeAsCounts) {
  for (const at::ScalarType type : {at::kByte, at::kShort, at::kInt, at::kFloat, at::kDouble}) {
    Arrays arrays = small_arrays();
    array(arrays, "diffraction") = small_counts().to(type);
    const Scan scan = read_arrays(arrays);
    EXPECT_EQ(scan.counts().scalar_type(), at::kByte);
    EXPECT_TRUE(at::equal(as_double(scan.counts()), as_double(small_counts()))) << type;
  }
}

TEST(ReadNpz, SquaresRootsOfWholeNumbersExactly) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    Arrays arrays = small_arrays();
    const at::Tensor counts = small_counts().to(at::kDouble) * 50021;
    array(arrays, "diffraction") = at::sqrt(counts).to(type);
    const Scan scan = read_arrays(arrays);
    EXPECT_EQ(scan.counts().scalar_type(), at::kInt);
    EXPECT_TRUE(at::equal(as_double(scan.counts()), counts));
  }
}

TEST(ReadNpz, DomainSaysWhatWholeNumbersMean) {
  Arrays arrays = small_arrays();
  array(arrays, "diffraction") = small_counts().to(at::kShort);
  const Scan scan = read_arrays(arrays, with_domain("amplitude"));
  EXPECT_TRUE(at::equal(as_double(scan.counts()), as_double(small_counts()).square()));
}

TEST(ReadNpz, FractionalCountsStayAsTheyAre) {
  Arrays arrays = small_arrays();
  array(arrays, "diffraction") = small_counts() + 0.37;
  const Scan scan = read_arrays(arrays, with_domain("counts"));
  EXPECT_EQ(scan.counts().scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(scan.counts(), small_counts() + 0.37));
}

TEST(ReadNpz, AmplitudesWithoutAScaleGetTheNamedMeanCounts) {
  Arrays arrays = small_arrays();
  const at::Tensor amplitude = small_counts() * 0.0137;
  array(arrays, "diffraction") = amplitude;
  for (const double wanted : {0.0, 5000.0}) {
    ReadOptions options;
    options.nphotons = wanted;
    const at::Tensor counts = as_double(read_arrays(arrays, options).counts());
    const double expected = wanted > 0 ? wanted : 1e9;  // PtychoPINN's default
    EXPECT_NEAR(counts.sum().item<double>() / kFrames / expected, 1, 1e-6);
    const at::Tensor ratio = counts / as_double(amplitude).square();
    EXPECT_LT((ratio.max() / ratio.min()).item<double>() - 1, 1e-5);
  }
}

/// Text as bytes of a number array: a pickle's header and frame do not matter.
at::Tensor bytes_with(const std::string& text) {
  const std::string all = "\x80\x04\x95k\x00cnumpy_X" + text + "\x94.";
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(all.size())}, at::kByte);
  std::copy(all.begin(), all.end(), bytes.data_ptr<std::uint8_t>());
  return bytes;
}

TEST(ReadNpz, AmplitudesWithoutAScaleGetTheMeanCountsThatTheMetadataName) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, double>>{
           {R"({"physics_parameters": {"nphotons": 5000.0, "N": 64}})", 5000},
           {R"({"nphotons":2.5e4})", 2.5e4},
           {R"({"nphotons": "many"})", 1e9},
           {R"({"nphotons")", 1e9}}) {
    Arrays arrays = small_arrays();
    array(arrays, "diffraction") = small_counts() * 0.0137;
    arrays.emplace_back("_metadata", bytes_with(text));
    const at::Tensor counts = as_double(read_arrays(arrays).counts());
    EXPECT_NEAR(counts.sum().item<double>() / kFrames / expected, 1, 1e-6) << text;
    ReadOptions options;
    options.nphotons = 777;
    const at::Tensor named = as_double(read_arrays(arrays, options).counts());
    EXPECT_NEAR(named.sum().item<double>() / kFrames / 777, 1, 1e-6) << text;
  }
}

TEST(ReadNpz, FindsThePatternsAxisByTheNumberOfPositions) {
  Arrays arrays = small_arrays();
  array(arrays, "diffraction") = small_counts().permute({1, 2, 0}).contiguous();
  EXPECT_TRUE(at::equal(read_arrays(arrays).counts().to(at::kFloat), small_counts()));
}

/// As many patterns as they have rows, each bright in the middle and brighter than the one before.
Arrays cube_arrays() {
  Arrays arrays = small_arrays();
  const at::Tensor axis = at::arange(kSize, at::kFloat) - kSize / 2;
  const at::Tensor spot = 100 * (-(axis.square().unsqueeze(1) + axis.square()) / 4).exp();
  const at::Tensor brightness = 1 + 0.1 * at::arange(kSize, at::kFloat);
  array(arrays, "diffraction") = (spot * brightness.view({-1, 1, 1})).round();
  for (const char* name : {"xcoords", "ycoords"})
    array(arrays, name) = array(arrays, name).narrow(0, 0, kSize).contiguous();
  return arrays;
}

TEST(ReadNpz, WhereBothAxesFitTheMeanPatternThatIsBrightInTheMiddleTellsThem) {
  Arrays arrays = cube_arrays();
  const at::Tensor cube = array(arrays, "diffraction");
  for (const bool last : {false, true}) {
    if (last) array(arrays, "diffraction") = cube.permute({1, 2, 0}).contiguous();
    testing::internal::CaptureStderr();
    const Scan scan = read_arrays(arrays);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat), cube)) << last;
    EXPECT_TRUE(contains(said, last ? "the last of the axes" : "the first of the axes")) << said;
    EXPECT_TRUE(contains(said, "in the middle")) << said;
  }
}

TEST(ReadNpz, AnIntegerDiff3dIsReadAsCountsAndTheConflictWithTheNameIsSaid) {
  Arrays arrays = small_arrays();
  array(arrays, "diff3d") = small_counts().to(at::kShort);
  remove(arrays, "diffraction");
  testing::internal::CaptureStderr();
  const Scan scan = read_arrays(arrays);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(at::equal(as_double(scan.counts()), as_double(small_counts())));
  EXPECT_TRUE(contains(said, "diff3d means amplitude")) << said;
  EXPECT_TRUE(contains(said, "--domain amplitude")) << said;
}

TEST(ReadNpz, TakesPatternsFirstWithAWarningWhereBothAxesFitAndNothingTellsThem) {
  Arrays arrays = small_arrays();
  const at::Tensor cube = small_counts().narrow(0, 0, kSize).contiguous();
  array(arrays, "diffraction") = cube;
  for (const char* name : {"xcoords", "ycoords"}) {
    array(arrays, name) = array(arrays, name).narrow(0, 0, kSize).contiguous();
  }
  testing::internal::CaptureStderr();
  const Scan scan = read_arrays(arrays);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat), cube));
  EXPECT_TRUE(contains(said, "does not tell which; the first is taken")) << said;
}

TEST(ReadNpz, PositionsAreRowYAndColumnX) {
  Arrays arrays = small_arrays();
  const at::Tensor positions = read_arrays(arrays).positions();
  EXPECT_TRUE(at::equal(positions.select(1, 0), array(arrays, "ycoords")));
  EXPECT_TRUE(at::equal(positions.select(1, 1), array(arrays, "xcoords")));
}

TEST(ReadNpz, TakesEveryLayoutOfTheProbe) {
  const at::Tensor one = at::ones({kSize, kSize}, at::kComplexDouble);
  const std::vector<std::pair<at::Tensor, std::int64_t>> table = {
      {one, 1},
      {one.unsqueeze(2), 1},
      {one.unsqueeze(0), 1},
      {one.repeat({3, 1, 1}), 3},
      {at::ones({kSize, kSize}), 1},
  };
  for (const auto& [probe, modes] : table) {
    Arrays arrays = small_arrays();
    array(arrays, "probeGuess") = probe;
    const Scan scan = read_arrays(arrays);
    EXPECT_EQ(scan.probe().sizes(), at::IntArrayRef({modes, kSize, kSize}));
    EXPECT_EQ(scan.probe().scalar_type(), at::kComplexFloat);
  }
}

TEST(ReadNpz, TheProbeCarriesTheMeanCounts) {
  const Scan scan = read_arrays(small_arrays());
  // All pixels count, so the power is that of the probe itself (Parseval).
  const double power = at::abs(scan.probe()).square().sum(at::kDouble).item<double>();
  const double mean = small_counts().sum(at::kDouble).item<double>() / kFrames;
  EXPECT_NEAR(power / mean, 1, 1e-5);
}

TEST(ReadNpz, EstimatesAMissingProbeFromTheMeanPattern) {
  Arrays arrays = small_arrays();
  remove(arrays, "probeGuess");
  const Scan scan = read_arrays(arrays);
  const at::Tensor wave = at::fft_fft2(scan.probe()[0], {}, {-2, -1}, "ortho");
  const at::Tensor mean = small_counts().mean(0);
  EXPECT_TRUE(at::allclose(at::fft_fftshift(at::abs(wave).square()), mean, 1e-4, 1e-4));
}

TEST(ReadNpz, AConstantObjectIsNoTruth) {
  Arrays arrays = small_arrays();
  array(arrays, "objectGuess") = at::ones({40, 50}, at::kComplexFloat);
  EXPECT_FALSE(read_arrays(arrays).truth().defined());
  array(arrays, "objectGuess")[3][4] = 0.5;
  EXPECT_TRUE(at::equal(read_arrays(arrays).truth(), array(arrays, "objectGuess")));
}

TEST(ReadNpz, TheMaskOfTheFileCanBeIgnoredOrReplaced) {
  Arrays arrays = small_arrays();
  at::Tensor mask = at::ones({kSize, kSize}, at::kBool);
  mask[1][2] = false;
  array(arrays, "mask") = mask;
  EXPECT_TRUE(at::equal(read_arrays(arrays).mask(), mask));
  ReadOptions options;
  options.mask = "none";
  EXPECT_TRUE(read_arrays(arrays, options).mask().all().item<bool>());
  const TestFolder folder;
  mask[5][5] = false;
  write_npz(folder / "mask.npz", {{"m", mask}});
  options.mask = folder / "mask.npz";
  EXPECT_TRUE(at::equal(read_arrays(arrays, options).mask(), mask));
}

TEST(ReadNpz, AmplitudeAndCountsFilesOfTheRealStarAgree) {
  if (!shared_folder()) GTEST_SKIP() << "the shared scans are not there (PTYCHE_SHARED)";
  ReadOptions options;
  options.mask = "none";
  options.file = *shared_file("data/siemens-star/siemens-star-64-counts.npz");
  const Scan counts = read_scan(options);
  options.file = *shared_file("data/siemens-star/siemens-star-64.npz");
  const Scan amplitude = read_scan(options);
  EXPECT_EQ(counts.counts().scalar_type(), at::kShort);
  EXPECT_EQ(counts.counts().max().item<int>(), 963);  // README of the data
  EXPECT_TRUE(at::equal(counts.counts(), amplitude.counts()));
  EXPECT_TRUE(at::equal(counts.positions(), amplitude.positions()));
  EXPECT_TRUE(at::equal(counts.probe(), amplitude.probe()));
  EXPECT_FALSE(amplitude.truth().defined());
  EXPECT_EQ(counts.frames_with(FrameUse::used).size(0), 516);
}

}  // namespace
}  // namespace ptyche
