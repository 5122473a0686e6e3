#include "ptyche/simulate/universe.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

/// Small and quick.
Universe small_universe() {
  return parse_universe("pattern_size = 32\npatterns = 9\n[object]\nleaf = [3, 6]\n", "small");
}

std::string refusal_of(const std::string& toml) {
  return message_of([&] { parse_universe(toml, "u.toml"); });
}

TEST(UniverseScan, IsTheSameForAnyThreadCountAndOrderOfDrawing) {
  const Universe universe = small_universe();
  const int threads = at::get_num_threads();
  std::vector<Scan> in_order, backwards;
  for (const std::uint64_t number : {3, 4, 5})
    in_order.push_back(universe_scan(universe, 1, number).scan);
  at::set_num_threads(1);
  for (const std::uint64_t number : {5, 4, 3})
    backwards.push_back(universe_scan(universe, 1, number).scan);
  at::set_num_threads(threads);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(fingerprint(in_order[i]), fingerprint(backwards[2 - i]));
  EXPECT_NE(fingerprint(in_order[0]), fingerprint(in_order[1]));
  EXPECT_NE(fingerprint(in_order[0]), fingerprint(universe_scan(universe, 2, 3).scan));
}

TEST(UniverseScan, HasProbesOfTheDiametersAndDosesAsked) {
  Universe universe = small_universe();
  universe.probe_diameter = {20, 24};
  universe.photons = {1e6, 1e6};
  for (std::uint64_t number = 0; number < 12; ++number) {
    const Scan scan = universe_scan(universe, 1, number).scan;
    const double diameter = probe_diameter_px(scan.probe());  // at 32 x 32, half of that at 64 x 64
    EXPECT_GE(diameter, 10 - 1e-3) << number;
    EXPECT_LE(diameter, 12 + 1e-3) << number;
    EXPECT_NEAR(scan.counts().sum(at::kDouble).item<double>() / 9 / probe_power(scan.probe()), 1,
                1e-4);
    EXPECT_LE(probe_power(scan.probe()), 1.01e6);
  }
}

TEST(UniverseScan, ExpectsTheCountsThatItHasInTheMean) {
  Universe universe = small_universe();
  universe.photons = {1e7, 1e7};
  universe.background = {0.5, 0.5};
  const UniverseScan drawn = universe_scan(universe, 1, 0);
  const at::Tensor counts = counts_in_fft_order(drawn.scan, at::arange(9, at::kLong));
  const double chi_square =
      ((counts - drawn.expected).square() / drawn.expected.clamp_min(1e-3)).mean().item<double>();
  EXPECT_NEAR(chi_square, 1, 0.1);
}

TEST(UniverseScan, WithoutErrorsItsTruthPredictsItsCounts) {
  Universe universe = small_universe();
  universe.photons = {1e6, 1e6};
  universe.probe_kinds = {{"gaussian", 1}};
  const UniverseScan drawn = universe_scan(universe, 1, 7);
  const at::Tensor model =
      predict_intensity(drawn.scan.truth(), drawn.scan.probe(), drawn.scan.positions(),
                        Interpolation::probe_fourier, {});
  EXPECT_LT(relative_difference(model, drawn.expected), 1e-3);
}

TEST(Universe, ComesFromTomlWithDefaultsForWhatIsNotSaid) {
  const Universe universe = parse_universe(
      "photons = [1e3, 1e4]\n[probe]\nkinds = { disk = 1 }\nsecond_mode = 0.1\n", "u.toml");
  EXPECT_EQ(universe.photons.high, 1e4);
  EXPECT_EQ(universe.probe_kinds, (Kinds{{"disk", 1}}));
  EXPECT_EQ(universe.second_mode.low, 0.1);
  EXPECT_EQ(universe.overlap.high, Universe().overlap.high);
  EXPECT_NE(to_text(universe), to_text(Universe()));
}

TEST(Universe, RefusesByFileLineAndKey) {
  EXPECT_EQ(refusal_of("patterns = 9\nphoton = [1, 2]\n"),
            "u.toml: line 2: 'photon' is not a key of a universe; did you mean 'photons'?");
  EXPECT_EQ(refusal_of("photons = [1e5, 1e3]"),
            "u.toml: line 1: photons: expected the least first, found [100000, 1000]");
  EXPECT_EQ(refusal_of("jitter = [0, 0.9]"),
            "u.toml: line 1: jitter: expected 0 to 0.5, found 0 to 0.9");
  EXPECT_EQ(refusal_of("jitter = [nan, 0.1]").substr(0, 24), "u.toml: line 1: jitter: ");
  EXPECT_NE(refusal_of("[probe]\nkinds = { dics = 1 }").find("found 'dics'"), std::string::npos);
  EXPECT_NE(refusal_of("[object]\nkinds = { lines = 0 }").find("more than 0 times"),
            std::string::npos);
  EXPECT_NE(refusal_of("pattern_size = 33").find("even"), std::string::npos);
}

TEST(Universe, SaysWhereNoProbeFits) {
  Universe universe = small_universe();
  universe.probe_diameter = {40, 41};
  universe.probe_kinds = {{"gaussian", 1}};
  EXPECT_NE(message_of([&] { universe_scan(universe, 1, 0); }).find("probe.diameter"),
            std::string::npos);
}

}  // namespace
}  // namespace ptyche
