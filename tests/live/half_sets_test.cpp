// How far two halves of a scan agree, told beside the run.
#include "ptyche/live/half_sets.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "ptyche/data/array.h"
#include "ptyche/live/board.h"

namespace ptyche {
namespace {

using Half = std::pair<at::Tensor, at::Tensor>;

at::Tensor noise(std::int64_t side) {
  return at::complex(at::randn({side, side}), at::randn({side, side}));
}

/// Noise of its own that begins where a Gaussian of sigma px, of which both are made, ends.
Half image_of(const at::Tensor& common, double share) {
  return {common + share * noise(common.size(0)), at::ones(common.sizes())};
}

at::Tensor blurred(const at::Tensor& field, double sigma) {
  return gaussian_filter(field.to(at::kComplexDouble), sigma).to(at::kComplexFloat);
}

TEST(HalfSetLooks, AgreeAsFarAsWhatTheyHaveInCommonReaches) {
  at::manual_seed(1);
  const at::Tensor field = noise(160);
  const at::Tensor coarse = blurred(field, 4) * 8, fine = blurred(field, 1) * 2;
  const double little = half_set_crossing(image_of(coarse, 0.2), image_of(coarse, 0.2)),
               much = half_set_crossing(image_of(fine, 0.2), image_of(fine, 0.2));
  EXPECT_GT(little, 0.02);
  EXPECT_LT(little, 0.15);
  EXPECT_GT(much, 1.5 * little);
}

TEST(HalfSetLooks, AreNotJudgedWhereTooLittleIsLitInBoth) {
  const at::Tensor field = noise(64);
  const Half bright{field, at::ones({64, 64})}, dark{field, at::zeros({64, 64})};
  EXPECT_TRUE(std::isnan(half_set_crossing(bright, dark)));
  EXPECT_FALSE(std::isnan(half_set_crossing(bright, bright)));
}

TEST(HalfSetLooks, AreWorkedOutWhileTheFramesGoOn) {
  at::manual_seed(2);
  GrowingCanvas canvas;
  const at::Tensor object = blurred(noise(128), 1) + 1;
  for (std::int64_t index = 0; index < 2; ++index)
    canvas.add(object.unsqueeze(0), at::ones({1, 128, 128}), at::zeros({1, 2}, at::kLong), {index});
  HalfSetLooks halves;
  EXPECT_TRUE(std::isnan(halves.crossing()));
  halves.look(canvas, 1);
  for (int i = 0; i < 500 && std::isnan(halves.crossing()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    halves.look(canvas, 1.01);
  }
  EXPECT_GT(halves.crossing(), 0.3) << "two equal halves agree as far as there are frequencies";
}

}  // namespace
}  // namespace ptyche
