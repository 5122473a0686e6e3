// Family e: scales and losses.
#include <gtest/gtest.h>

#include "ptyche/physics/losses.h"
#include "ptyche/ptychopinn/operators.h"
#include "tests/support/golden.h"

namespace ptyche {
namespace {

/// (B, N, N, C) as (B, C, N, N).
at::Tensor channels_first(const at::Tensor& images) {
  return images.permute({0, 3, 1, 2}).contiguous();
}
at::Tensor channels_last(const at::Tensor& images) {
  return images.permute({0, 2, 3, 1}).contiguous();
}

/// What PtychoPINN's losses are made of, in float64.
struct Case {
  explicit Case(const GoldenFile& golden)
      : scale(golden.number("intensity_scale")),
        output(channels_first(golden.array("pred_amp_unscaled")).to(at::kDouble)),
        counts((scale * channels_first(golden.array("X_normalised")).to(at::kDouble)).square()),
        mask(at::ones({counts.size(-2), counts.size(-1)}, at::kBool)) {}

  /// PtychoPINN's network gives an amplitude over its scale.
  at::Tensor intensity(const at::Tensor& of) const { return (scale * of).square(); }

  double scale;
  at::Tensor output, counts, mask;
};

/// PtychoPINN's NLL does not subtract its value at a perfect fit; zero counts have none.
at::Tensor at_perfect_fit(const at::Tensor& counts) { return counts - at::xlogy(counts, counts); }

/// The first patterns of `ours`, as many as `golden` holds.
at::Tensor like(const at::Tensor& ours, const at::Tensor& golden) {
  return channels_last(ours).narrow(0, 0, golden.size(0));
}

TEST(GoldenScale, IsPtychoPinns) {
  for_each_golden("e_losses", [](const GoldenFile& golden) {
    const at::Tensor raw = channels_first(golden.array("raw_amplitude"));
    EXPECT_TRUE(agrees(channels_last(raw * amplitude_norm(raw)), golden.array("X_normalised")));
    EXPECT_NEAR(intensity_scale(golden.number("nphotons"), golden.integer("N")) /
                    golden.number("intensity_scale"),
                1, 1e-6);
  });
}

TEST(GoldenScale, TurnsOutputsAndInputsIntoPtychoPinnsCounts) {
  for_each_golden("e_losses", [](const GoldenFile& golden) {
    const Case e(golden);
    const auto same = [&](const at::Tensor& ours, const char* name) {
      EXPECT_TRUE(agrees(like(ours, golden.array(name)), golden.array(name))) << name;
    };
    same(e.scale * e.output, "pred_amp");
    same(e.intensity(e.output), "pred_intensity");
    same(e.counts.sqrt(), "target_amp");
    same(e.counts, "target_intensity");
  });
}

TEST(GoldenPoissonLoss, IsPtychoPinnsInEveryPixelAndInTheMean) {
  for_each_golden("e_losses", [](const GoldenFile& golden) {
    const Case e(golden);
    const at::Tensor terms =
        pixel_losses(LossKind::poisson, e.intensity(e.output), e.counts, e.mask, kNoFloor) +
        at_perfect_fit(e.counts);
    const at::Tensor expected = golden.array("nll_per_pixel");
    EXPECT_TRUE(agrees(like(terms, expected), expected));
    const double mean = terms.mean().item<double>();
    EXPECT_NEAR(mean / golden.number("nll_mean_f64"), 1, 1e-6);
    EXPECT_NEAR(mean / golden.number("nll_mean_f32"), 1, 1e-5);
  });
}

TEST(GoldenPoissonLoss, HasPtychoPinnsGradient) {
  for_each_golden("e_losses", [](const GoldenFile& golden) {
    const Case e(golden);
    const at::Tensor output = e.output.clone().requires_grad_();
    pixel_losses(LossKind::poisson, e.intensity(output), e.counts, e.mask, kNoFloor)
        .mean()
        .backward();
    EXPECT_TRUE(
        agrees(channels_last(output.grad()), golden.array("grad_nll_wrt_pred_amp_unscaled")));
  });
}

TEST(GoldenAmplitudeLoss, IsPtychoPinnsMeanAbsoluteErrorWithItsGradient) {
  for_each_golden("e_losses", [](const GoldenFile& golden) {
    const Case e(golden);
    const at::Tensor output = e.output.clone().requires_grad_();
    const at::Tensor loss =
        pixel_losses(LossKind::amplitude_absolute, e.intensity(output), e.counts, e.mask, kNoFloor)
            .mean();
    loss.backward();
    EXPECT_NEAR(loss.item<double>() / golden.number("mae_mean_f32"), 1, 1e-5);
    EXPECT_TRUE(
        agrees(channels_last(output.grad()), golden.array("grad_mae_wrt_pred_amp_unscaled")));
  });
}

}  // namespace
}  // namespace ptyche
