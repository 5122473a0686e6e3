// Family a: sub-pixel translation.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/physics/resample.h"
#include "ptyche/ptychopinn/operators.h"
#include "tests/support/golden.h"

namespace ptyche {
namespace {

/// The file's shifts [x, y] as (K, 2) (row, col).
at::Tensor shifts_of(const GoldenFile& golden) { return golden.array("t_xy").flip(1).contiguous(); }

/// The file's image, once per shift.
at::Tensor images_of(const GoldenFile& golden, const std::string& name) {
  const at::Tensor image = golden.array(name);
  return image.unsqueeze(0).repeat({golden.array("t_xy").size(0), 1, 1});
}

TEST(GoldenTranslate, MovesRealAndComplexImagesAsPtychoPinnDoes) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    const at::Tensor shifts = shifts_of(golden), real = images_of(golden, "image_real");
    EXPECT_TRUE(agrees(translate(real, shifts), golden.array("out_real")));
    EXPECT_TRUE(
        agrees(translate(real.to(at::kDouble), shifts), golden.array("out_real_f64"), 0, 1e-12));
    EXPECT_TRUE(
        agrees(translate(images_of(golden, "image_complex"), shifts), golden.array("out_complex")));
  });
}

// PtychoPINN itself moves an image by a warp.
TEST(GoldenWarp, MovesImagesByAHomographyThatTranslates) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    const at::Tensor images = images_of(golden, "image_real"), shifts = shifts_of(golden);
    at::Tensor matrices = at::eye(3, at::kDouble).repeat({shifts.size(0), 1, 1});
    matrices.select(2, 2).narrow(1, 0, 2).copy_(-shifts);
    EXPECT_TRUE(agrees(warp(images, matrices), golden.array("out_real")));
    EXPECT_TRUE(
        agrees(warp(images_of(golden, "image_complex"), matrices), golden.array("out_complex")));
    EXPECT_TRUE(
        agrees(warp_adjoint(golden.array("adj_weight"), matrices), golden.array("adj_grad_image")));
  });
}

TEST(GoldenTranslate, TakesTheNearestPixelAsPtychoPinnDoes) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    const at::Tensor moved = translate(images_of(golden, "image_real"), shifts_of(golden),
                                       {.sampling = Sampling::nearest});
    EXPECT_TRUE(at::equal(moved, golden.array("out_nearest")));
  });
}

TEST(GoldenTranslate, HasPtychoPinnsGradients) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    const at::Tensor images = images_of(golden, "image_real").requires_grad_();
    const at::Tensor shifts = shifts_of(golden).requires_grad_();
    const at::Tensor weight = golden.array("adj_weight");
    (translate(images, shifts) * weight).sum().backward();
    EXPECT_TRUE(agrees(images.grad(), golden.array("adj_grad_image")));
    EXPECT_TRUE(agrees(translate_adjoint(weight, shifts.detach()), golden.array("adj_grad_image")));
    EXPECT_TRUE(agrees(shifts.grad().flip(1), golden.array("grad_t_xy")));
  });
}

// The fault BUG_fallback_no_xla: without XLA PtychoPINN moves content the other way.
TEST(GoldenTranslate, KeepsTheSignThatPtychoPinnsFallbackReverses) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    if (!golden.has("BUG_fallback_no_xla")) return;
    const at::Tensor real = images_of(golden, "image_real"), shifts = shifts_of(golden);
    const at::Tensor fault = golden.array("BUG_fallback_no_xla");
    const at::Tensor ours = translate(real, shifts), reversed = translate(real, -shifts);
    // Only in the middle: at the border the fault differs from both.
    const auto middle = [](const at::Tensor& x) {
      return x.narrow(1, x.size(1) / 2 - 2, 4).narrow(2, x.size(2) / 2 - 3, 6);
    };
    const at::Tensor size = shifts.abs().amax(1);
    for (std::int64_t k = 0; k < size.size(0); ++k) {
      if (size[k].item<double>() < 0.25 || size[k].item<double>() > 4) continue;
      const auto one = [&](const at::Tensor& x) { return middle(x.narrow(0, k, 1)); };
      EXPECT_TRUE(agrees(one(reversed), one(fault))) << "shift " << k;
      EXPECT_FALSE(agrees(one(ours), one(fault), 1e-2, 1e-2)) << "shift " << k;
    }
  });
}

// The fault BUG_bcast_out: image i silently gets shift i mod 2.
TEST(GoldenTranslate, RefusesTheMissingShiftsThatPtychoPinnMakesUp) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    if (!golden.has("BUG_bcast_out")) return;
    const at::Tensor images = golden.array("BUG_bcast_images");
    const at::Tensor shifts = golden.array("BUG_bcast_t_xy").flip(1).contiguous();
    EXPECT_THROW(translate(images, shifts), InvalidInput);
    const std::int64_t times = images.size(0) / shifts.size(0);
    EXPECT_TRUE(
        agrees(translate(images, shifts.repeat({times, 1})), golden.array("BUG_bcast_out")));
  });
}

}  // namespace
}  // namespace ptyche
