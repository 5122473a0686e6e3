#include "ptyche/ptychopinn/compare_models.h"

#include <gtest/gtest.h>

#include "ptyche/simulate/simulate.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

Scan scan_with_truth() {
  return simulate({.pattern_size = 32, .frames = 100, .step_px = 4, .probe_diameter_px = 12});
}

Reconstruction image_of(const Scan& scan, const at::Tensor& object) {
  Reconstruction image = empty_reconstruction(scan, Interpolation::probe_fourier);
  const std::int64_t rows = image.rows(), cols = image.cols();
  image.object = cut(object, {image.origin_row, image.origin_row + rows, image.origin_col,
                              image.origin_col + cols})
                     .contiguous()
                     .unsqueeze(0);
  image.coverage = at::ones({rows, cols});
  return image;
}

TEST(CompareModels, ScoresTheTruthWithoutErrorAndOnePartOfItForAll) {
  const Scan scan = scan_with_truth();
  const at::Tensor truth = scan.truth();
  const ComparedModels compared =
      compare_models(scan, {{"perfect", image_of(scan, truth)},
                            {"worse", image_of(scan, truth + 0.2 * truth.roll({5, 3}, {0, 1}))}});
  ASSERT_EQ(compared.objects.size(), 3u);
  for (const LabelledObject& object : compared.objects) {
    EXPECT_EQ(object.object.sizes(), compared.objects[0].object.sizes());
    EXPECT_EQ(object.object.size(0), object.object.size(1));
  }
  const auto error = [&](int k) { return compared.scores[k].metrics.image.aligned.nrmse_contrast; };
  EXPECT_LT(error(0), 1e-3);
  EXPECT_GT(error(1), 0.05);
}

TEST(CompareModels, WritePtychoPinnsColumnsAndLeaveOutWhatIsNotFinite) {
  LabelledMetrics model{"pinn", {}};
  model.metrics.image.ptychopinn.amplitude.mae = 0.25;
  model.metrics.image.ptychopinn.phase.frc50 = std::nan("");
  const std::string table = metrics_table({model});
  EXPECT_TRUE(
      table.starts_with("model,metric,amplitude,phase,value\npinn,mae,0.250000,0.000000,\n"))
      << table;
  EXPECT_NE(table.find("pinn,frc50,0.000000,,\n"), std::string::npos) << table;
}

TEST(CompareModels, RefuseAScanWithoutATruthAndALabelThatComesTwice) {
  const Scan scan = scan_with_truth();
  const Reconstruction image = image_of(scan, scan.truth());
  EXPECT_EQ(message_of([&] {
              compare_models(scan, {{"a", image}, {"a", image}});
            }),
            "expected each label once, found 'a' twice");
  ScanFields fields = scan.fields();
  fields.truth = at::Tensor();
  fields.source = "s.npz";
  EXPECT_EQ(message_of([&] { compare_models(Scan(std::move(fields)), {}); }),
            "s.npz: expected a scan with a truth to compare with, found none");
}

}  // namespace
}  // namespace ptyche
