// Several scans in one call, as a user makes it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ptyche/io/cxi.h"
#include "ptyche/simulate/simulate.h"
#include "tests/support/run_program.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

/// Scans a.cxi and b.cxi of one beam, the second with no probe in its file.
void write_two_scans(const fs::path& folder) {
  SimulateOptions options;
  options.pattern_size = 32;
  options.frames = 100;
  options.probe_diameter_px = 12;
  options.step_px = 3;
  write_cxi(folder / "a.cxi", simulate(options));
  options.seed = 2;
  ScanFields second = simulate(options).fields();
  second.probe_given = false;
  write_cxi(folder / "b.cxi", Scan(second));
}

TEST(SeveralScansCommand, StartsTheSecondScanFromTheProbeOfTheFirstAndEndsWithATable) {
  const fs::path folder =
      fs::temp_directory_path() / ("ptyche several cli " + std::to_string(getpid()));
  fs::create_directories(folder);
  write_two_scans(folder);
  const auto of = [&](const char* name) { return "'" + (folder / name).string() + "'"; };
  const Outcome done =
      run_ptyche("reconstruct " + of("*.cxi") + " -o " + of("out") + " --threads 1 --no-verdict");
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.error.find("it starts from the probe of a"), std::string::npos) << done.error;
  const auto scores = nlohmann::json::parse(file_bytes(folder / "out/b/scores.json"));
  EXPECT_FALSE(scores.contains("probe.seconds")) << "a probe was searched for";
  EXPECT_LT(scores["held_out.deviance_per_photon"].get<double>(),
            0.2 * scores["held_out.mean_pattern_deviance_per_photon"].get<double>());
  const std::string table = file_bytes(folder / "out/scans.csv");
  EXPECT_NE(table.find("\na,"), std::string::npos) << table;
  EXPECT_NE(table.find("\nb,"), std::string::npos) << table;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ptyche
