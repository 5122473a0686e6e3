// The picture of what the doctor looked at.
#include "ptyche/report/checks.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ptyche/core/files.h"
#include "tests/prepare/faulty_scans.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

TEST(Checks, LeavesAPictureAndTheFindingsWithTheirNumbers) {
  const TestFolder folder;
  const Scan scan = with_counts(good_scan(), good_scan().counts().to(at::kFloat).sqrt());
  write_check(folder.path(), scan, treat(scan));
  EXPECT_TRUE(read_bytes(folder / "checks.png").starts_with("\x89PNG"));
  const auto json = nlohmann::json::parse(read_bytes(folder / "checks.json"));
  EXPECT_EQ(json["findings"][0]["cause"], "values: amplitudes");
  EXPECT_EQ(json["findings"][0]["level"], "correct");
  EXPECT_NEAR(json["numbers"]["gain_ratio"].get<double>(), 1, 0.2);
}

TEST(Checks, DrawsAScanInWhichThereIsNothingButZeros) {
  ScanFields fields = fields_of(good_scan());
  fields.counts = at::zeros_like(fields.counts);
  const Scan dark(fields);
  EXPECT_TRUE(checks_png(dark, {.scan = dark}).starts_with("\x89PNG"));
}

}  // namespace
}  // namespace ptyche
