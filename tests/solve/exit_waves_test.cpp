// What the difference map and RAAR keep from pass to pass.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/projection_kernels.h"
#include "ptyche/storage/hdf5.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(ExitWaves, ThatDoNotFitIntoMemoryAreRefusedByWhatTheyNeed) {
  EXPECT_NO_THROW(require_projection_memory(100, 64, 1, true));
  try {
    require_projection_memory(100'000'000, 128, 2, true);
    FAIL() << "expected a refusal";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("32768.0 GB"), std::string::npos) << error.what();
  }
}

TEST(ExitWaves, OutOfACheckpointGoOnBitForBit) {
  const SolverProblem problem = make_problem(small_scan(), {.background = false});
  for (const char* name : {"dm", "raar"}) {
    SolverState state = start_state(problem, {});
    const ChainLink link(name, 6);
    const auto solver = link.make(), resumed = link.make();
    for (std::int64_t epoch = 0; epoch < 4; ++epoch)
      solver->pass(problem, state, {epoch, 6, epoch});
    SolverState other = state.clone();
    const auto path = std::filesystem::temp_directory_path() / "ptyche_exit_waves_test.h5";
    Hdf5File out = Hdf5File::create(path);
    out.make_group("solver");
    solver->save(out, "solver");
    out.close();
    resumed->load(Hdf5File::open(path), "solver", other);
    solver->pass(problem, state, {4, 6, 4});
    resumed->pass(problem, other, {4, 6, 4});
    EXPECT_TRUE(at::equal(state.object, other.object)) << name;
    EXPECT_TRUE(at::equal(state.probe, other.probe)) << name;
  }
}

}  // namespace
}  // namespace ptyche
