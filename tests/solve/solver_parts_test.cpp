// The parts that solvers share: modes, Adam, positions, sums over places, smoothness.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/adam.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/secants.h"
#include "ptyche/solve/slow_phase.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

at::Tensor squared(const at::Tensor& values) { return at::view_as_real(values).square().sum(-1); }

at::Tensor noise(at::IntArrayRef shape, at::ScalarType type = at::kComplexFloat) {
  at::manual_seed(1);
  return at::randn(shape, type);
}

/// Of the difference, in the root mean square.
double relative(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item().toDouble();
}

TEST(ProbeModes, NewOnesKeepTheSumOfPhotonsAndHaveTheirShare) {
  const at::Tensor probe = small_scan().probe(), all = with_modes(probe, 4, 0.1);
  const at::Tensor photons = squared(all).sum({1, 2});
  EXPECT_NEAR(photons.sum().item<double>() / squared(probe).sum().item<double>(), 1, 1e-5);
  for (int mode = 1; mode < 4; ++mode)
    EXPECT_NEAR((photons[mode] / photons[0]).item<double>(), 0.1, 1e-5);
}

TEST(ProbeModes, OrthogonalOnesLeaveEveryIntensityAndAreSortedByPower) {
  const at::Tensor probe = noise({3, 8, 8}), turned = orthogonal_modes(probe);
  const at::Tensor object = noise({8, 8});
  const auto pattern = [&](const at::Tensor& modes) {
    return squared(at::fft_fft2(modes * object)).sum(0);
  };
  EXPECT_TRUE(at::allclose(pattern(turned), pattern(probe), 1e-4, 1e-3));
  const at::Tensor flat = turned.flatten(1), gram = flat.matmul(flat.conj().t()).abs();
  EXPECT_LT((gram - gram.diag().diag()).max().item<float>(), 1e-4 * gram.max().item<float>());
  EXPECT_GE(gram[0][0].item<float>(), gram[1][1].item<float>());
  EXPECT_GE(gram[1][1].item<float>(), gram[2][2].item<float>());
}

TEST(Batches, GrowWithTheScanUnlessTheOptionsNameANumber) {
  const Scan scan = small_scan();
  SolverProblem problem = make_problem(scan, {});
  const auto size = [&](std::int64_t patterns, const BatchOptions& options = {}) {
    problem.frames = at::zeros({patterns}, at::kLong);
    return batch_of(options, problem, kStepsPerPass);
  };
  EXPECT_EQ(size(100), 16);
  EXPECT_EQ(size(1024), 16);
  EXPECT_EQ(size(6400), 100);
  EXPECT_EQ(size(6400, {.batch = 7}), 7);
}

TEST(Batches, TheGradientOfSeveralPiecesIsTheSumOverTheirPatterns) {
  SolverOptions options;
  options.background = true;
  options.positions = PositionFreedom::jitter;
  options.intensities = IntensityFreedom::on;
  const Scan scan = small_scan();
  const SolverProblem problem = make_problem(scan, options);
  SolverState state = start_state(problem, {});
  state.intensities = at::linspace(0.9, 1.1, scan.frames());
  const at::Tensor once = at::arange(scan.frames());
  const std::int64_t times = 500;  // more pixels than a piece has
  const SolverGradient single = gradient(problem, state, once);
  const SolverGradient many = gradient(problem, state, once.repeat({times}));
  const auto same = [](const at::Tensor& found, const at::Tensor& expected) {
    return at::allclose(found, expected, 1e-3, 1e-4 * expected.abs().max().item<double>());
  };
  EXPECT_NEAR(many.loss / single.loss, times, 1e-3 * times);
  EXPECT_TRUE(same(many.object, single.object * times));
  EXPECT_TRUE(same(many.probe, single.probe * times));
  EXPECT_TRUE(same(many.background_root, single.background_root * times));
  EXPECT_TRUE(same(many.position_corrections, single.position_corrections.repeat({times, 1})));
  EXPECT_TRUE(same(many.intensities, single.intensities.repeat({times})));
}

