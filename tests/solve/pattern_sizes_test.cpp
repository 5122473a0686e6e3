// Patterns and canvases of any size: solved, or refused by name.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/solve.h"

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

TEST_P(PrimePatterns, AreRefusedByTheFusedKernelsByTheirSize) {
  try {
    solve(scan_of(134, 4, 4), {}, one_pass(GetParam()));  // 2 x 67
    FAIL() << "expected a refusal";
  } catch (const InvalidInput& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("134 x 134"), std::string::npos) << message;
    EXPECT_NE(message.find("--engine reference"), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, PrimePatterns,
                         testing::Values("epie", "rpie", "dm", "raar", "lsqml", "ml", "lbfgs"),
                         [](const auto& info) { return std::string(info.param); });

TEST(PatternSizes, WithALargePrimeAreSolvedByTheReferenceEngine) {
  SolverOptions options = one_pass("ml");
  set_option(options, "engine", "reference");
  EXPECT_EQ(solve(scan_of(134, 4, 4), {}, options).end, ChainEnd::done);
}

TEST(CanvasSizes, MayHaveLargePrimes) {
  const Scan scan = scan_of(32, 515, 9);  // a canvas of 16 x 67 pixels
  EXPECT_EQ(solve(scan, {}, one_pass("ml")).image.object.size(0) / 16, 66);
}

}  // namespace
}  // namespace ptyche
