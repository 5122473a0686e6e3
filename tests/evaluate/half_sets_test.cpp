#include "ptyche/evaluate/half_sets.h"

#include <gtest/gtest.h>

#include <vector>

#include "ptyche/core/error.h"
#include "tests/evaluate/blobs.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

at::Tensor used_in(const Scan& scan) { return scan.frames_with(FrameUse::used); }

/// A scan of 36 patterns of which number 3 is held out and number 4 rejected.
Scan scan_with_others() {
  const Scan scan = small_scan();
  at::Tensor use = scan.frame_use().clone();
  use[3] = static_cast<int>(FrameUse::held_out);
  use[4] = static_cast<int>(FrameUse::rejected);
  return scan.with_frame_use(use);
}

TEST(HalfOf, SplitsTheUsedPatternsByTheirNumberInTheFile) {
  const Scan scan = scan_with_others();
  const at::Tensor even = used_in(half_of(scan, Half::even));
  const at::Tensor odd = used_in(half_of(scan, Half::odd));
  EXPECT_EQ(even.size(0), 17);
  EXPECT_EQ(odd.size(0), 17);
  EXPECT_TRUE(even.remainder(2).eq(0).all().item<bool>());
  EXPECT_TRUE(odd.remainder(2).eq(1).all().item<bool>());
}

TEST(HalfOf, LeavesHeldOutPatternsHeldOut) {
  for (const Half half : {Half::even, Half::odd})
    EXPECT_EQ(
        half_of(scan_with_others(), half).frames_with(FrameUse::held_out).item<std::int64_t>(), 3);
}

TEST(HalfOf, RefusesAScanWithoutTwoPatternsInEachHalf) {
  EXPECT_THROW(half_of(small_scan(3), Half::odd), InvalidInput);
  EXPECT_THROW(require_halves(small_scan(3)), InvalidInput);
  EXPECT_NO_THROW(require_halves(small_scan(4)));
}

/// The blobs, cut into a canvas, with as much noise as `seed` draws.
Reconstruction noisy_blobs(std::int64_t seed, double level) {
  const at::Tensor grid = at::arange(128 * 128, at::kDouble).view({128, 128});
  Reconstruction image;
  // Two fast quadratic phases that have nothing in common.
  const double rate = seed == 0 ? 0.37 : 0.611;
  image.object = blobs(128, 128) + level * (rate * grid.square()).sin();
  return image;
}

TEST(HalfSets, RunThePipelineOnceOnEachHalfAndCorrelateTheImages) {
  std::vector<std::int64_t> parities;
  const auto pipeline = [&](double level) {
    return [&parities, level](const Scan& half) {
      parities.push_back(used_in(half)[0].item<std::int64_t>() % 2);
      return noisy_blobs(parities.back(), level);
    };
  };
  const HalfSets clear = half_sets(small_scan(), pipeline(0.02));
  EXPECT_EQ(parities, (std::vector<std::int64_t>{0, 1}));
  const HalfSets noisy = half_sets(small_scan(), pipeline(1.0));
  EXPECT_GT(clear.agreement.error.frc.half_bit, 1.2 * noisy.agreement.error.frc.half_bit);
  EXPECT_GT(noisy.agreement.error.frc.half_bit, 0.03);
  EXPECT_FALSE(at::equal(clear.even.object, clear.odd.object));
}

}  // namespace
}  // namespace ptyche