TEST(Batches, TheGradientOfPiecesOfALargeCanvasIsThatOfPatternsFromAllOverIt) {
  SolverOptions options;
  options.positions = PositionFreedom::jitter;
  options.intensities = IntensityFreedom::on;
  const Scan scan = simulate({.pattern_size = 64, .frames = 4100, .step_px = 12, .seed = 4});
  const SolverProblem problem = make_problem(scan, options);
  SolverState state = start_state(problem, {});
  state.intensities = at::linspace(0.9, 1.1, problem.patterns(), at::kDouble);
  const at::Tensor all = all_patterns(problem);
  std::int64_t pieces = 0, smaller = 0;
  for_pieces(problem, state, all, [&](const BatchPiece& piece) {
    ++pieces;
    smaller += piece.window.rows < state.rows() || piece.window.cols < state.cols();
  });
  EXPECT_GE(pieces, 5);
  EXPECT_GE(smaller, 4);
  const SolverGradient whole = gradient(problem, state, all);
  SolverGradient sum = zero_gradient(state);
  const std::int64_t parts = 5;  // each of fewer patterns than a piece
  for (std::int64_t part = 0; part < parts; ++part) {
    const at::Tensor some = all.slice(0, part, {}, parts);
    const SolverGradient more = gradient(problem, state, some);
    sum.loss += more.loss;
    sum.object += more.object;
    sum.probe += more.probe;
    EXPECT_LT(relative(whole.position_corrections.index_select(0, some), more.position_corrections),
              1e-4);
    EXPECT_LT(relative(whole.intensities.index_select(0, some), more.intensities), 1e-4);
  }
  EXPECT_NEAR(whole.loss / sum.loss, 1, 1e-6);
  EXPECT_LT(relative(whole.object, sum.object), 1e-4);
  EXPECT_LT(relative(whole.probe, sum.probe), 1e-4);
}

TEST(Batches, WhatPiecesSayOfLongWavesIsInTheOrderOfThePatterns) {
  const Scan scan = simulate({.pattern_size = 64, .frames = 3000, .step_px = 12, .seed = 5});
  const SolverProblem all = make_problem(scan, {});
  const SolverState state = start_state(all, {});
  const PhaseNodes nodes{.apart = 20, .rows = 60, .cols = 60, .across = 6};
  const Sight whole = sight_of(all, state, nodes, GradientOptions{});
  const at::Tensor some = all_patterns(all).slice(0, 2, {}, 7);  // fewer than a piece has
  SolverProblem part = all;
  SolverState seen = state;
  part.frames = all.frames.index_select(0, some);
  part.positions = all.positions.index_select(0, some);
  seen.position_corrections = state.position_corrections.index_select(0, some);
  const Sight few = sight_of(part, seen, nodes, GradientOptions{});
  EXPECT_TRUE(at::equal(whole.index.index_select(0, some), few.index));
  EXPECT_LT(relative(whole.tilt.index_select(0, some), few.tilt), 1e-4);
  EXPECT_LT(relative(whole.slope.index_select(0, some), few.slope), 1e-4);
}

TEST(Batches, APatternThatLeavesTheCanvasIsNamedByItsNumberInTheScan) {
  const Scan scan = simulate({.pattern_size = 64, .frames = 1200, .step_px = 6, .seed = 6});
  const SolverProblem problem = make_problem(scan, {});
  SolverState state = start_state(problem, {});
  state.position_corrections[700][0] = 1e4;
  const std::string refused = message_of([&] { gradient(problem, state, all_patterns(problem)); });
  EXPECT_NE(refused.find("pattern 700:"), std::string::npos) << refused;
}

TEST(Positions, AStepIsNoLongerThanItsLimitAndLeavesTheCommonShift) {
  const at::Tensor positions = small_scan().positions();
  const at::Tensor slopes = 1e6 * noise({36, 2}, at::kDouble) + 3e6;
  for (const PositionFreedom freedom : {PositionFreedom::jitter, PositionFreedom::affine}) {
    at::Tensor mean;
    const at::Tensor step = position_step(slopes, mean, positions, 10, 0.1, freedom);
    EXPECT_LT(step.mean(0).abs().max().item<double>(), 1e-9);
    EXPECT_LT(step.abs().max().item<double>(), 0.2);
    EXPECT_GT(step.abs().max().item<double>(), 0.05);
  }
}

TEST(Positions, WithoutSlopesOrCurvatureStayWhereTheyAre) {
  const at::Tensor positions = small_scan().positions(), none = at::zeros_like(positions);
  at::Tensor mean;
  EXPECT_EQ(position_step(none, mean, positions, 10, 0.1, PositionFreedom::affine)
                .abs()
                .max()
                .item<double>(),
            0);
  EXPECT_EQ(position_step(none + 1, mean, positions, 0, 0.1, PositionFreedom::affine)
                .abs()
                .max()
                .item<double>(),
            0);
}

TEST(Positions, ThoseThatAreNotUsedFollowTheGrid) {
  const Scan scan = small_scan();
  const at::Tensor turn = at::tensor({0.01, 0.02, -0.02, 0.01}, at::kDouble).view({2, 2});
  const at::Tensor corrections = (scan.positions() - scan.positions().mean(0)).matmul(turn) + 0.3;
  const at::Tensor used = at::arange(0, scan.frames(), 2, at::kLong);
  const at::Tensor all = corrections_of_all(scan, used, corrections.index_select(0, used));
  EXPECT_LT((all - corrections).abs().max().item<double>(), 1e-9);
}

