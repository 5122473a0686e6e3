// Scans of which a part is taken: some of the patterns, with the positions that belong to them, the
// middle of the detector, sums of its pixels; and what else options change while a file is read.
#include <gtest/gtest.h>

#include <functional>

#include "ptyche/io/bin_patterns.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/write_scan.h"
#include "tests/io/layouts.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

Scan read_cxi_of(const LayoutScan& scan, const std::filesystem::path& file, ReadOptions options,
                 const at::Tensor& data = {},
                 const std::function<void(Hdf5File&, const std::string&)>& more = {}) {
  write_cxi_layout(
      file, scan,
      [&](Hdf5File& out, const std::string& detector) {
        put_lengths(out, detector, scan);
        out.write(detector + "translation", translation_of(scan));
        put(out, "entry_1/instrument_1/source_1/energy", scan.energy_ev, "eV");
        if (more) more(out, detector);
      },
      data);
  return read_layout(file, options);
}

/// What is cut while it is read is what is cut afterwards: with a mask of a file's, everything is
/// read first.
TEST(PartOfAScan, ACropWhileReadingIsOneAfterwardsHoweverTheDetectorLies) {
  const TestFolder folder;
  const LayoutScan scan;
  const at::Tensor wide =
      at::arange(kFrames * 20 * 24, at::kFloat).remainder(251).add(1).reshape({kFrames, 20, 24});
  for (const std::int64_t orientation : {-1, 1, 2, 3, 4, 5, 6, 7})
    for (const bool centred : {false, true}) {
      ReadOptions options;
      options.crop = 8;
      options.orientation = orientation;
      if (centred) options.centre = DetectorCentre{11, 9};
      const Scan cut_at_once = read_cxi_of(scan, folder / "scan.cxi", options, wide);
      const bool swapped = orientation >= 4;
      const at::Tensor all = at::ones({swapped ? 24 : 20, swapped ? 20 : 24}, at::kBool);
      std::string mask = npy_header(all);
      mask.append(static_cast<const char*>(all.const_data_ptr()), all.nbytes());
      write_raw(folder / "mask.npy", mask);
      options.mask = folder / "mask.npy";
      const Scan cut_later = read_layout(folder / "scan.cxi", options);
      EXPECT_TRUE(at::equal(cut_at_once.counts(), cut_later.counts())) << orientation << centred;
      EXPECT_TRUE(at::allclose(cut_at_once.positions(), cut_later.positions()));
    }
}

TEST(PartOfAScan, APatternIsPaddedWhereTheDetectorEndsAndTheBorderIsMasked) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  options.crop = 12;
  const Scan padded = read_cxi_of(scan, folder / "scan.cxi", options);
  EXPECT_EQ(padded.pattern_size(), 12);
  EXPECT_EQ(padded.mask().sum().item<int>(), 64);
  const Window middle{2, 10, 2, 10};
  EXPECT_TRUE(at::equal(cut(padded.counts(), middle).to(at::kFloat), scan.counts));
  EXPECT_NEAR(padded.geometry().object_pixel_m / scan.object_pixel_m() * 12 / 8, 1, 1e-7);
}

TEST(PartOfAScan, SomePatternsAreThoseOfTheNumbersWithTheirPlaces) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  const Scan all = read_cxi_of(scan, folder / "scan.cxi", options);
  options.frames = "2:-1:3";
  const Scan some = read_layout(folder / "scan.cxi", options);
  const at::Tensor numbers = at::tensor({2, 5, 8}, at::kLong);
  EXPECT_TRUE(at::equal(some.counts(), all.counts().index_select(0, numbers)));
  EXPECT_TRUE(at::equal(some.positions(), all.positions().index_select(0, numbers)));
  EXPECT_NE(some.input_hash(), all.input_hash());
}

/// A scan of kFrames positions, with another number of patterns.
Scan read_with_patterns(const at::Tensor& patterns, const std::string& frames) {
  const TestFolder folder;
  ReadOptions options;
  options.frames = frames;
  return read_cxi_of(LayoutScan{}, folder / "scan.cxi", options, patterns);
}

