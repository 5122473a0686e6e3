// Family a: sub-pixel translation.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/physics/translate.h"
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

TEST(GoldenTranslate, MovesRealAndComplexImagesAsTheOriginalDoes) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    const at::Tensor shifts = shifts_of(golden), real = images_of(golden, "image_real");
    EXPECT_TRUE(agrees(translate(real, shifts), golden.array("out_real")));
    EXPECT_TRUE(
        agrees(translate(real.to(at::kDouble), shifts), golden.array("out_real_f64"), 0, 1e-12));
    EXPECT_TRUE(
        agrees(translate(images_of(golden, "image_complex"), shifts), golden.array("out_complex")));
  });
}

TEST(GoldenTranslate, TakesTheNearestPixelAsTheOriginalDoes) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    const at::Tensor moved = translate(images_of(golden, "image_real"), shifts_of(golden),
                                       {.sampling = Sampling::nearest});
    EXPECT_TRUE(at::equal(moved, golden.array("out_nearest")));
  });
}

TEST(GoldenTranslate, HasTheOriginalsGradients) {
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

// The fault BUG_fallback_no_xla: without XLA the original moves content the other way.
TEST(GoldenTranslate, KeepsTheSignThatTheOriginalsFallbackReverses) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
    const at::Tensor real = images_of(golden, "image_real"), shifts = shifts_of(golden);
    const at::Tensor fault = golden.array("BUG_fallback_no_xla");
    const at::Tensor ours = translate(real, shifts), reversed = translate(real, -shifts);
    // Away from the border, where it differs from both, the fault is the reverse translation.
    const auto inside = [](const at::Tensor& x) { return x.narrow(1, 8, 4).narrow(2, 9, 6); };
    const at::Tensor small = shifts.abs().amax(1).lt(4).logical_and(shifts.abs().amax(1).ge(0.25));
    const at::Tensor chosen = small.nonzero().flatten();
    ASSERT_GT(chosen.numel(), 0);
    const auto some = [&](const at::Tensor& x) { return inside(x.index_select(0, chosen)); };
    EXPECT_TRUE(agrees(some(reversed), some(fault)));
    EXPECT_FALSE(agrees(some(ours), some(fault), 1e-2, 1e-2));
  });
}

// The fault BUG_bcast_out: image i silently gets shift i mod 2.
TEST(GoldenTranslate, RefusesTheMissingShiftsThatTheOriginalMakesUp) {
  for_each_golden("a_translate", [](const GoldenFile& golden) {
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
