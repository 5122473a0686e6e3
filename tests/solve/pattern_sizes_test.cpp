// Patterns and canvases of any size: solved, or refused by name.
#include <gtest/gtest.h>

#include "ptyche/engine/projections.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/solve.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

SolverOptions one_pass(const std::string& solver) {
  SolverOptions options;
  options.chain = {{solver, 1}};
  return options;
}

Scan scan_of(std::int64_t size, double step_px, std::int64_t frames) {
  SimulateOptions options;
  options.pattern_size = size;
  options.frames = frames;
  options.step_px = step_px;
  options.scan = "raster";
  options.probe_diameter_px = 12;
  return simulate(options);
}

class PrimePatterns : public testing::TestWithParam<const char*> {};

TEST_P(PrimePatterns, AreSolvedByEverySolver) {
  const Scan scan = scan_of(134, 4, 4);  // 2 x 67
  EXPECT_EQ(solve(scan, {}, one_pass(GetParam())).end, ChainEnd::done);
}

INSTANTIATE_TEST_SUITE_P(Registry, PrimePatterns,
                         testing::Values("epie", "rpie", "dm", "raar", "lsqml", "ml", "lbfgs"),
                         [](const auto& info) { return std::string(info.param); });

TEST(PatternSizes, WithAPrimeBeyondAllPatternsAreRefusedByTheirSize) {
  EXPECT_TRUE(cpu::has_fft(1018));   // 2 x 509
  EXPECT_FALSE(cpu::has_fft(1042));  // 2 x 521
  ScanFields fields = scan_of(1024, 4, 2).fields();
  fields.counts = at::constant_pad_nd(fields.counts, {9, 9, 9, 9});
  fields.probe = at::constant_pad_nd(fields.probe, {9, 9, 9, 9});
  fields.truth = fields.mask = at::Tensor();
  const std::string message = message_of([&] { solve(Scan(fields), {}, one_pass("rpie")); });
  EXPECT_NE(message.find("1042 x 1042"), std::string::npos) << message;
  EXPECT_NE(message.find("--engine reference"), std::string::npos) << message;
}

TEST(PatternSizes, WithALargePrimeAreTheSameByBothEngines) {
  SolverOptions options = one_pass("ml");
  const Scan scan = scan_of(134, 4, 4);
  const at::Tensor fused = solve(scan, {}, options).image.object;
  set_option(options, "engine", "reference");
  const at::Tensor reference = solve(scan, {}, options).image.object;
  EXPECT_LT((fused - reference).abs().max().item<double>(), 1e-3);
}

TEST(CanvasSizes, MayHaveLargePrimes) {
  const Scan scan = scan_of(32, 515, 9);  // a canvas of 16 x 67 pixels
  EXPECT_EQ(solve(scan, {}, one_pass("ml")).image.rows() / 16, 66);
}

}  // namespace
}  // namespace ptyche