void expect_refusal(const at::Tensor& patterns, const std::string& frames,
                    const std::string& words) {
  const std::string said = message_of([&] { read_with_patterns(patterns, frames); });
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

TEST(PartOfAScan, AScanThatEndedEarlyHasThePositionsOfItsPatternsIfSomebodySaysSo) {
  const TestFolder folder;
  const LayoutScan scan;
  const Scan all = read_cxi_of(scan, folder / "scan.cxi", {});
  const at::Tensor early = scan.counts.narrow(0, 0, kFrames - 2);
  for (const std::string text : {"0:", "1::2"}) {
    const Scan some = read_with_patterns(early, text);
    const std::int64_t step = text == "0:" ? 1 : 2;
    const at::Tensor numbers = at::arange(step - 1, kFrames - 2, step, at::kLong);
    EXPECT_TRUE(at::equal(some.positions(), all.positions().index_select(0, numbers))) << text;
    EXPECT_TRUE(at::equal(some.counts(), all.counts().index_select(0, numbers))) << text;
  }
  expect_refusal(early, "",
                 "expected as many positions as patterns, 10, found 12; --frames 0:10 takes");
}

TEST(PartOfAScan, OnePatternTooManyIsTheFirstOrTheLastAsSomebodySays) {
  const TestFolder folder;
  const LayoutScan scan;
  const Scan all = read_cxi_of(scan, folder / "scan.cxi", {});
  const at::Tensor one = scan.counts.narrow(0, 0, 1) + 1;
  for (const Scan& some : {read_with_patterns(at::cat({one, scan.counts}), "1:"),
                           read_with_patterns(at::cat({scan.counts, one}), "0:12"),
                           read_with_patterns(at::cat({scan.counts, one}), ":-1")}) {
    EXPECT_TRUE(at::equal(some.positions(), all.positions()));
    EXPECT_TRUE(at::equal(some.counts(), all.counts()));
  }
  const at::Tensor many = at::cat({scan.counts, one});
  expect_refusal(many, "", "--frames 0:12 takes the first 12 patterns, --frames 1:13 the last");
  for (const std::string part : {"0:6", "2:"})
    expect_refusal(many, part, "--frames: expected the 12 of 13 patterns that have a position");
}

TEST(PartOfAScan, SeveralReadingsOfEachPatternAreNotALongerScan) {
  for (const std::int64_t patterns : {kFrames / 2, kFrames / 4})
    for (const std::string frames : {"", "0:"}) {
      const std::string said = message_of(
          [&] { read_with_patterns(LayoutScan{}.counts.narrow(0, 0, patterns), frames); });
      EXPECT_NE(said.find(fmt::format("expected ({0}, 3) or (3, {0})", patterns)),
                std::string::npos)
          << said;
    }
}

TEST(PartOfAScan, ARasterOfAnotherNumberOfPointsIsThatOfTheChosenPatterns) {
  const TestFolder folder;
  ReadOptions options;
  options.scan_step_m = 1e-6;
  options.scan_shape = "3x4";
  const LayoutScan scan;
  const Scan all = read_cxi_of(scan, folder / "scan.cxi", options);
  options.frames = "1:";
  const at::Tensor more = at::cat({scan.counts.narrow(0, 0, 1) + 1, scan.counts});
  const Scan some = read_cxi_of(scan, folder / "more.cxi", options, more);
  EXPECT_TRUE(at::equal(some.positions(), all.positions()));
  EXPECT_TRUE(at::equal(some.counts(), all.counts()));
  for (const std::string shape : {"20000x20000", "3x8", "1x2"}) {
    options.scan_shape = shape;
    const std::string said = message_of([&] { read_cxi_of(scan, folder / "other.cxi", options); });
    EXPECT_NE(said.find("--scan-shape: expected as many points"), std::string::npos) << said;
  }
}

TEST(PartOfAScan, ASampleHasThePlacesOfAllAndTheGeometryOfTheWhole) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  const Scan all = read_cxi_of(scan, folder / "scan.cxi", options);
  options.file = folder / "scan.cxi";
  const ScanSample sample = read_scan_sample(options);
  EXPECT_TRUE(at::equal(sample.positions, all.positions()));
  EXPECT_EQ(sample.scan.geometry().object_pixel_m, all.geometry().object_pixel_m);
  EXPECT_EQ(sample.fingerprint.size(), 16u);
}

