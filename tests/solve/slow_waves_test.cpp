// What the solvers do with what hardly changes a pattern: long waves of the phase, the share of
// power between probe and object, a background that is not there.
#include "ptyche/solve/slow_waves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/data/probe.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/slow_phase.h"
#include "ptyche/solve/solve.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSide = 48;

at::Tensor noise(std::int64_t seed) {
  at::manual_seed(static_cast<std::uint64_t>(seed));
  return at::randn({kSide, kSide}, at::kComplexFloat);
}

double scalar_product(const at::Tensor& a, const at::Tensor& b) {
  return at::real((a.conj() * b).sum()).item<double>();
}

/// A pure phase of one long wave along the diagonal.
at::Tensor phase_wave(std::int64_t side, double waves) {
  const at::Tensor axis = at::arange(side, at::kFloat) * (2 * M_PI * waves / side);
  const at::Tensor phase = 0.4 * (axis.unsqueeze(1) + axis).sin();
  return at::polar(at::ones_like(phase), phase.contiguous());
}

SlowWaves waves_of(const at::Tensor& object) {
  SolverState state;
  state.object = object.unsqueeze(0);
  state.probe = small_scan().probe().unsqueeze(0);
  return slow_waves(state);
}

at::Tensor with_slow_waves(const SlowWaves& waves, const at::Tensor& along) {
  at::Tensor stretched = along.clone().unsqueeze(0);
  stretch_slow_waves(waves, stretched);
  return stretched.squeeze(0);
}

TEST(LongWaves, PreconditionerIsSymmetricAndPositive) {
  const SlowWaves waves = waves_of(noise(1));
  const at::Tensor a = noise(2), b = noise(3);
  const double ab = scalar_product(a, with_slow_waves(waves, b)),
               ba = scalar_product(with_slow_waves(waves, a), b);
  EXPECT_NEAR(ab, ba, 1e-4 * std::abs(scalar_product(a, with_slow_waves(waves, a))));
  EXPECT_GE(scalar_product(a, with_slow_waves(waves, a)), scalar_product(a, a));
}

TEST(LongWaves, LongWavesOfThePhaseGrowAndTheAmplitudeStays) {
  const at::Tensor object = phase_wave(kSide, 3);
  const SlowWaves waves = waves_of(object);
  const at::Tensor amplitude = 0.1 * object;
  EXPECT_TRUE(at::allclose(with_slow_waves(waves, amplitude), amplitude, 1e-4, 1e-5));
  const at::Tensor row = at::arange(kSide, at::kFloat).unsqueeze(1).expand({kSide, kSide});
  const auto growth = [&](double cycles) {
    const at::Tensor wave = (row * (2 * M_PI * cycles / kSide)).cos().contiguous();
    const at::Tensor along = at::complex(at::zeros_like(wave), wave) * object;
    return scalar_product(along, with_slow_waves(waves, along)) / scalar_product(along, along);
  };
  EXPECT_GT(growth(2), 10);
  EXPECT_GT(growth(2), 1.8 * growth(4));
  EXPECT_LT(growth(kSide / 2), 1.2);
}

/// Over the contrast of the truth, border left out, after the best constant phase.
double error_of_wave(const Reconstruction& image, const Scan& scan) {
  const std::int64_t inset = 10, length = image.rows() - 2 * inset;
  const at::Tensor window = image.projection().narrow(0, inset, length).narrow(1, inset, length);
  const at::Tensor truth = scan.truth()
                               .narrow(0, image.origin_row + inset, length)
                               .narrow(1, image.origin_col + inset, length);
  const at::Tensor overlap = (truth.conj() * window).sum();
  const at::Tensor error = truth - window * (overlap.conj() / overlap.abs());
  const double contrast = (truth - truth.mean()).abs().square().mean().sqrt().item<double>();
  return error.abs().square().mean().sqrt().item<double>() / contrast;
}

Scan scan_of_wave(std::int64_t frames, double waves) {
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(frames)));
  return small_scan(frames, phase_wave(3 * side + 32, waves));
}