TEST(Adam, AStepHasTheLengthOfTheRateWhateverTheScaleOfTheGradient) {
  for (const double scale : {1e-3, 1.0, 1e4}) {
    at::Tensor value = at::zeros({5}, at::kComplexFloat);
    ComplexAdam moments;
    adam_step(value, at::full({5}, c10::complex<float>(3, 4), at::kComplexFloat) * scale, moments,
              0.1, {.floor = 0});
    EXPECT_NEAR(value.abs().max().item<float>(), 0.1, 1e-5);
    EXPECT_NEAR(at::real(value)[0].item<float>(), -0.06, 1e-5);
  }
}

TEST(Adam, NewEntriesOfAGrownValueDoNotLeapAlongNoise) {
  at::Tensor value = at::zeros({1, 4});
  ComplexAdam moments;
  adam_step(value, at::full({1, 4}, 100.0f), moments, 0.1);
  at::Tensor grown = at::zeros({2, 4});
  adam_step(grown, at::full({2, 4}, 0.1f), moments, 0.1);
  EXPECT_LT(grown[1].abs().max().item<float>(), 1e-3);
}

TEST(Secants, OfAQuadraticLossGiveItsMinimumWhicheverMatrixTheyBeginWith) {
  const at::Tensor stiffness = at::tensor({1.0f, 4.0f, 9.0f}),
                   slope = at::tensor({2.0f, 4.0f, 9.0f});
  Secants secants;
  for (std::int64_t i = 0; i < 3; ++i) {
    const at::Tensor step = at::zeros({3});
    step[i] = 0.5;
    secants.add(step, stiffness * step);
  }
  const auto scale = [](at::Tensor& along) { along.mul_(at::tensor({7.0f, 1.0f, 0.2f})); };
  EXPECT_TRUE(at::allclose(secants.direction(slope, scale), slope / stiffness, 1e-5));
}

TEST(Secants, AlongWhichTheLossCurvesTheWrongWayAreNotKeptAndTheOldestGo) {
  const at::Tensor step = at::ones({100});
  Secants secants;
  secants.add(step, -step);
  EXPECT_TRUE(secants.all().empty());
  for (int i = 1; i <= 12; ++i) secants.add(step * i, step);
  ASSERT_EQ(secants.all().size(), Secants::kMost);
  EXPECT_EQ(secants.all().front().curvature, 300);
}

/// Of lines of so many numbers.
void expect_the_formula_by_plain_products(std::int64_t numbers) {
  at::manual_seed(3);
  const at::Tensor curvatures = at::rand({numbers}) + 0.5, slope = at::randn({numbers});
  Secants secants;
  for (int i = 0; i < 2; ++i) {
    const at::Tensor step = at::randn({numbers});
    secants.add(step, curvatures * step);
  }
  const auto none = [](at::Tensor&) {};
  // The formula in double precision, from what was kept.
  const auto as_double = [](const at::Tensor& line) { return line.to(at::kDouble); };
  const auto product = [](const at::Tensor& a, const at::Tensor& b) {
    return a.dot(b).item<double>();
  };
  at::Tensor along = as_double(slope);
  std::array<double, 2> weight{}, curvature{};
  for (std::size_t i = 2; i-- > 0;) {
    const at::Tensor step = as_double(secants.all()[i].step);
    const at::Tensor change = as_double(secants.all()[i].change);
    curvature[i] = product(step, change);
    weight[i] = product(step, along) / curvature[i];
    along = along - weight[i] * change;
  }
  const at::Tensor last = as_double(secants.all()[1].change);
  along = along * (curvature[1] / product(last, last));
  for (std::size_t i = 0; i < 2; ++i)
    along =
        along + as_double(secants.all()[i].step) *
                    (weight[i] - product(as_double(secants.all()[i].change), along) / curvature[i]);
  EXPECT_LT(relative(as_double(secants.direction(slope, none)), along), 1e-6);
}

