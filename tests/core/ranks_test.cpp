#include "ptyche/core/ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ptyche {
namespace {

/// The environment of this process but for what a starter of processes puts into it.
class RanksStartedTest : public ::testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }
  static void forget() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_FD", "PMIX_RANK",
                             "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
      unsetenv(name);
  }
};

TEST_F(RanksStartedTest, IsOneForAProcessThatWasStartedAlone) {
  EXPECT_EQ(ranks_started().count, 1);
  join_ranks();  // opens no library
  EXPECT_EQ(ranks().own, 0);
  EXPECT_EQ(ranks().all, 1);
  EXPECT_FALSE(ranks().several());
  leave_ranks();
}

TEST_F(RanksStartedTest, IsTheNumberOfMpirunsProcesses) {
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  EXPECT_EQ(ranks_started().count, 4);
  EXPECT_TRUE(ranks_started().has_interface);
}

TEST_F(RanksStartedTest, IsOneForABatchScriptOfAJobWithManyTasks) {
  setenv("SLURM_NTASKS", "8", 1);
  EXPECT_EQ(ranks_started().count, 1);
}

TEST_F(RanksStartedTest, KnowsWhetherTasksOfSrunCanFindEachOther) {
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  EXPECT_EQ(ranks_started().count, 8);
  EXPECT_FALSE(ranks_started().has_interface);
  setenv("PMIX_RANK", "3", 1);
  EXPECT_TRUE(ranks_started().has_interface);
}

}  // namespace
}  // namespace ptyche
