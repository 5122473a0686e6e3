// A beam that changes from pattern to pattern, and what of it the object could do as well.
#include "ptyche/solve/intensities.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/data/probe.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/solve/automatic.h"
#include "ptyche/solve/solve.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// Factors of mean 1 between .4 and 1.6 that no place and no neighbour tells.
at::Tensor changing_beam(std::int64_t patterns) {
  const at::Tensor number = at::arange(patterns, at::kDouble);
  const at::Tensor factors = 1 + 0.6 * (number * number * 0.7).sin();
  return factors / factors.mean();
}

Scan under(const Scan& scan, const at::Tensor& beam) {
  ScanFields fields = scan.fields();
  fields.counts = scan.counts() * beam.to(at::kFloat).view({-1, 1, 1});
  return Scan(std::move(fields));
}

/// Deviation of the logarithms of the image's factors from the beam's, over that of the beam's.
double miss(const Reconstruction& image, const at::Tensor& beam) {
  const at::Tensor ratio = (image.intensities.to(at::kDouble) / beam).log();
  return (ratio.std() / beam.log().std()).item<double>();
}

double error_of(const Reconstruction& image, const Scan& scan) {
  const std::optional<Comparison> error = truth_error(scan.truth(), image);
  return error ? error->error.nrmse_contrast : 10;
}

Reconstruction solved(const Scan& scan, const std::string& chain, IntensityFreedom freedom) {
  SolverOptions options{.chain = chain_from(chain)};
  options.intensities = freedom;
  options.fixed_probe = true;
  return solve(scan, {}, options).image;
}

TEST(Intensities, ABeamThatChangesIsFoundByItselfAndASteadyOneIsLeftAlone) {
  const Scan steady = small_scan(100);
  const at::Tensor beam = changing_beam(100);
  const Scan changing = under(steady, beam);
  const std::string chain = "ml:80";
  EXPECT_FALSE(solved(steady, chain, IntensityFreedom::automatic).intensities.defined());
  const Reconstruction image = solved(changing, chain, IntensityFreedom::automatic);
  ASSERT_TRUE(image.intensities.defined());
  EXPECT_LT(miss(image, beam), 0.2);
  const Reconstruction blind = solved(changing, chain, IntensityFreedom::off);
  EXPECT_LT(error_of(image, changing), 0.4 * error_of(blind, changing));
}

TEST(Intensities, EverySolverFitsThem) {
  const at::Tensor beam = changing_beam(64);
  const Scan scan = under(small_scan(64), beam);
  for (const std::string solver : {"ml", "lsqml", "rpie", "epie", "dm", "raar", "lbfgs"}) {
    const Reconstruction image = solved(scan, solver + ":40", IntensityFreedom::on);
    EXPECT_LT(miss(image, beam), 0.25) << solver;
  }
}

TEST(Intensities, AreFoundByARunThatIsResumedAtThePassInWhichTheyAreFound) {
  const Scan scan = under(small_scan(100), changing_beam(100));
  SolverOptions options{.chain = chain_from("rpie:5,lbfgs:12")};
  options.intensities = IntensityFreedom::automatic;
  const Reconstruction straight = solve(scan, {}, options).image;
  ASSERT_TRUE(straight.intensities.defined());
  const TestFolder folder;
  for (std::int64_t stop_at = 9; stop_at <= 12; ++stop_at) {
    const SolverWatch watch{.stop = [&](std::int64_t passes) { return passes == stop_at; },
                            .checkpoint = folder / "checkpoint.h5"};
    ASSERT_EQ(solve(scan, {}, options, watch).end, ChainEnd::interrupted);
    const SolverWatch later{.checkpoint = watch.checkpoint, .resume = true};
    EXPECT_TRUE(at::equal(solve(scan, {}, options, later).image.object, straight.object))
        << stop_at;
  }
}

TEST(Intensities, OfPatternsThatWereNotUsedAreTheRatioOfTotals) {
  const at::Tensor beam = changing_beam(64);
  const Scan all = under(small_scan(64), beam);
  at::Tensor use = all.frame_use().clone();
  use[20] = static_cast<int>(FrameUse::held_out);
  const Scan scan = all.with_frame_use(use);
  Reconstruction image = solved(scan, "rpie:5,lbfgs:40", IntensityFreedom::on);
  EXPECT_TRUE(std::isnan(image.intensities[20].item<float>()));
  const at::Tensor frame = at::tensor({20}, at::kLong);
  const double by_total = data_fit(image, scan, frame, true).r_factor;
  image.intensities[20] = 2 * beam[20].item<float>();
  EXPECT_LT(by_total, 0.5 * data_fit(image, scan, frame, true).r_factor);
}

TEST(Intensities, AStraightenedProbeForetellsTheSamePatterns) {
  const Scan scan = small_scan(64);
  SolverOptions options;
  options.intensities = IntensityFreedom::on;
  const SolverProblem problem = make_problem(scan, options);
  SolverState state = start_state(problem, {});
  const at::Tensor axis = at::arange(scan.pattern_size(), at::kFloat);
  state.probe = state.probe * (0.05 * axis).exp().unsqueeze(1);
  const at::Tensor all = at::arange(problem.patterns(), at::kLong);
  const double before = gradient(problem, state, all).loss;
  const at::Tensor leaning = state.probe;
  straighten_probe(problem, state);
  EXPECT_NEAR(gradient(problem, state, all).loss, before, 1e-4 * before);
  const at::Tensor off = state.main_probe().abs() / scan.probe().abs().clamp_min(1e-6);
  const at::Tensor lit = scan.probe().abs().gt(0.2 * scan.probe().abs().max());
  EXPECT_LT(off.masked_select(lit).std().item<double>(),
            0.1 * (leaning.abs() / scan.probe().abs()).masked_select(lit).std().item<double>());
}

TEST(Intensities, TheBestOnesFollowInOneStepFromThePoissonSlope) {
  const at::Tensor expected = at::tensor({1000.0, 500.0}, at::kDouble);
  const at::Tensor totals = at::tensor({1500.0, 400.0}, at::kDouble);
  const at::Tensor now = at::tensor({1.2, 0.9}, at::kDouble);
  const at::Tensor slope = expected - totals / now;
  EXPECT_TRUE(at::allclose(next_intensities(now, slope, totals, LossKind::poisson),
                           totals / expected, 1e-9, 1e-9));
}

}  // namespace
}  // namespace ptyche