TEST(Secants, OfLinesThatAreKeptIn32Or16BitsGiveWhatPlainProductsOfThoseGive) {
  expect_the_formula_by_plain_products(200'003);
  expect_the_formula_by_plain_products(600'001);
}

TEST(Positions, JitterHasNoShiftScaleRotationOrShear) {
  const at::Tensor positions = small_scan().positions();
  const at::Tensor linear = at::tensor({0.01, 0.02, -0.02, 0.01}, at::kDouble).view({2, 2});
  const at::Tensor affine = positions.matmul(linear) + 3, own = noise({36, 2}, at::kDouble);
  const at::Tensor allowed = allowed_corrections(affine + own, positions, PositionFreedom::jitter);
  EXPECT_TRUE(at::allclose(allowed, allowed_corrections(own, positions, PositionFreedom::jitter)));
  EXPECT_TRUE(at::allclose(allowed_corrections(affine, positions, PositionFreedom::affine),
                           affine - affine.mean(0)));
  EXPECT_EQ(allowed_corrections(own, positions, PositionFreedom::none).abs().max().item<double>(),
            0);
}

TEST(Illumination, GatheringIsTheAdjointOfSpreading) {
  const at::Tensor corners = at::tensor({0, 0, 3, 2, 3, 2, 5, 7}, at::kLong).view({4, 2});
  const at::Tensor image = noise({4, 4}, at::kFloat), spread = spread_at(image, corners, 9, 11);
  const at::Tensor a = noise({9, 11}), b = noise({9, 11}).roll(1, 0).contiguous();
  EXPECT_NEAR((spread * squared(a)).sum().item<float>(),
              (image * gathered_power(a, corners, 4)).sum().item<float>(), 1e-3);
  const at::Tensor product = gathered_product(a, b, corners, 4);
  const at::Tensor difference = (spread * a.conj() * b).sum() - (image * product).sum();
  EXPECT_LT(difference.abs().item<float>(), 1e-3);
}

TEST(Smoothness, GradientIsThatOfItsValueWithStifferAmplitudeTiedToThePhaseAndWithEdges) {
  const at::Tensor object = noise({6, 7}), along = noise({7, 6}).t().contiguous();
  for (const SmoothnessPrior& prior :
       {SmoothnessPrior{.slope = 0.5}, SmoothnessPrior{.slope = 0.5, .stiffness = 3},
        SmoothnessPrior{.slope = 0.5, .stiffness = 3, .absorption = 0.7},
        SmoothnessPrior{.slope = 0.5, .edge = 0.4},
        SmoothnessPrior{.slope = 0.5, .stiffness = 3, .edge = 0.4}}) {
    at::Tensor gradient = at::zeros_like(object), ignored = at::zeros_like(object);
    add_smoothness(object, prior, 0.3, gradient);
    const double step = 1e-3;
    const double rise = add_smoothness(object + step * along, prior, 0.3, ignored) -
                        add_smoothness(object - step * along, prior, 0.3, ignored);
    const double slope =
        (at::view_as_real(gradient) * at::view_as_real(along)).sum().item<double>();
    EXPECT_NEAR(rise / (2 * step) / slope, 1, 5e-3)
        << prior.stiffness << " " << prior.edge << " " << prior.absorption;
  }
}

/// Of one material: its logarithm is (absorption + i) times a phase that changes slowly.
at::Tensor of_one_material(double absorption, const at::Tensor& phase) {
  return at::polar((absorption * phase).exp(), phase);
}

TEST(Smoothness, AbsorptionOfASampleOfOneMaterialIsItsRatioWhateverTheUnlitPixelsHold) {
  const at::Tensor phase = 0.2 * at::rand({9, 12});
  at::Tensor object = of_one_material(-0.3, phase), lit = at::ones({9, 12}, at::kBool);
  EXPECT_NEAR(absorption_of(object, lit), -0.3, 1e-3);
  object.narrow(1, 6, 6).copy_(of_one_material(2, phase.narrow(1, 6, 6)));
  lit.narrow(1, 6, 6).fill_(false);
  EXPECT_NEAR(absorption_of(object, lit), -0.3, 1e-3);
  EXPECT_EQ(absorption_of(at::ones({4, 4}, at::kComplexFloat), lit.narrow(0, 0, 4).narrow(1, 0, 4)),
            0);
}

TEST(Smoothness, AnAmplitudeThatGoesWithThePhaseCostsNoMoreThanASoftOne) {
  const at::Tensor object = of_one_material(-0.3, 0.2 * at::rand({9, 12}));
  at::Tensor ignored = at::zeros_like(object);
  const auto cost = [&](double stiffness, double absorption) {
    return add_smoothness(object, {.stiffness = stiffness, .absorption = absorption}, 1, ignored);
  };
  EXPECT_NEAR(cost(100, -0.3) / cost(1, 0), 1, 1e-2);
  EXPECT_GT(cost(100, 0), 5 * cost(1, 0));
}

TEST(Smoothness, AnEdgeCostsItsHeightAndNotItsSquareAndNoiseAsMuchAsWithoutEdges) {
  const auto cost = [](double height, double edge) {
    at::Tensor object = at::zeros({4, 8}, at::kComplexFloat), ignored = at::zeros_like(object);
    object.narrow(1, 4, 4).fill_(height);
    return add_smoothness(object, {.slope = 0.1, .edge = edge}, 1, ignored);
  };
  EXPECT_NEAR(cost(2, 0.01) / cost(1, 0.01), 2, 0.02);
  EXPECT_NEAR(cost(2, 0) / cost(1, 0), 4, 1e-3);
  EXPECT_NEAR(cost(0.001, 0.1) / cost(0.001, 0), 1, 1e-2);
}

}  // namespace
}  // namespace ptyche