/// Passes of lbfgs until the error is a tenth.
std::int64_t passes_to_truth(std::int64_t frames, double waves) {
  const Scan scan = scan_of_wave(frames, waves);
  const SolverProblem problem = make_problem(scan, plain({{"lbfgs", 100}}));
  SolverState state = start_state(problem, {});
  const auto solver = problem.options.chain[0].make();
  for (std::int64_t pass = 0; pass < 100; ++pass) {
    solver->pass(problem, state, {.epoch = pass, .epochs = 100, .total = pass});
    if (error_of_wave(finished(problem, state, {}), scan) < 0.1) return pass + 1;
  }
  return 1000;
}

TEST(LongWaves, OfOneLengthConvergeInPassesThatDoNotGrowWithTheCanvas) {
  const std::int64_t small = passes_to_truth(144, 1), large = passes_to_truth(576, 2);
  EXPECT_LE(small, 15);
  EXPECT_LE(static_cast<double>(large), 1.3 * static_cast<double>(small) + 1);
}

TEST(LongWaves, OneOverTheWholeCanvasConvergesInPassesThatDoNotGrowWithIt) {
  const std::int64_t small = passes_to_truth(144, 1), large = passes_to_truth(576, 1);
  EXPECT_LE(small, 8);
  EXPECT_LE(static_cast<double>(large), 1.2 * static_cast<double>(small) + 1);
}

/// Root mean square of a phase (rows, cols) less its mean, where patterns overlap.
double rms_inside(const at::Tensor& phase) {
  const std::int64_t inset = 16;
  const at::Tensor window =
      phase.narrow(0, inset, phase.size(0) - 2 * inset).narrow(1, inset, phase.size(1) - 2 * inset);
  return (window - window.mean()).square().mean().sqrt().item<double>();
}

struct WaveState {
  SolverProblem problem;
  SolverState state;   ///< with a flat object
  at::Tensor lacking;  ///< (rows, cols) rad, on its canvas
};

WaveState flat_before_a_wave() {
  const Scan scan = scan_of_wave(144, 1);
  SolverProblem problem = make_problem(scan, plain({{"lbfgs", 1}}));
  SolverState state = start_state(problem, {});
  const at::Tensor truth = at::angle(scan.truth());
  at::Tensor lacking = at::zeros({state.rows(), state.cols()});
  const std::int64_t rows = std::min(truth.size(0) - state.origin_row, lacking.size(0));
  const std::int64_t cols = std::min(truth.size(1) - state.origin_col, lacking.size(1));
  lacking.narrow(0, 0, rows)
      .narrow(1, 0, cols)
      .copy_(truth.narrow(0, state.origin_row, rows).narrow(1, state.origin_col, cols));
  return {std::move(problem), std::move(state), std::move(lacking)};
}

TEST(LongWavesAtOnce, OfAFlatObjectIsTheWaveThatItLacks) {
  const WaveState wave = flat_before_a_wave();
  const double error = rms_inside(slow_phase(wave.problem, wave.state) - wave.lacking);
  EXPECT_LT(error, 0.3 * rms_inside(wave.lacking));
}

TEST(LongWavesAtOnce, OfTheRightObjectIsNone) {
  WaveState wave = flat_before_a_wave();
  wave.state.object = at::polar(at::ones_like(wave.lacking), wave.lacking).unsqueeze(0);
  EXPECT_LT(rms_inside(slow_phase(wave.problem, wave.state)), 0.05 * rms_inside(wave.lacking));
}

TEST(LongWavesAtOnce, DoesNotDependOnTheBeamWhereItsIntensitiesAreKnown) {
  WaveState wave = flat_before_a_wave();
  const at::Tensor before = slow_phase(wave.problem, wave.state);
  wave.state.probe = wave.state.probe / 2;
  wave.state.intensities = at::full({wave.problem.patterns()}, 4.0, at::kDouble);
  EXPECT_TRUE(at::allclose(slow_phase(wave.problem, wave.state), before, 1e-3, 1e-4));
}

