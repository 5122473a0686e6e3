#include "ptyche/evaluate/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/physics/forward_model.h"
#include "tests/evaluate/blobs.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

constexpr std::int64_t pattern_size = 16;

at::Tensor gaussian_probe() {
  const at::Tensor x = at::arange(pattern_size, at::kDouble) - 7.5;
  const at::Tensor profile = (-x.square() / 18).exp();
  return (100 * at::outer(profile, profile)).to(at::kComplexFloat).unsqueeze(0);
}

/// Positions 5 px apart, a little off the grid, that light rows and columns 10..112.
at::Tensor grid_positions() {
  const at::Tensor steps = 16 + 5 * at::arange(18, at::kDouble);
  const at::Tensor rows = steps.unsqueeze(1).expand({18, 18}).reshape(-1);
  const at::Tensor cols = steps.unsqueeze(0).expand({18, 18}).reshape(-1);
  const at::Tensor k = at::arange(18 * 18, at::kDouble);
  return at::stack({rows + (1.7 * k).sin(), cols + (2.9 * k).cos()}, 1);
}

/// Photon noise of the counter-based streams.
at::Tensor drawn(const at::Tensor& intensity) {
  RandomStream stream(3, Purpose::noise);
  at::Tensor counts = intensity.to(at::kFloat).contiguous();
  float* count = counts.mutable_data_ptr<float>();
  for (std::int64_t k = 0; k < counts.numel(); ++k)
    count[k] = static_cast<float>(stream.poisson(count[k]));
  return counts;
}

/// A scan of the blobs; every fifth pattern has `other_use`.
ScanFields scan_fields(FrameUse other_use) {
  ScanFields fields;
  fields.positions = grid_positions();
  fields.probe = gaussian_probe();
  fields.truth = blobs(128, 128).to(at::kComplexFloat);
  fields.counts =
      at::fft_fftshift(drawn(predict_intensity(fields.truth, fields.probe, fields.positions,
                                               Interpolation::probe_fourier, {})),
                       at::IntArrayRef{1, 2});
  const at::Tensor fifth = at::arange(fields.positions.size(0), at::kLong).remainder(5).eq(0);
  fields.frame_use = fifth.to(at::kByte) * static_cast<int>(other_use);
  return fields;
}

/// The truth itself as the result, cut to rows 8.. and columns 6.. of the scan's frame.
Reconstruction perfect(const ScanFields& fields) {
  Reconstruction image;
  image.object = fields.truth.narrow(0, 8, 110).narrow(1, 6, 114).unsqueeze(0);
  image.coverage = at::ones({110, 114}, at::kFloat);
  image.origin_row = 8;
  image.origin_col = 6;
  image.probe = fields.probe.unsqueeze(0);
  image.positions = fields.positions;
  image.frame_use = fields.frame_use;
  return image;
}

TEST(Evaluate, TheTruthReachesTheFloorAndNoError) {
  const ScanFields fields = scan_fields(FrameUse::held_out);
  const Scores scores = evaluate(perfect(fields), Scan(fields));
  for (const std::optional<DataFit>& fit : {scores.used, scores.held_out}) {
    ASSERT_TRUE(fit.has_value());
    EXPECT_NEAR(fit->deviance_per_photon / fit->deviance_per_photon_floor, 1, 0.05);
    EXPECT_NEAR(fit->r_factor / fit->r_factor_floor, 1, 0.05);
  }
  EXPECT_EQ(scores.used->frames, 259);
  EXPECT_EQ(scores.held_out->frames, 65);
  ASSERT_TRUE(scores.truth.has_value());
  EXPECT_LT(scores.truth->error.nrmse_contrast, 1e-4);
  EXPECT_NEAR(scores.truth->gauge.shift_row_px, 0, 1e-4);
  EXPECT_NEAR(scores.truth->gauge.shift_col_px, 0, 1e-4);
  EXPECT_NEAR(scores.truth->error.ssim_phase.value(), 1, 1e-6);
  EXPECT_DOUBLE_EQ(scores.truth->error.frc.half, 0.5);
}

