// Fractions of which no file says whether they are counts or roots of counts.
#include <gtest/gtest.h>

#include "ptyche/prepare/first_probe.h"
#include "tests/prepare/faulty_scans.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// Without noise, in which nothing but a solve tells.
const Scan& smooth_scan() {
  static const Scan scan = simulate({.probe = "defocused",
                                     .pattern_size = 32,
                                     .frames = 64,
                                     .step_px = 4,
                                     .photons = 1e5,
                                     .phase_range_rad = 2,
                                     .probe_diameter_px = 12,
                                     .noise = false,
                                     .seed = 4});
  return scan;
}

/// The scan as a reader that took its values for the other thing gives it; `k` times the square of
/// counts, or roots.
Scan misread(bool squared, double k) {
  ScanFields fields = smooth_scan().fields();
  const at::Tensor values = fields.counts.to(at::kDouble);
  fields.counts = (squared ? k * values.square() : 10 * values.sqrt()).to(at::kFloat);
  fields.squared_by = squared ? k : 0;
  fields.may_be_roots = !squared;
  return without_probe(Scan(fields));
}

/// How far counts are from those of the scan, but for their unit.
double apart_from_smooth(const Scan& scan) {
  const at::Tensor right = smooth_scan().counts().to(at::kDouble);
  const at::Tensor found = scan.counts().to(at::kDouble);
  const double unit = (found * right).sum().item<double>() / right.square().sum().item<double>();
  return ((found / unit - right).norm() / right.norm()).item<double>();
}

TEST(FirstValues, AreReadTheOtherWayWhereASearchExplainsClearlyMore) {
  const TestFolder folder;
  for (const bool squared : {true, false}) {
    const Scan wrong = misread(squared, 300);
    const KeepProbe keep{.file = folder / (squared ? "a.h5" : "b.h5")};
    const FirstProbe first = with_first_probe(wrong, {}, keep, ExamineOptions{});
    ASSERT_TRUE(first.values) << squared << ": " << first.found->fit.explained();
    EXPECT_LT(apart_from_smooth(first.scan), 1e-3) << squared;
    EXPECT_GT(apart_from_smooth(wrong), 0.1) << squared;
    const FirstProbe resumed =
        with_first_probe(wrong, {}, {.file = keep.file, .resume = true}, ExamineOptions{});
    EXPECT_TRUE(at::equal(resumed.scan.counts(), first.scan.counts())) << squared;
    EXPECT_TRUE(at::equal(resumed.scan.probe(), first.scan.probe())) << squared;
  }
}

TEST(FirstValues, StayWhereTheyAreRightOrNobodyMayChangeThem) {
  ScanFields fields = smooth_scan().fields();
  fields.squared_by = 1;
  EXPECT_FALSE(with_first_probe(Scan(fields), {}, {}, ExamineOptions{}).values);
  fields.squared_by = 0;
  fields.may_be_roots = true;
  EXPECT_FALSE(with_first_probe(Scan(fields), {}, {}, ExamineOptions{}).values);
  EXPECT_FALSE(with_first_probe(misread(true, 300), {}).values) << "--no-check";
}

}  // namespace
}  // namespace ptyche
