// A scan whose patterns several ranks hold gives the sums of one that is whole. The ranks are parts
// in this process; tests/solve/ranks_test.py has real ones.
#include "ptyche/solve/shares.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/io/together.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/counts_part.h"
#include "ptyche/solve/solve.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

/// The same scan with its counts in `parts` parts.
Scan in_parts(const Scan& scan, std::int64_t parts) {
  const at::Tensor used = scan.frame_use().eq(static_cast<int>(FrameUse::used));
  const at::Tensor owner = parts_along(scan.positions(), used, parts);
  const auto all = std::make_shared<std::vector<CountsPart>>(static_cast<std::size_t>(parts));
  for (std::int64_t part = 0; part < parts; ++part) {
    const at::Tensor own = owner.eq(part).nonzero().squeeze(1);
    answer((*all)[static_cast<std::size_t>(part)],
           ask_to_take({.counts = counts_of(scan, own), .first = 0, .all = own.size(0)}));
  }
  ScanFields fields = scan.fields();
  fields.counts = at::Tensor();
  fields.shared = std::make_shared<Shares>(
      owner, [all](const std::vector<RankMessage>& questions, const RankWork& work) {
        std::vector<RankMessage> answers(questions.size());
        for (std::size_t part = 0; part < questions.size(); ++part)
          if (!questions[part].empty()) answers[part] = work((*all)[part], questions[part]);
        return answers;
      });
  return Scan(std::move(fields));
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1e-30)).item<double>();
}

TEST(PartsAlong, AreCompactAndHaveAboutAsManyUsedPatterns) {
  const at::Tensor axis = at::arange(20, at::kDouble);
  const at::Tensor positions =
      at::stack({axis.repeat_interleave(20), 2 * axis.repeat(at::IntArrayRef{20})}, 1);
  const at::Tensor used = at::arange(400).remainder(5).ne(0);
  const at::Tensor owner = parts_along(positions, used, 4);
  for (std::int64_t part = 0; part < 4; ++part) {
    const at::Tensor own = owner.eq(part).nonzero().squeeze(1);
    EXPECT_NEAR(used.index_select(0, own).sum().item<double>(), 80, 8);
    const at::Tensor places = positions.index_select(0, own);
    EXPECT_LE((places.amax(0) - places.amin(0)).max().item<double>(), 22);
  }
}

TEST(Shares, GiveTheCountsAndTheirSums) {
  const Scan scan = small_scan(36), shared = in_parts(scan, 3);
  const at::Tensor some = at::tensor({30, 2, 17, 3}, at::kLong);
  EXPECT_TRUE(at::equal(counts_of(shared, some), counts_of(scan, some)));
  EXPECT_TRUE(at::equal(mean_pattern(shared, some), mean_pattern(scan, some)));
  EXPECT_EQ(fingerprint(shared), fingerprint(scan));
  const SolverProblem whole = make_problem(scan, {}), parts = make_problem(shared, {});
  EXPECT_TRUE(at::equal(parts.totals, whole.totals));
}

TEST(Shares, GiveTheGradientOfOneProcessForEveryFreedom) {
  const Scan scan = small_scan(36), shared = in_parts(scan, 4);
  for (const Engine engine : {Engine::fused, Engine::reference})
    for (const Interpolation how : {Interpolation::probe_fourier, Interpolation::bilinear}) {
      SolverOptions options{.background = true,
                            .positions = PositionFreedom::affine,
                            .intensities = IntensityFreedom::on,
                            .interpolation = how};
      const SolverProblem whole = make_problem(scan, options),
                          parts = make_problem(shared, options);
      SolverState state = start_state(whole, {});
      state.object = state.object * at::polar(at::ones(state.object.sizes()),
                                              0.3 * at::rand(state.object.sizes()));
      state.position_corrections += 0.3;
      const at::Tensor batch = at::arange(35, -1, -3, at::kLong);
      const SolverGradient one = gradient(whole, state, batch, {.engine = engine});
      const SolverGradient many = gradient(parts, state, batch, {.engine = engine});
      EXPECT_NEAR(many.loss / one.loss, 1, 1e-6);
      EXPECT_LT(largest_difference(many.object, one.object), 1e-5);
      EXPECT_LT(largest_difference(many.probe, one.probe), 1e-5);
      EXPECT_LT(largest_difference(many.background_root, one.background_root), 1e-5);
      EXPECT_LT(largest_difference(many.position_corrections, one.position_corrections), 1e-5);
      EXPECT_LT(largest_difference(many.intensities, one.intensities), 1e-5);
    }
}

TEST(Shares, LeadSolversToTheImageOfOneProcess) {
  const Scan scan = small_scan(64), shared = in_parts(scan, 3);
  for (const char* solver : {"lbfgs:6", "lsqml:4", "dm:6", "raar:6"}) {
    const SolverOptions options{.chain = chain_from(solver)};
    const Reconstruction one = solve(scan, {}, options).image;
    const Reconstruction many = solve(shared, {}, options).image;
    EXPECT_LT(largest_difference(many.object, one.object), 1e-4) << solver;
  }
}

TEST(Shares, SweptPatternByPatternEndWithTheDevianceOfOneProcess) {
  const Scan scan = simulate(
      {.pattern_size = 32, .frames = 100, .step_px = 3, .photons = 1e4, .probe_diameter_px = 14});
  const Scan shared = in_parts(scan, 4);
  for (const char* solver : {"epie:60", "rpie:60"}) {
    const SolverOptions options{.chain = chain_from(solver)};
    const double one = solve(scan, {}, options).image.loss.back();
    const double many = solve(shared, {}, options).image.loss.back();
    EXPECT_NEAR(many / one, 1, 0.01) << solver;
  }
}

TEST(Shares, ChangeTheirCountsAsOneProcessDoes) {
  const Scan scan = small_scan(36), shared = in_parts(scan, 3);
  for (const CountsChange& change : {CountsChange(ChangeValues{ChangeValues::Way::root, 1}),
                                     CountsChange(ShiftPatterns{2, -3})}) {
    ScanFields fields = in_parts(scan, 3).fields();
    fields.shared = fields.shared->changed(change);
    const at::Tensor all = at::arange(36);
    EXPECT_TRUE(at::equal(counts_of(Scan(std::move(fields)), all),
                          changed_counts(counts_of(scan, all), change)));
  }
}

TEST(Shares, ARankThatCannotAnswerIsNamed) {
  const Shares shares(
      at::zeros({4}, at::kLong), [](const std::vector<RankMessage>&, const RankWork&) {
        return std::vector<RankMessage>{failure_answer(std::runtime_error("no memory"))};
      });
  try {
    shares.sums();
    FAIL() << "an answer came";
  } catch (const RankFailure& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0 of 1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("no memory"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ptyche