TEST(Evaluate, AFlatObjectIsWorseThanTheTruthAndHasNoContrast) {
  const ScanFields fields = scan_fields(FrameUse::held_out);
  Reconstruction flat = perfect(fields);
  flat.object = at::ones_like(flat.object);
  const Scores scores = evaluate(flat, Scan(fields));
  EXPECT_GT(scores.held_out->deviance_per_photon, 2 * scores.held_out->deviance_per_photon_floor);
  EXPECT_DOUBLE_EQ(scores.truth->error.nrmse_contrast, 1);
  EXPECT_DOUBLE_EQ(scores.truth->flat.nrmse_contrast, 1);
  EXPECT_EQ(scores.object_contrast, 0);
}

TEST(Evaluate, LeavesOutWhatTheScanDoesNotAllow) {
  ScanFields fields = scan_fields(FrameUse::rejected);
  const Reconstruction image = perfect(fields);
  fields.truth = at::Tensor();
  const Scores scores = evaluate(image, Scan(fields));
  EXPECT_TRUE(scores.used && scores.trivial);
  EXPECT_FALSE(scores.held_out || scores.held_out_all_pixels || scores.truth ||
               scores.unseen_half || scores.unseen_trivial);
}

TEST(Evaluate, ScoresAllPixelsBesideOnlyWhereTheMaskHidesSome) {
  ScanFields fields = scan_fields(FrameUse::held_out);
  const Reconstruction image = perfect(fields);
  EXPECT_FALSE(evaluate(image, Scan(fields)).held_out_all_pixels.has_value());
  fields.mask = at::ones({pattern_size, pattern_size}, at::kBool);
  fields.mask.select(0, 8).fill_(false);  // the brightest row
  const Scores masked = evaluate(image, Scan(fields));
  ASSERT_TRUE(masked.held_out_all_pixels.has_value());
  EXPECT_NE(masked.held_out->r_factor, masked.held_out_all_pixels->r_factor);
  const Scores unmasked = evaluate(image, Scan(fields), {.use_mask = false});
  EXPECT_FALSE(unmasked.held_out_all_pixels.has_value());
  EXPECT_DOUBLE_EQ(unmasked.held_out->r_factor, masked.held_out_all_pixels->r_factor);
}

TEST(Evaluate, TheUnseenHalfIsScoredOnItsOwnPatterns) {
  const ScanFields fields = scan_fields(FrameUse::unseen);
  Scores scores;
  add_unseen_half(scores, perfect(fields), Scan(fields));
  ASSERT_TRUE(scores.unseen_half && scores.unseen_trivial);
  EXPECT_EQ(scores.unseen_half->frames, 65);
  EXPECT_LT(scores.unseen_half->r_factor, scores.unseen_trivial->r_factor);
  Scores none;
  add_unseen_half(none, perfect(fields), Scan(scan_fields(FrameUse::held_out)));
  EXPECT_FALSE(none.unseen_half.has_value());
}

TEST(Evaluate, MeasuresPositionsWithoutTheirCommonShift) {
  ScanFields fields = scan_fields(FrameUse::used);
  const at::Tensor k = at::arange(fields.positions.size(0), at::kDouble);
  fields.true_positions = fields.positions.clone();
  const at::Tensor error = at::stack({k.remainder(2) - 0.5, at::zeros_like(k)}, 1);
  Reconstruction image = perfect(fields);
  fields.positions = fields.positions + 2 * error;
  image.positions = image.positions + error + 3;
  const Scores scores = evaluate(image, Scan(fields));
  EXPECT_NEAR(scores.positions->rmse_px, 0.5, 1e-9);
  EXPECT_NEAR(scores.positions->given_rmse_px, 1, 1e-9);
  fields.true_positions = at::Tensor();
  EXPECT_FALSE(evaluate(image, Scan(fields)).positions.has_value());
}