TEST(LongWavesAtOnce, ThatWouldRaiseTheLossIsNotTaken) {
  WaveState wave = flat_before_a_wave();
  wave.state.object = at::polar(at::ones_like(wave.lacking), wave.lacking).unsqueeze(0);
  const auto first_loss = [&](const char* corrections) {
    SolverOptions options = plain({{"lbfgs", 1}});
    set_option(options, "slow-phase", corrections);
    set_option(options, "object-slope", "0");
    SolverState state = wave.state.clone();
    return options.chain[0].make()->pass(wave.problem, state, {});
  };
  EXPECT_LE(first_loss("3"), first_loss("0"));
}

class LongWaveMomentum : public testing::TestWithParam<const char*> {};

TEST_P(LongWaveMomentum, BringsALongWaveNearerInAsManyPasses) {
  const Scan scan = scan_of_wave(576, 1);
  SolverOptions options = plain({{GetParam(), 12}});
  const auto error_with = [&](const char* coefficient) {
    set_option(options, "slow-momentum", coefficient);
    return error_of_wave(solve(scan, {}, options).image, scan);
  };
  const double without = error_with("0");
  EXPECT_LT(error_with("0.8"), 0.8 * without) << without;
}

INSTANTIATE_TEST_SUITE_P(Registry, LongWaveMomentum, testing::Values("ml", "lsqml", "epie", "rpie"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ProbePower, OfAResultIsThatOfTheScansProbeWhateverTheStartHas) {
  const Scan scan = small_scan();
  SolverOptions options = plain({{"ml", 2}});
  options.fixed_probe = false;
  Reconstruction start = solve(scan, {}, options).image;
  start.probe = start.probe * 2;
  start.object = start.object / 2;
  const Reconstruction image = solve(scan, start, options).image;
  EXPECT_NEAR(probe_power(image.probe) / probe_power(scan.probe()), 1, 1e-3);
}

TEST(ProbePower, IsKeptByLbfgs) {
  SolverOptions options = plain({{"lbfgs", 40}});
  options.fixed_probe = false;
  set_where_known(options, "object-slope", "0.02");
  const SolverProblem problem = make_problem(small_scan(), options);
  SolverState state = start_state(problem, {});
  const auto solver = options.chain[0].make();
  for (std::int64_t pass = 0; pass < 40; ++pass)
    solver->pass(problem, state, {.epoch = pass, .epochs = 40, .total = pass});
  EXPECT_NEAR(probe_power(state.probe) / probe_power(problem.scan.probe()), 1, 1e-4);
}

TEST(ProbePower, SharedAnewLeavesEveryPatternAndHasTheDemandedSum) {
  const Scan scan = small_scan();
  const SolverProblem problem = make_problem(scan, plain({{"ml", 1}}));
  SolverState state = start_state(problem, {});
  const at::Tensor few = at::arange(4, at::kLong);
  const double before = gradient(problem, state, few).loss;
  share_power(state, 7);
  EXPECT_NEAR(probe_power(state.probe), 7, 1e-4);
  EXPECT_NEAR(gradient(problem, state, few).loss / before, 1, 1e-3);
}

TEST(ProbePower, ItsGradientAtEqualPowerDoesNotChangeIt) {
  const at::Tensor probe = small_scan().probe();
  at::manual_seed(5);
  const at::Tensor gradient = at::randn(probe.sizes(), at::kComplexFloat);
  EXPECT_NEAR(scalar_product(probe, at_equal_power(gradient, probe)), 0,
              1e-4 * std::sqrt(scalar_product(probe, probe) * scalar_product(gradient, gradient)));
}

TEST(Background, ThatIsNotThereDoesNotDelayLbfgs) {
  const Scan scan = small_scan();
  const auto misfit = [&](bool background, std::int64_t passes) {
    SolverOptions options = plain({{"lbfgs", passes}}, PositionFreedom::none, background);
    set_where_known(options, "object-slope", "0.25");
    return r_factor(solve(scan, {}, options).image, scan);
  };
  EXPECT_LE(misfit(true, 18), misfit(false, 15));
}

}  // namespace
}  // namespace ptyche
