#include "ptyche/commands/several_scans.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/storage/numpy.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

void touch(const fs::path& file) { std::ofstream(file) << "x"; }

std::vector<std::string> names_of(const std::vector<ScanJob>& jobs) {
  std::vector<std::string> names;
  for (const ScanJob& job : jobs) names.push_back(job.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(ScanJobs, PatternsAreFilledInTheOrderOfTheirNumbers) {
  const TestFolder folder;
  for (const char* name : {"s10.h5", "s9.h5", "s9.txt", "t1.h5"}) touch(folder / name);
  EXPECT_EQ(names_of(scan_jobs({folder / "s*.h5"}, {})), (Names{"s9", "s10"}));
  EXPECT_EQ(names_of(scan_jobs({folder / "?9.*"}, {})), (Names{"s9", "s9_2"}));
  EXPECT_THROW(scan_jobs({folder / "u*.h5"}, {}), InvalidInput);
}

TEST(ScanJobs, AFileWithSeveralScansIsOneJobForEachUnlessOneIsTaken) {
  const TestFolder folder;
  write_npz(folder / "night.npz", {{"scan_index", at::tensor({4, 4, 7, 7}, at::kLong)}});
  EXPECT_EQ(names_of(scan_jobs({folder / "night.npz"}, {})), (Names{"night_4", "night_7"}));
  ReadOptions one;
  one.scan_index = 7;
  const std::vector<ScanJob> jobs = scan_jobs({folder / "night.npz"}, one);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs.front().scan_index, 7);
}

/// What a run leaves.
void write_result(const fs::path& out, const std::string& verdict) {
  fs::create_directories(out);
  write_text(out / "scores.json",
             "{\"verdict\": \"" + verdict +
                 "\", \"verdict.expected_error\": 0.1, \"held_out.deviance_per_photon\": 0.02}");
}

TEST(RunScans, OneThatFailsDoesNotStopTheOthersAndTheWorstIsTheOutcome) {
  const TestFolder folder;
  std::vector<std::string> done;
  const auto reconstruct = [&](const ScanJob& job, const fs::path& out, const fs::path&) {
    done.push_back(job.name);
    if (job.name == "b") throw InvalidInput("no such scan");
    write_result(out, job.name == "c" ? "failed" : "good");
    if (job.name == "c") throw FailedImage("it stands still");
  };
  EXPECT_THROW(run_scans({{"a", -1, "a"}, {"b", -1, "b"}, {"c", -1, "c"}, {"d", -1, "d"}},
                         folder.path(), reconstruct),
               InvalidInput);
  EXPECT_EQ(done, (Names{"a", "b", "c", "d"}));
  EXPECT_THROW(run_scans({{"c", -1, "c"}, {"d", -1, "d"}}, folder.path(), reconstruct),
               FailedImage);
  const std::string table = read_bytes(folder / "scans.csv");
  EXPECT_NE(table.find("c,failed,0.1,0.02"), std::string::npos) << table;
  EXPECT_NE(table.find("d,good"), std::string::npos) << table;
}

TEST(RunScans, TheNextOneIsGivenTheLastResultThatHadNotFailed) {
  const TestFolder folder;
  std::vector<std::string> before;
  const auto reconstruct = [&](const ScanJob& job, const fs::path& out, const fs::path& last) {
    before.push_back(last.empty() ? "" : last.parent_path().filename().string());
    write_result(out, "good");
    if (job.name == "b") throw FailedImage("not of the sample");
  };
  EXPECT_THROW(
      run_scans({{"a", -1, "a"}, {"b", -1, "b"}, {"c", -1, "c"}}, folder.path(), reconstruct),
      FailedImage);
  EXPECT_EQ(before, (Names{"", "a", "a"}));
}

TEST(RunScans, CtrlCEndsAllOfThem) {
  const TestFolder folder;
  int runs = 0;
  const auto reconstruct = [&](const ScanJob&, const fs::path&, const fs::path&) {
    ++runs;
    throw Interrupted("stopped");
  };
  EXPECT_THROW(run_scans({{"a", -1, "a"}, {"b", -1, "b"}}, folder.path(), reconstruct),
               Interrupted);
  EXPECT_EQ(runs, 1);
}

TEST(Parse, AListTakesAllWordsThatAreNoOptions) {
  std::vector<fs::path> scans;
  double step = 0;
  Command command{.name = "run",
                  .arguments = {{"SCAN", &scans, "scans"}},
                  .options = {{.name = "step", .target = &step, .help = "a step"}}};
  parse(command, {"a.cxi", "--step", "2", "b.cxi", "c d.cxi"});
  EXPECT_EQ(scans, (std::vector<fs::path>{"a.cxi", "b.cxi", "c d.cxi"}));
  EXPECT_EQ(step, 2);
  EXPECT_EQ(command.arguments.front().text(), "a.cxi b.cxi c d.cxi");
}

}  // namespace
}  // namespace ptyche