TEST(Evaluate, PredictsPatternsWhereTheImageSaysThatTheyLie) {
  ScanFields fields = scan_fields(FrameUse::held_out);
  const Reconstruction image = perfect(fields);
  const double r_factor = evaluate(image, Scan(fields)).held_out->r_factor;
  fields.positions = fields.positions + 1.5;
  EXPECT_DOUBLE_EQ(evaluate(image, Scan(fields)).held_out->r_factor, r_factor);
}

TEST(ObjectContrast, CountsLitPixelsOnly) {
  Reconstruction image;
  // Lit: 1 and i, mean (1 + i)/2, deviation 1/sqrt 2 each, so the contrast is 1.
  image.object = at::view_as_complex(
      at::tensor({1.0, 0.0, 0.0, 1.0, 9.0, 9.0}, at::kDouble).view({1, 1, 3, 2}));
  image.coverage = at::tensor({0.5, 1.0, 0.05}, at::kFloat).view({1, 3});
  EXPECT_NEAR(object_contrast(image), 1, 1e-14);
}

TEST(NamedScores, AreUniqueExplainedAndCoverWhatWasMeasured) {
  const ScanFields fields = scan_fields(FrameUse::held_out);
  Scores scores = evaluate(perfect(fields), Scan(fields));
  scores.held_out_all_pixels = scores.unseen_half = scores.held_out;
  scores.unseen_trivial = scores.trivial;
  scores.half_sets = scores.truth;
  std::set<std::string> names;
  for (const NamedScore& score : named_scores(scores)) {
    EXPECT_TRUE(names.insert(score.name).second) << score.name << " twice";
    EXPECT_FALSE(score.meaning.empty()) << score.name;
  }
  for (const char* name : {"used.r_factor",
                           "held_out.r_factor",
                           "held_out.r_factor_floor",
                           "held_out.deviance_per_photon",
                           "held_out.trivial_r_factor",
                           "held_out.trivial_deviance_per_photon",
                           "held_out_all_pixels.r_factor",
                           "unseen_half.r_factor",
                           "unseen_half.trivial_r_factor",
                           "truth.nrmse",
                           "truth.nrmse_contrast",
                           "truth.flat_nrmse_contrast",
                           "truth.blurred_nrmse_contrast",
                           "truth.nrmse_contrast_tiles",
                           "truth.low_frequency_phase_error_rad",
                           "truth.flat_ssim_phase",
                           "truth.frc_half_bit_cycles_per_px",
                           "truth.frc_one_bit_cycles_per_px",
                           "truth.frc_half_cycles_per_px",
                           "truth.frc_one_seventh_cycles_per_px",
                           "half_sets.frc_half_bit_cycles_per_px",
                           "half_sets.nrmse_contrast",
                           "object.contrast",
                           "time.seconds"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(NamedScores, ATrivialPredictorStandsRightBehindItsScore) {
  const ScanFields fields = scan_fields(FrameUse::held_out);
  const Scores scores = evaluate(perfect(fields), Scan(fields));
  std::string judged;
  int guesses = 0;
  for (const NamedScore& score : named_scores(scores)) {
    const std::string group = score.name.substr(0, score.name.find('.') + 1);
    const std::string name = score.name.substr(group.size());
    if (score.predictor.empty()) {
      judged = group + name;
      continue;
    }
    ++guesses;
    EXPECT_TRUE(judged.starts_with(group) && name.ends_with(judged.substr(group.size())))
        << score.name << " behind " << judged;
  }
  EXPECT_GT(guesses, 20);
}

TEST(NamedScores, GiveLengthsOnlyWhereTheObjectPixelIsKnown) {
  Comparison comparison;
  comparison.error.frc.half_bit = 0.25;
  const auto length = [&]() -> std::optional<double> {
    for (const NamedScore& score : named_scores(comparison, {"", "A", "B"}))
      if (score.name == "frc_half_bit_half_period_nm") return score.value;
    return std::nullopt;
  };
  EXPECT_FALSE(length().has_value());
  comparison.object_pixel_m = 10e-9;
  EXPECT_NEAR(length().value(), 20, 1e-12);  // period 4 px, half of it 2 px
}

TEST(NamedScores, WithoutAHoldOutCallTheTrivialFitThatOfTheUsedPatterns) {
  Scores scores;
  scores.used = DataFit{};
  scores.trivial = TrivialFit{};
  std::set<std::string> names;
  for (const NamedScore& score : named_scores(scores)) names.insert(score.name);
  EXPECT_TRUE(names.contains("used.trivial_r_factor"));
  EXPECT_FALSE(std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("held_out") || name.starts_with("truth");
  }));
}

at::Tensor used_in(const Scan& scan) { return scan.frames_with(FrameUse::used); }

/// A scan of 36 patterns of which number 3 is held out and number 4 rejected.
Scan scan_with_others() {
  const Scan scan = small_scan();
  at::Tensor use = scan.frame_use().clone();
  use[3] = static_cast<int>(FrameUse::held_out);
  use[4] = static_cast<int>(FrameUse::rejected);
  return scan.with_frame_use(use);
}

TEST(HalfOf, SplitsTheUsedPatternsByTheirNumberInTheFile) {
  const Scan scan = scan_with_others();
  const at::Tensor even = used_in(half_of(scan, Half::even));
  const at::Tensor odd = used_in(half_of(scan, Half::odd));
  EXPECT_EQ(even.size(0), 17);
  EXPECT_EQ(odd.size(0), 17);
  EXPECT_TRUE(even.remainder(2).eq(0).all().item<bool>());
  EXPECT_TRUE(odd.remainder(2).eq(1).all().item<bool>());
}

TEST(HalfOf, LeavesHeldOutPatternsHeldOut) {
  for (const Half half : {Half::even, Half::odd})
    EXPECT_EQ(
        half_of(scan_with_others(), half).frames_with(FrameUse::held_out).item<std::int64_t>(), 3);
}

TEST(HalfOf, RefusesAScanWithoutTwoPatternsInEachHalf) {
  EXPECT_THROW(half_of(small_scan(3), Half::odd), InvalidInput);
  EXPECT_THROW(require_halves(small_scan(3)), InvalidInput);
  EXPECT_NO_THROW(require_halves(small_scan(4)));
}

/// The blobs, cut into a canvas, with as much noise as `seed` draws.
Reconstruction noisy_blobs(std::int64_t seed, double level) {
  const at::Tensor grid = at::arange(128 * 128, at::kDouble).view({128, 128});
  Reconstruction image;
  // Two fast quadratic phases that have nothing in common.
  const double rate = seed == 0 ? 0.37 : 0.611;
  image.object = (blobs(128, 128) + level * (rate * grid.square()).sin()).unsqueeze(0);
  return image;
}

TEST(HalfSets, RunThePipelineOnceOnEachHalfAndCorrelateTheImages) {
  std::vector<std::int64_t> parities;
  const auto pipeline = [&](double level) {
    return [&parities, level](const Scan& half) {
      parities.push_back(used_in(half)[0].item<std::int64_t>() % 2);
      return noisy_blobs(parities.back(), level);
    };
  };
  const HalfSets clear = half_sets(small_scan(), pipeline(0.02));
  EXPECT_EQ(parities, (std::vector<std::int64_t>{0, 1}));
  const HalfSets noisy = half_sets(small_scan(), pipeline(1.0));
  EXPECT_GT(clear.agreement.error.frc.half_bit, 1.2 * noisy.agreement.error.frc.half_bit);
  EXPECT_GT(noisy.agreement.error.frc.half_bit, 0.03);
  EXPECT_FALSE(at::equal(clear.even.object, clear.odd.object));
}

}  // namespace
}  // namespace ptyche
