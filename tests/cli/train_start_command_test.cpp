// A training that goes on from another model, as a user starts it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ptyche/io/cxi.h"
#include "ptyche/model/model.h"
#include "tests/support/incoherent_scan.h"
#include "tests/support/run_program.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

TEST(TrainStartCommandSlow, RefinesAProbeThatItLookedForAndKeepsOneThatWasNamed) {
  const fs::path folder =
      fs::temp_directory_path() / ("ptyche train start " + std::to_string(getpid()));
  fs::create_directories(folder);
  write_cxi(folder / "a.cxi", incoherent_scan());
  const auto of = [&](const char* name) { return "'" + (folder / name).string() + "'"; };
  const std::string train = "train " + of("a.cxi") + " --epochs 1 --threads 1 -o ";
  const auto modes = [&](const char* name, const std::string& words) {
    const Outcome done = run_ptyche(train + of(name) + words);
    EXPECT_EQ(done.code, 0) << done.error;
    return read_model(folder / name / "model.ptyche").probe.size(0);
  };
  EXPECT_EQ(modes("new", ""), 1);
  EXPECT_EQ(modes("further", " --start " + of("new")), 3);
  EXPECT_EQ(modes("named", " --probe scan --start " + of("new")), 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ptyche
