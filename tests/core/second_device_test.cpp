#include "tests/support/second_device.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <string>

namespace ptyche {
namespace {

const at::Device kThere = second_device();

at::Tensor numbers(at::IntArrayRef shape, at::ScalarType type = at::kDouble) {
  at::manual_seed(3);
  return at::randn(shape, type);
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

void expect_same(const at::Tensor& there, const at::Tensor& here) {
  EXPECT_EQ(there.device(), kThere);
  EXPECT_TRUE(there.cpu().allclose(here, 1e-12, 1e-12)) << there.cpu() << here;
}

TEST(SecondDevice, TakesTensorsAndGivesThemBack) {
  const at::Tensor here = numbers({3, 4}), there = here.to(kThere);
  EXPECT_EQ(there.device(), kThere);
  EXPECT_TRUE(at::equal(there.cpu(), here));
  EXPECT_EQ(there.sum().item<double>(), here.sum().item<double>());
}

TEST(SecondDevice, RefusesOperandsOfTwoDevicesByName) {
  const at::Tensor here = numbers({3, 4}), there = here.to(kThere);
  EXPECT_NE(refusal_of([&] { there + here; }), "");
  EXPECT_NE(refusal_of([&] { here.clone().add_(there); }), "");
  const at::Tensor places = at::tensor({0, 2}, at::kLong);
  const std::string found = refusal_of([&] { there.index_select(0, places); });
  EXPECT_NE(found.find("index_select"), std::string::npos) << found;
  EXPECT_NE(found.find("on second:0 and on cpu"), std::string::npos) << found;
  EXPECT_NE(refusal_of([&] { there.matmul(here.t()); }), "");
  EXPECT_NE(refusal_of([&] { at::cat({there, here}); }), "");
  EXPECT_NE(refusal_of([&] { at::where(there.gt(0), here, here); }), "");
  EXPECT_NE(refusal_of([&] {
              at::conv2d(numbers({1, 1, 4, 4}).to(kThere), numbers({1, 1, 3, 3}));
            }),
            "");
}

TEST(SecondDevice, TakesANumberFromTheCpu) {
  const at::Tensor here = numbers({3, 4});
  expect_same(here.to(kThere) * at::scalar_tensor(2.0, at::kDouble), 2 * here);
}

TEST(SecondDevice, HasViewsThatShareItsMemory) {
  const at::Tensor there = numbers({4, 6}).to(kThere), pairs = numbers({5, 2}).to(kThere);
  there.view({24}).narrow(0, 0, 6).fill_(7);
  there.t().select(1, 3).zero_();
  at::view_as_complex(pairs).mul_(2);
  at::real(at::view_as_complex(pairs)).fill_(1);
  EXPECT_TRUE(there.cpu()[0].eq(7).all().item<bool>());
  EXPECT_TRUE(there.cpu()[3].eq(0).all().item<bool>());
  EXPECT_TRUE(pairs.cpu().select(1, 0).eq(1).all().item<bool>());
  EXPECT_TRUE(at::equal(pairs.cpu().select(1, 1), 2 * numbers({5, 2}).select(1, 1)));
}

TEST(SecondDevice, ResizesOutputs) {
  at::Tensor there = at::empty({0}, at::TensorOptions(at::kDouble).device(kThere));
  at::add_out(there, numbers({3}).to(kThere), numbers({3}).to(kThere));
  expect_same(there, 2 * numbers({3}));
  expect_same(numbers({3, 4}).to(kThere).gt(0).nonzero(), numbers({3, 4}).gt(0).nonzero());
}

TEST(SecondDevice, KnowsConjugatesThatAreNotWrittenOut) {
  const at::Tensor here = numbers({4, 4}, at::kComplexDouble), there = here.to(kThere);
  expect_same(there.conj() * there, here.conj() * here);
  expect_same(there.conj().t().matmul(there), here.conj().t().matmul(here));
}

/// The gradient of a function of several steps by its argument.
template <class Function>
at::Tensor slope_of(const at::Tensor& argument, const Function& function) {
  const at::Tensor leaf = argument.detach().requires_grad_();
  function(leaf).backward();
  return leaf.grad();
}

TEST(SecondDevice, HasTheGradientsOfTheCpu) {
  const at::Tensor image = numbers({2, 8, 8, 8}, at::kFloat),
                   weight = numbers({16, 8, 3, 3}, at::kFloat);
  const auto network = [&](const at::Tensor& x) {
    const at::Tensor inner = at::conv2d(x, weight.to(x.device()), {}, 1, 1);
    const at::Tensor norm = at::group_norm(inner, 8, at::ones({16}, x.options()));
    return at::pixel_shuffle(at::upsample_nearest2d(at::gelu(norm), {16, 16}), 2).square().sum();
  };
  const at::Tensor there = slope_of(image.to(kThere), network), here = slope_of(image, network);
  EXPECT_LT((there.cpu() - here).norm().item<double>(), 1e-5 * here.norm().item<double>());
  const at::Tensor wave = numbers({2, 8, 8}, at::kComplexDouble);
  const auto physics = [&](const at::Tensor& x) {
    const at::Tensor rows = at::tensor({1, 0, 1}, at::kLong).to(x.device());
    const at::Tensor seen = at::fft_fft2(x.index_select(0, rows)).abs().square();
    return (seen + at::fft_irfft2(at::fft_rfft2(at::real(x))).sum()).log().sum();
  };
  expect_same(slope_of(wave.to(kThere), physics), slope_of(wave, physics));
}

TEST(SecondDevice, CountsWhatGoesThereAndBack) {
  const TransferCounts before = transfers();
  const at::Tensor there = numbers({3}).to(kThere);
  (there + there).clone();
  there.cpu();
  EXPECT_EQ(transfers().there - before.there, 1);
  EXPECT_EQ(transfers().back - before.back, 1);
}

}  // namespace
}  // namespace ptyche
