// Patterns whose position is not known or cannot be right.
#include "ptyche/io/placed_patterns.h"

#include <algorithm>

#include "ptyche/data/probe.h"
#include "tests/io/layouts.h"

namespace ptyche {
namespace {

constexpr std::int64_t kStageSide = 6, kStageFrames = kStageSide * kStageSide;

/// Patterns of 8 x 8 whose values say which they are, on a raster of steps of 2 pixels around 1000
/// micrometres.
struct Stage {
  at::Tensor counts =
      at::arange(1, kStageFrames + 1, at::kFloat).view({-1, 1, 1}).expand({kStageFrames, 8, 8});
  at::Tensor places;  // (36, 2) metres: x, y
  double pixel = LayoutScan{}.object_pixel_m();

  Stage() {
    const at::Tensor line = 2 * pixel * at::arange(kStageSide, at::kDouble) + 1e-3;
    places = at::stack({line.repeat({kStageSide}), line.repeat_interleave(kStageSide)}, 1);
  }
};

Scan read_stage(const at::Tensor& places, const std::string& frames = "",
                const at::Tensor& counts = {}) {
  const TestFolder folder;
  const Stage stage;
  LayoutScan lengths;
  ReadOptions options;
  options.frames = frames;
  return read_layout(write_cxi_layout(
                         folder / "a.cxi", lengths,
                         [&](Hdf5File& file, const std::string& detector) {
                           file.write("entry_1/data_1/translation",
                                      at::cat({places, at::zeros({places.size(0), 1})}, 1));
                           put_lengths(file, detector, lengths);
                           put(file, "entry_1/instrument_1/source_1/energy",
                               lengths.energy_ev * cxi::kJoulesPerEv);
                         },
                         counts.defined() ? counts : stage.counts.contiguous()),
                     options);
}

/// The numbers of the patterns that were read, by what they hold.
std::vector<std::int64_t> read_numbers(const Scan& scan) {
  const at::Tensor numbers = scan.counts().flatten(1).amax(1).to(at::kLong) - 1;
  return {numbers.const_data_ptr<std::int64_t>(),
          numbers.const_data_ptr<std::int64_t>() + numbers.numel()};
}

std::vector<std::int64_t> all_but(const std::vector<std::int64_t>& out) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < kStageFrames; ++i)
    if (std::ranges::find(out, i) == out.end()) numbers.push_back(i);
  return numbers;
}

TEST(PlacedPatterns, WithoutAPositionAreLeftOut) {
  for (const std::vector<std::int64_t>& out :
       {std::vector<std::int64_t>{0}, {35}, {7, 8, 20}, {30, 31, 32, 33, 34, 35}})
    for (const double what : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      at::Tensor places = Stage().places.clone();
      for (const std::int64_t i : out) places[i][i % 2] = what;  // of one axis or of the other
      const Scan scan = read_stage(places);
      EXPECT_EQ(read_numbers(scan), all_but(out)) << what;
      EXPECT_NEAR(median_step_px(scan.positions()), 2, 1e-6);
    }
}

TEST(PlacedPatterns, AreRefusedWhereNoneHasAPosition) {
  const std::string said = message_of([&] {
    read_stage(at::full({kStageFrames, 2}, std::nan(""), at::kDouble));
  });
  EXPECT_NE(said.find("at least 2 patterns that have a position, found 0 of 36"), std::string::npos)
      << said;
}

TEST(PlacedPatterns, ATableLaidOutForMorePointsHoldsThoseOfThePatternsThatThereAre) {
  const at::Tensor measured = Stage().counts.narrow(0, 0, 20).contiguous();
  at::Tensor places = Stage().places.clone();
  places.narrow(0, 20, 16).fill_(std::nan(""));
  const Scan scan = read_stage(places, "", measured);
  EXPECT_EQ(scan.frames(), 20);
  EXPECT_NEAR(scan.positions()[19][0].item<double>() - scan.positions()[0][0].item<double>(), 6,
              1e-6);
}

