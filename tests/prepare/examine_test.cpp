// The doctor: good scans get no alarm, and each fault its name.
#include "ptyche/prepare/examine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ptyche/core/random.h"
#include "ptyche/data/array.h"
#include "tests/prepare/faulty_scans.h"

namespace ptyche {
namespace {

TEST(Examine, FindsNothingInGoodScansOfManyKinds) {
  SimulateOptions raster = usual_scan(), bars = usual_scan(), few = usual_scan(),
                  large = usual_scan(), focus = usual_scan(), reversed = usual_scan(),
                  lens = usual_scan();
  raster.scan = "raster";
  bars.object = "bars";
  few.photons = 2e3;
  large.pattern_size = 128;
  large.probe_diameter_px = 44;
  large.step_px = 10;
  focus.probe = "disk";
  reversed.defocus = -1;
  reversed.scan = "fermat";
  lens.probe = "zernike";
  lens.zernike_rad = {0.8, 0.4, -0.3};
  for (const SimulateOptions& each :
       {usual_scan(), raster, bars, few, large, focus, reversed, lens})
    EXPECT_EQ(causes_above_a_note(examine(simulate(each))), "")
        << each.probe << " " << each.scan << " " << each.object << " " << each.photons;
}

TEST(Examine, SaysWhatItSawInNumbers) {
  Diagnosis diagnosis = examine(good_scan());
  EXPECT_EQ(diagnosis.numbers["values_whole"], 1);
  EXPECT_EQ(diagnosis.numbers["shadow_seen"], 1);
  EXPECT_NEAR(diagnosis.numbers["gain_ratio"], 1, 0.2);
  EXPECT_LT(diagnosis.numbers["centre_own"], 1.1);
}

/// A fault, and the first cause that is to be named.
struct Fault {
  const char* cause;
  std::function<Scan(const Scan&)> plant;
};

Scan with_mask(const Scan& scan, const at::Tensor& mask) {
  ScanFields fields = fields_of(scan);
  fields.mask = mask;
  return Scan(fields);
}

/// Poisson draws of one level.
at::Tensor noise_like(const Scan& scan) {
  return poisson_draws(at::full_like(scan.counts(), 3, at::kDouble), at::arange(scan.frames()), 1,
                       Purpose::noise)
      .to(at::kFloat);
}

std::vector<Fault> faults() {
  const auto counts = [](const std::function<at::Tensor(const at::Tensor&)>& change) {
    return [change](const Scan& scan) {
      return with_counts(scan, change(scan.counts().to(at::kFloat)));
    };
  };
  return {
      {"values: amplitudes", counts([](const at::Tensor& n) { return n.sqrt(); })},
      {"values: amplitudes", counts([](const at::Tensor& n) { return 0.013f * n.sqrt(); })},
      {"values: counts squared", counts([](const at::Tensor& n) { return n.square(); })},
      {"values: logarithms", counts([](const at::Tensor& n) { return n.log1p(); })},
      {"values: scaled counts", counts([](const at::Tensor& n) { return 0.37f * n; })},
      {"values: scaled counts", counts([](const at::Tensor& n) { return 37 * n; })},
      {"values: normalised", counts([](const at::Tensor& n) {
         return n / n.sum({1, 2}, true);
       })},
      {"values: clipped", counts([](const at::Tensor& n) { return n.clamp_max(60); })},
      {"centre: at the corner", counts([](const at::Tensor& n) {
         return at::roll(n, {32, 32}, {1, 2});
       })},
      {"centre: off", counts([](const at::Tensor& n) {
         return at::roll(n, {4, -3}, {1, 2});
       })},
      {"detector: dead lines", counts([](const at::Tensor& n) {
         at::Tensor half = n.clone();
         half.narrow(1, 0, 32).zero_();
         return half;
       })},
      {"detector: gaps", counts([](const at::Tensor& n) {
         at::Tensor gaps = n.clone();
         gaps.narrow(1, 21, 2).zero_();
         gaps.narrow(2, 40, 2).zero_();
         return gaps;
       })},
      {"detector: gain of a quadrant", counts([](const at::Tensor& n) {
         at::Tensor changed = n.clone();
         changed.narrow(1, 0, 32).narrow(2, 0, 32).mul_(8);
         return changed;
       })},
      {"detector: hot pixels", counts([](const at::Tensor& n) {
         at::Tensor changed = n.clone();
         changed.select(1, 50).select(1, 12).fill_(30000);
         return changed;
       })},
      {"detector: cosmic rays", counts([](const at::Tensor& n) {
         at::Tensor changed = n.clone();
         for (std::int64_t k = 0; k < n.size(0); ++k)
           changed[k][6 + 7 * k % 10][(11 * k) % 64] = 3000;
         return changed;
       })},
      {"frames: all the same",
       counts([](const at::Tensor& n) { return n[3].expand_as(n).contiguous(); })},
      {"frames: repeated", counts([](const at::Tensor& n) {
         at::Tensor changed = n.clone();
         changed.narrow(0, 60, 40).copy_(n[60].expand({40, 64, 64}));
         return changed;
       })},
      {"frames: garbage", counts([](const at::Tensor& n) {
         at::Tensor changed = n.clone();
         changed.narrow(0, 20, 8).mul_(12).add_(5);
         return changed;
       })},
      {"order: patterns shifted against positions",
       counts([](const at::Tensor& n) { return at::roll(n, 1, 0); })},
      {"mask: inverted",
       [](const Scan& scan) {
         at::Tensor mask = at::zeros({64, 64}, at::kBool);
         mask.narrow(0, 20, 2).fill_(true);
         return with_mask(scan, mask);
       }},
      {"probe: at the corner",
       [](const Scan& scan) {
         return scan.with_probe(at::roll(scan.probe(), {32, 32}, {1, 2}));
       }},
      {"positions: unit",
       [](const Scan& scan) { return scan.with_positions(scan.positions() * 1e-6); }},
      {"positions: rows flipped", [](const Scan& scan) { return turned(scan, -1, 0, 0, 1); }},
      {"positions: columns flipped", [](const Scan& scan) { return turned(scan, 1, 0, 0, -1); }},
      {"positions: axes swapped", [](const Scan& scan) { return turned(scan, 0, 1, 1, 0); }},
      {"positions: turned by", [](const Scan& scan) { return turned(scan, 0, 1, -1, 0); }},
      {"positions: both axes flipped, or the sign of the defocus",
       [](const Scan& scan) { return turned(scan, -1, 0, 0, -1); }},
      {"positions: both axes flipped, or the sign of the defocus",
       [](const Scan& scan) { return scan.with_probe(scan.probe().conj().resolve_conj()); }},
      {"positions: scale, or the defocus",
       [](const Scan& scan) { return turned(scan, 2, 0, 0, 2); }},
      {"order: patterns have nothing to do with positions",
       [](const Scan& scan) {
         const std::vector<std::int64_t> order =
             permutation(100, RandomStream(3, Purpose::subsample));
         return scan.with_positions(scan.positions().index_select(0, at::tensor(order, at::kLong)));
       }},
      {"detector: noise only",
       [](const Scan& scan) { return with_counts(scan, noise_like(scan)); }}};
}

TEST(Examine, NamesEachFault) {
  for (const Fault& fault : faults()) {
    const Diagnosis diagnosis = examine(fault.plant(good_scan()));
    EXPECT_TRUE(diagnosis.has(fault.cause))
        << fault.cause << ": " << causes_above_a_note(diagnosis);
  }
}

TEST(Examine, RefusesCountsThatWereStoredModuloAPowerOfTwo) {
  SimulateOptions bright = usual_scan();
  bright.photons = 3e6;
  const Scan scan = simulate(bright);
  EXPECT_FALSE(examine(scan).has("values: wrapped"));
  EXPECT_TRUE(
      examine(with_counts(scan, scan.counts().to(at::kFloat).fmod(256))).has("values: wrapped"));
}

// Atoms, the places between them and those that are missing: no pattern is like the median one.
TEST(Examine, LeavesOutNoPatternsOfASampleThatChangesThemByAllDegrees) {
  const at::Tensor counts = good_scan().counts().to(at::kFloat);
  const at::Tensor degree = at::linspace(0, 1, 100).pow(8).index_select(
      0, at::tensor(permutation(100, RandomStream(3, Purpose::subsample)), at::kLong));
  const at::Tensor share = degree.view({100, 1, 1});
  const at::Tensor mixed = (1 - share) * counts + share * at::roll(counts, {9, 5}, {1, 2});
  const Diagnosis diagnosis = examine(with_counts(good_scan(), mixed.round()));
  EXPECT_FALSE(diagnosis.has("frames: garbage"));
  EXPECT_GT(diagnosis.numbers.at("unlike_most"), 2.5);
}

TEST(Examine, TakesTheLeaningDiscsOfACrystalInFocusForNoCurvedLight) {
  for (const double phase : {2.0, 4.0}) {
    const Scan scan = simulate({.object = "crystal",
                                .scan = "raster",
                                .frames = 400,
                                .step_px = 2,
                                .photons = 1e5,
                                .amplitude_min = 0.9,
                                .phase_range_rad = phase,
                                .defocus = 0});
    EXPECT_EQ(causes_above_a_note(examine(scan)), "") << phase;
    EXPECT_EQ(causes_above_a_note(examine(without_probe(scan))), "") << phase;
  }
}

TEST(Examine, RefusesNoDiffractionOfFewPhotonsOnManyPixels) {
  const Scan dim = simulate({.pattern_size = 256, .frames = 16, .photons = 60});
  EXPECT_FALSE(examine(dim).has("detector: noise only"));
  EXPECT_TRUE(examine(with_counts(dim, noise_like(dim))).has("detector: noise only"));
}

TEST(Examine, LooksAtNothingThatNeedsAPatternInScansThatAreTooSmall) {
  SimulateOptions small = usual_scan();
  small.pattern_size = 16;
  small.probe_diameter_px = 8;
  const Diagnosis diagnosis = examine(simulate(small));
  EXPECT_EQ(causes_above_a_note(diagnosis), "");
  EXPECT_FALSE(diagnosis.numbers.contains("shadow"));
}

TEST(Examine, DoesNotLookForACurvedProbeWhereTheFileGivesNone) {
  ScanFields fields = fields_of(good_scan());
  fields.probe = probe_of_mean_pattern(fields.counts, good_scan().mask(), at::arange(100));
  fields.probe_given = false;
  const Diagnosis diagnosis = examine(Scan(fields));
  EXPECT_EQ(causes_above_a_note(diagnosis), "");
  EXPECT_TRUE(diagnosis.has("probe: none given"));
}

TEST(Examine, OfALargeScanLooksAtAPartThatLiesTogether) {
  SimulateOptions large = usual_scan();
  large.pattern_size = 32;
  large.probe_diameter_px = 12;
  large.frames = 900;
  large.scan = "fermat";
  EXPECT_EQ(causes_above_a_note(examine(simulate(large))), "");
}

/// Phases of a radian that hardly change within the probe.
at::Tensor smooth_object() {
  RandomStream stream(7, Purpose::object);
  at::Tensor noise = at::empty_like(at::real(good_scan().truth()), at::kDouble);
  for (double *value = noise.mutable_data_ptr<double>(), *end = value + noise.numel(); value != end;
       ++value)
    *value = stream.normal();
  const at::Tensor smooth = gaussian_filter(noise, 10);
  const at::Tensor phase = smooth / smooth.std();
  return at::polar(at::ones_like(phase), phase).to(at::kComplexFloat);
}

TEST(Examine, BelievesShadowsOfASmoothSampleOnlyWhereTheProbeExplainsMoreAtTheirScale) {
  const Scan right = measured(lens_of(19, 19), smooth_object());
  Diagnosis of_right = examine(right);
  EXPECT_LT(std::abs(of_right.numbers["gain_ratio"]), 0.6);  // taken for positions too far apart
  EXPECT_FALSE(of_right.has("positions: scale")) << causes_above_a_note(of_right);
}

}  // namespace
}  // namespace ptyche
