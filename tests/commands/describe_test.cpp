#include "ptyche/commands/describe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

std::string fact(const Scan& scan, const std::string& name) {
  const std::vector<Fact> facts = describe(scan);
  const auto found = std::ranges::find(facts, name, &Fact::name);
  return found == facts.end() ? "" : found->value;
}

/// Of what a solve keeps in memory: "counts ..., the program 400 MB: 1.3 GB of ...".
double gigabytes(const Scan& scan) {
  const std::string plan = fact(scan, "memory to solve");
  char* unit = nullptr;
  const double number = std::strtod(plan.c_str() + plan.rfind(": ") + 2, &unit);
  return std::string(unit).starts_with(" GB") ? number : number / 1000;
}

TEST(DescribeScan, CountsAreThoseOfCountedPixels) {
  ScanFields fields = small_scan().fields();
  const std::string largest = fact(Scan(fields), "largest count");
  const std::string mean = fact(Scan(fields), "counts per pattern");
  fields.mask = at::ones({16, 16}, at::kBool);
  fields.mask[0][15] = false;
  fields.counts = fields.counts.clone();
  fields.counts.select(1, 0).select(1, 15).fill_(4e9);
  EXPECT_EQ(fact(Scan(fields), "largest count"), largest);
  EXPECT_NEAR(std::atof(fact(Scan(fields), "counts per pattern").c_str()), std::atof(mean.c_str()),
              20);
}

TEST(DescribeScan, CallsTheTypeOfTheCountsAsNumPyDoes) {
  ScanFields fields = small_scan(25).fields();
  fields.counts = fields.counts.round().to(at::kShort);
  EXPECT_EQ(fact(Scan(fields), "patterns"), "25 of 16 x 16 px, int16");
}

TEST(DescribeScan, TheMemoryGrowsWithTheObject) {
  const Scan scan = small_scan();
  at::Tensor far = scan.positions().clone();
  far[0][0] += 20000;
  far[1][1] += 20000;
  EXPECT_GT(gigabytes(scan.with_positions(far)), gigabytes(scan) + 10);
}

}  // namespace
}  // namespace ptyche
