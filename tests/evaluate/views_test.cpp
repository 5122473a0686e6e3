#include "ptyche/evaluate/views.h"

#include <gtest/gtest.h>

#include <functional>

#include "ptyche/evaluate/compare.h"
#include "tests/evaluate/blobs.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSide = 128;
const Window kImageMiddle{32, 96, 32, 96};

Reconstruction result_of(const at::Tensor& object, double pixel_m = 0) {
  Reconstruction image;
  image.object = object.contiguous().unsqueeze(0);
  image.geometry.object_pixel_m = pixel_m;
  return image;
}

Comparison compared(const at::Tensor& image) {
  return compare(result_of(image), result_of(blobs(kSide, kSide)), kImageMiddle, Ways::all)
      .comparison;
}

using Lay = std::function<at::Tensor(const at::Tensor&)>;

struct Laid {
  const char* how;
  Lay lay;
};

const std::vector<Laid>& ways() {
  static const std::vector<Laid> all{
      {"the twin",
       [](const at::Tensor& o) {
         return o.flip({0, 1}).conj().resolve_conj();
       }},
      {"turned by 180 degrees",
       [](const at::Tensor& o) {
         return o.flip({0, 1});
       }},
      {"conjugated (the other sign of the phase)",
       [](const at::Tensor& o) { return o.conj().resolve_conj(); }},
      {"transposed", [](const at::Tensor& o) { return o.t(); }},
      {"mirrored, its rows reversed", [](const at::Tensor& o) { return o.flip(0); }},
      {"mirrored, its columns reversed", [](const at::Tensor& o) { return o.flip(1); }},
      // What undoes a turn by 90 degrees is one by -90.
      {"turned by",
       [](const at::Tensor& o) {
         return at::rot90(o, 1, {0, 1});
       }},
      {"turned by",
       [](const at::Tensor& o) {
         return at::rot90(o, -1, {0, 1});
       }},
      {"conjugated and transposed",
       [](const at::Tensor& o) { return o.t().conj().resolve_conj(); }},
      {"conjugated and mirrored",
       [](const at::Tensor& o) { return o.flip(1).conj().resolve_conj(); }},
      {"moved by half of its size", [](const at::Tensor& o) {
         return o.roll({kSide / 2, kSide / 2}, {0, 1});
       }}};
  return all;
}

TEST(BetterViewSlow, NamesEachWayInWhichAnImageWasLaidAndItsErrorThen) {
  const at::Tensor right = blobs(kSide, kSide);
  for (const auto& [how, lay] : ways()) {
    const auto found = better_view(lay(right).contiguous(), right, kImageMiddle, 1.3);
    ASSERT_TRUE(found) << how;
    EXPECT_NE(found->how.find(how), std::string::npos) << how << ": " << found->how;
    EXPECT_LT(found->nrmse_contrast, 1e-3) << how;
  }
}

TEST(BetterView, FindsATwinThatIsShiftedRampedScaledAndNoisy) {
  const at::Tensor noise =
      at::complex(at::randn({kSide, kSide}, at::kDouble), at::randn({kSide, kSide}, at::kDouble));
  const at::Tensor twin =
      blobs(kSide, kSide, {5.3, -3.6, 0.01, -0.02, {-0.2, 0.45}}).flip({0, 1}).conj() +
      0.01 * noise;
  const Comparison found = compared(twin.resolve_conj());
  ASSERT_TRUE(found.other_view);
  EXPECT_NE(found.other_view->how.find("the twin"), std::string::npos) << found.other_view->how;
  EXPECT_LT(found.other_view->nrmse_contrast, 0.3);
}

TEST(BetterViewSlow, IsNothingForAGoodImageABadOneAndAnotherSample) {
  at::manual_seed(3);
  const at::Tensor right = blobs(kSide, kSide);
  const at::Tensor noise =
      at::complex(at::randn({kSide, kSide}, at::kDouble), at::randn({kSide, kSide}, at::kDouble));
  for (const at::Tensor& image : {right + 2 * noise, 1 + noise})
    EXPECT_FALSE(better_view(image, right, kImageMiddle, 1.2));
  EXPECT_FALSE(compared(right + 0.1 * noise).other_view);
  EXPECT_FALSE(compared(at::ones_like(right)).other_view);
}

TEST(BetterView, NamesPixelsOfAnotherSizeWhereNoneIsKnown) {
  const at::Tensor right = blobs(kSide, kSide);
  const auto found = better_view(resampled(right, 0.5, {0, 0}), right, kImageMiddle, 1.2);
  ASSERT_TRUE(found);
  EXPECT_NE(found->how.find("pixels 0.5 times as large"), std::string::npos) << found->how;
  EXPECT_LT(found->nrmse_contrast, 0.1);
}

TEST(Resampled, IsTheFourierSeriesBetweenThePixels) {
  // One wave of 5 periods in 40 pixels: its values anywhere are known.
  const at::Tensor x = at::arange(40, at::kDouble);
  const auto wave = [](const at::Tensor& at) {
    const at::Tensor turns = 2 * M_PI * 5 * at / 40;
    return at::polar(at::ones_like(turns), turns);
  };
  const at::Tensor image = at::outer(at::ones_like(x).to(at::kComplexDouble), wave(x));
  const at::Tensor found = resampled(image, 0.8, {0, 0.3});
  const at::Tensor places = 0.3 + 0.8 * at::arange(found.size(1), at::kDouble);
  EXPECT_EQ(found.size(0), 49);  // 0 .. 38.4
  EXPECT_LT((found - wave(places)).abs().max().item<double>(), 1e-12);
}

TEST(Compare, ResamplesAnImageWithOtherPixelsAndKeepsItsPlace) {
  for (const double ratio : {0.7, 1.6}) {
    // The same sample with pixels of another size, cut 12 px from its corner.
    Reconstruction image =
        result_of(resampled(blobs(kSide, kSide), ratio, {12 * ratio, 12 * ratio}), ratio * 1e-8);
    image.origin_row = image.origin_col = 12;
    const Comparison found = compare(image, result_of(blobs(kSide, kSide), 1e-8)).comparison;
    EXPECT_LT(found.error.nrmse_contrast, ratio > 1 ? 0.2 : 0.05) << ratio;
    EXPECT_NEAR(found.gauge.shift_row_px, 0, 0.05) << ratio;
    EXPECT_NEAR(found.gauge.shift_col_px, 0, 0.05) << ratio;
  }
}

}  // namespace
}  // namespace ptyche