TEST(PartOfAScan, TheFingerprintChangesWithTheFile) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  options.file = folder / "scan.cxi";
  read_cxi_of(scan, options.file, options);
  const std::string before = read_scan_sample(options).fingerprint;
  read_cxi_of(scan, options.file, options, scan.counts + 1);
  EXPECT_NE(read_scan_sample(options).fingerprint, before);
}

TEST(PartOfAScan, ATableBesideIsPartOfTheScansHash) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "any.h5");
  file.write("frames", scan.counts);
  file.close();
  ReadOptions options;
  options.patterns = "frames";
  options.positions =
      (folder / "pos.csv").string() + ":x*1e-6," + (folder / "pos.csv").string() + ":y*1e-6";
  options.energy_ev = 8800;
  options.distance_m = 2;
  options.detector_pixel_m = 75e-6;
  const auto hash_with_step = [&](double step) {
    std::string table = "x,y\n";
    for (int i = 0; i < kFrames; ++i) table += fmt::format("{},{}\n", step * (i % 3), 0.5 * i);
    write_raw(folder / "pos.csv", table);
    return read_layout(folder / "any.h5", options).input_hash();
  };
  EXPECT_NE(hash_with_step(1), hash_with_step(1.5));
  EXPECT_EQ(hash_with_step(1), hash_with_step(1));
}

TEST(Bin, SumsKeepCountsMaskTheirBadPixelsAndLeaveTheObjectsPixel) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  options.bin = 2;
  const auto bad = [](Hdf5File& out, const std::string& detector) {
    at::Tensor mask = at::zeros({8, 8}, at::kInt);
    mask[3][5] = 1;
    out.write(detector + "mask", mask);
  };
  const Scan binned = read_cxi_of(scan, folder / "scan.cxi", options, {}, bad);
  const at::Tensor sums = scan.counts.view({kFrames, 4, 2, 4, 2}).sum({2, 4});
  EXPECT_TRUE(at::equal(binned.counts().to(at::kFloat), sums));
  EXPECT_EQ(binned.mask().logical_not().sum().item<int>(), 1);
  EXPECT_FALSE(binned.mask()[1][2].item<bool>());
  EXPECT_NEAR(binned.geometry().object_pixel_m / scan.object_pixel_m(), 1, 1e-7);
  EXPECT_NEAR(binned.geometry().detector_pixel_m, 2 * scan.detector_pixel_m, 1e-12);
}

TEST(Bin, ASizeThatIsNoMultipleLosesItsBorder) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  options.bin = 3;
  const Scan binned = read_cxi_of(scan, folder / "scan.cxi", options);
  EXPECT_EQ(binned.pattern_size(), 2);
  const at::Tensor middle = scan.counts.narrow(1, 1, 6).narrow(2, 1, 6);
  EXPECT_TRUE(
      at::equal(binned.counts().to(at::kFloat), middle.reshape({kFrames, 2, 3, 2, 3}).sum({2, 4})));
}

/// The far field of the tilted middle of a probe, at the sums' frequencies, is that of the probe.
TEST(Bin, TheProbesFarFieldLiesUnderTheMiddleOfTheSums) {
  const at::Tensor line = at::arange(32, at::kDouble) - 16;
  const at::Tensor bell = at::exp(-line.square() / 2);
  RawScan raw;
  raw.probe = at::complex(bell.unsqueeze(1) * bell.unsqueeze(0), at::zeros({32, 32}, at::kDouble))
                  .unsqueeze(0)
                  .to(at::kComplexFloat);
  raw.mask = at::ones({32, 32}, at::kBool);
  const auto far_field = [](const at::Tensor& probe) {
    return at::fft_fftshift(at::fft_fft2(at::fft_ifftshift(probe[0])).abs().square());
  };
  const at::Tensor fine = far_field(raw.probe);
  at::Tensor counts = fine.unsqueeze(0).to(at::kFloat);
  bin_patterns(raw, counts, 2);
  const at::Tensor expected = counts[0] / counts.sum(), found = far_field(raw.probe);
  EXPECT_LT(
      (found / found.sum() - expected).abs().max().item<double>() / expected.max().item<double>(),
      0.03);
}

