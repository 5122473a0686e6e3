// What solvers fit, one description for each array: packing, its slope, and checkpoints.
#include "ptyche/solve/variables.h"

#include <gtest/gtest.h>

#include "ptyche/data/probe.h"
#include "ptyche/solve/problem.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

SolverProblem problem_with_all() {
  SolverOptions options;
  options.background = true;
  options.positions = PositionFreedom::jitter;
  options.intensities = IntensityFreedom::on;
  return make_problem(small_scan(), options);
}

/// Of which no array is at rest.
SolverState state_with_all(const SolverProblem& problem) {
  at::manual_seed(3);
  SolverState state = start_state(problem, {});
  state.object = state.object + 0.1 * at::randn_like(state.object);
  state.position_corrections += 0.2 * at::randn_like(state.position_corrections);
  state.background_root += 0.1;
  state.intensities = at::linspace(0.8, 1.2, problem.patterns(), at::kDouble);
  return state;
}

TEST(Variables, ThatAreUnpackedAreThoseThatWerePacked) {
  const SolverProblem problem = problem_with_all();
  const SolverState state = state_with_all(problem);
  const at::Tensor coordinates = packed(state);
  ASSERT_EQ(coordinates.numel(), packed_numbers(state));
  const SolverState again = unpacked(coordinates, start_state(problem, {}));
  for (const Variable& variable : variables())
    EXPECT_TRUE(at::allclose(again.*variable.array, state.*variable.array, 1e-5, 1e-6))
        << variable.name;
}

TEST(Variables, HaveTheSlopeOfTheLossAlongTheirFreeCoordinates) {
  const SolverProblem problem = problem_with_all();
  const SolverState state = state_with_all(problem);
  const at::Tensor at = packed(state), all = all_patterns(problem);
  const at::Tensor slope = packed_slope(problem, state, gradient(problem, state, all));
  const auto loss = [&](const at::Tensor& coordinates) {
    SolverState there = unpacked(coordinates, state);
    there.probe = there.probe * std::sqrt(probe_power(state.probe) / probe_power(there.probe));
    return gradient(problem, there, all).loss;
  };
  std::int64_t first = 0;
  for (const Variable& variable : variables()) {
    const std::int64_t count =
        (state.*variable.array).numel() * ((state.*variable.array).is_complex() ? 2 : 1);
    at::Tensor along = at::zeros_like(at);
    along.narrow(0, first, count).copy_(slope.narrow(0, first, count));
    first += count;
    ASSERT_GT(along.norm().item<double>(), 0) << variable.name;
    const at::Tensor step = along * (0.01 / along.abs().max());
    const double expected = slope.dot(step).item<double>();
    EXPECT_NEAR((loss(at + step) - loss(at - step)) / 2 / expected, 1, 0.02) << variable.name;
  }
}

TEST(Variables, ComeBackFromACheckpointAndAreRefusedWhereOneIsMissing) {
  const TestFolder folder;
  const SolverProblem problem = problem_with_all();
  const SolverState state = state_with_all(problem);
  Hdf5File out = Hdf5File::create(folder / "a.h5");
  write_state(out, "state", state, 8);
  out.close();
  const Hdf5File in = Hdf5File::open(folder / "a.h5");
  SolverState first = start_state(problem, {});
  const SolverState read = read_state(in, "state", first, 8, 1);
  for (const Variable& variable : variables())
    EXPECT_TRUE(at::equal(read.*variable.array, state.*variable.array)) << variable.name;
  first.background_root = at::Tensor();
  EXPECT_EQ(message_of([&] { read_state(in, "state", first, 8, 1); }),
            "state/background_root: expected none, found one");
}

}  // namespace
}  // namespace ptyche