TEST(PlacedPatterns, AMotorThatWasNotReadStandsAtZero) {
  at::Tensor places = Stage().places.clone();
  for (const std::int64_t i : {3, 9, 10, 22, 31}) places[i].zero_();
  EXPECT_EQ(read_numbers(read_stage(places)), all_but({3, 9, 10, 22, 31})) << "far away";
  const at::Tensor centred = Stage().places - Stage().places.mean(0);
  at::Tensor inside = centred.clone();
  for (const std::int64_t i : {3, 9, 10, 22, 31}) inside[i].zero_();
  EXPECT_EQ(read_numbers(read_stage(inside)), all_but({3, 9, 10, 22, 31})) << "in the middle";
}

TEST(PlacedPatterns, AtZeroAreKeptWhereTheScanIsThere) {
  const at::Tensor corner = Stage().places - Stage().places[0];
  EXPECT_EQ(read_stage(corner).frames(), kStageFrames) << "once";
  const at::Tensor thrice = corner.slice(0, 0, 12).repeat_interleave(3, 0);
  EXPECT_EQ(read_stage(thrice).frames(), kStageFrames) << "each place three times";
}

TEST(PlacedPatterns, FarFromAllOthersAreLeftOut) {
  for (const double away : {1e-3, -0.02, 1.0}) {
    at::Tensor places = Stage().places.clone();
    for (const std::int64_t i : {4, 17, 30}) places[i][0] += away;
    const Scan scan = read_stage(places);
    EXPECT_EQ(read_numbers(scan), all_but({4, 17, 30})) << away;
    const at::Tensor extent = scan.positions().amax(0) - scan.positions().amin(0);
    EXPECT_NEAR(extent.max().item<double>(), 10, 1e-6);
  }
}

TEST(PlacedPatterns, OfTwoRegionsFarApartAreReadOneByOneAsTheRefusalSays) {
  at::Tensor places = Stage().places.clone();
  places.narrow(0, 18, 18).add_(1e-2);
  const std::string said = message_of([&] { read_stage(places); });
  EXPECT_NE(said.find("found 2 parts so far apart"), std::string::npos) << said;
  for (const std::string part : {"0:18", "18:36"}) {
    EXPECT_NE(said.find("--frames " + part), std::string::npos) << said;
    EXPECT_EQ(read_stage(places, part).frames(), 18);
  }
}

TEST(PlacedPatterns, OfTwoRegionsNearEachOtherAreOneScan) {
  at::Tensor places = Stage().places.clone();
  places.narrow(0, 18, 18).add_(40 * Stage().pixel);
  EXPECT_EQ(read_stage(places).frames(), kStageFrames);
}

TEST(PlacedPatterns, OfTwoRegionsThatWereVisitedInTurnHaveRangesWithASteps) {
  at::Tensor places = Stage().places.clone();
  places.slice(0, 1, kStageFrames, 2).add_(1e-2);
  const std::string said = message_of([&] { read_stage(places); });
  EXPECT_NE(said.find("--frames 0:35:2, --frames 1:36:2"), std::string::npos) << said;
}

TEST(Frames, AreSeveralRangesWithCommasBetween) {
  const auto numbers = [](const std::string& text) {
    return read_numbers(read_stage(Stage().places, text));
  };
  EXPECT_EQ(numbers("0:7,8:36"), all_but({7}));
  EXPECT_EQ(numbers("8:36,0:7,3:5"), all_but({7})) << "in any order, each once";
  EXPECT_EQ(numbers("0:4:2,-2:"), (std::vector<std::int64_t>{0, 2, 34, 35}));
  for (const std::string text : {"0:7,", "0:7,8", "7:7,0:3", "0:7;8:9"})
    EXPECT_NE(message_of([&] { numbers(text); }).find("--frames"), std::string::npos) << text;
}

TEST(Frames, AreWrittenAsTheyAreRead) {
  const auto text = [](std::initializer_list<std::int64_t> numbers) {
    return frames_text(at::tensor(std::vector<std::int64_t>(numbers), at::kLong));
  };
  EXPECT_EQ(text({0, 1, 2}), "0:3");
  EXPECT_EQ(text({0, 1, 5, 7, 8}), "0:2,5:6,7:9");
  EXPECT_EQ(text({1, 4, 7, 10}), "1:11:3");
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(frames_text(at::arange(20, at::kLong).square()), "");
}

}  // namespace
}  // namespace ptyche