TEST(Flyback, PatternsAtTheEndOfEachRowAreLeftOutWhetherTheShapeCountsThemOrNot) {
  const TestFolder folder;
  const at::Tensor counts =
      small_counts();  // 12 patterns: 3 rows of 4, the last of each on the way
  std::string bytes = npy_header(counts);
  bytes.append(static_cast<const char*>(counts.const_data_ptr()), counts.nbytes());
  write_raw(folder / "stack.npy", bytes);
  for (const char* shape : {"3x4", "3x3"}) {
    ReadOptions options;
    options.scan_shape = shape;
    options.flyback = 1;
    options.scan_step_m = 1e-6;
    options.energy_ev = 8800;
    options.distance_m = 2;
    options.detector_pixel_m = 75e-6;
    const Scan scan = read_layout(folder / "stack.npy", options);
    const at::Tensor kept = at::tensor({0, 1, 2, 4, 5, 6, 8, 9, 10}, at::kLong);
    EXPECT_TRUE(at::equal(scan.counts().to(at::kFloat), counts.index_select(0, kept))) << shape;
    EXPECT_NEAR((scan.positions()[3] - scan.positions()[0])[1].item<double>(), 0, 1e-9);
  }
}

TEST(RasterOptions, TurnWrittenPositionsAndMayHaveNoFlybackBesideThem) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  read_cxi_of(scan, folder / "scan.cxi", options);
  options.file = folder / "scan.cxi";
  const at::Tensor as_written = read_scan(options).positions();
  options.scan_rotation = "90";  // the columns point along the detector's rows
  const at::Tensor turned = read_scan(options).positions();
  const at::Tensor away = as_written - as_written.mean(0);
  const at::Tensor expected = at::stack({away.select(1, 1), -away.select(1, 0)}, 1);
  EXPECT_TRUE(at::allclose(turned - turned.mean(0), expected, 1e-6, 1e-6));
  const Scan simulated = small_scan();  // its image lies as its positions do
  write_cxi(folder / "simulated.cxi", simulated);
  ASSERT_TRUE(read_scan({.file = folder / "simulated.cxi"}).truth().defined());
  const Scan other = read_scan({.file = folder / "simulated.cxi", .scan_rotation = "12"});
  EXPECT_FALSE(other.truth().defined());
  EXPECT_FALSE(other.true_positions().defined());
  options.scan_rotation = "0";
  options.flyback = 2;
  EXPECT_TRUE(
      contains(message_of([&] { read_scan(options); }), "--flyback 2: expected 12 positions"));
}

TEST(Convert, KeepsTheAngleOfAnElectronBeamInEveryLayoutWithLengths) {
  const TestFolder folder;
  const LayoutScan layout;
  ReadOptions options;
  options.voltage_v = 300e3;
  options.semi_angle_rad = 0.0214;
  const Scan scan = read_cxi_of(layout, folder / "scan.cxi", options);
  for (const char* name : {"out.cxi", "out.nxs", "out", "out.ptyd"}) {
    write_scan_as(scan_format_for(folder / name), folder / name, scan);
    const Scan again = read_layout(folder / name);
    EXPECT_NEAR(again.geometry().semi_angle_rad, 0.0214, 1e-9) << name;
    EXPECT_NEAR(again.geometry().energy_ev / scan.geometry().energy_ev, 1, 1e-9) << name;
  }
}

}  // namespace
}  // namespace ptyche
