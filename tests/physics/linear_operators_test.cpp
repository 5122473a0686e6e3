// Every linear operator of the physics against its adjoint in both precisions, and the gradient by
// position.
#include <gtest/gtest.h>

#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

using Map = std::function<at::Tensor(const at::Tensor&)>;

const at::Tensor kCorners =
    at::tensor({0.0, 0.0, 3.25, 2.5, 4.0, 1.75, 1.3, 3.9}, at::kDouble).view({4, 2});

struct LinearOperator {
  const char* name;
  Map forward, adjoint;
  std::vector<std::int64_t> input, output;
};

/// A constant in the precision of the argument.
at::Tensor like(const at::Tensor& constant, const at::Tensor& argument) {
  return constant.to(argument.scalar_type());
}

std::vector<LinearOperator> linear_operators() {
  const at::Tensor shift = at::tensor({0.3, -0.45}, at::kDouble).view({1, 2});
  const at::Tensor probe = random_tensor({2, 5, 5}, at::kComplexDouble, 3);
  const at::Tensor patches = random_tensor({4, 5, 5}, at::kComplexDouble, 4);
  const CanvasLayout layout =
      lay_out(kCorners, at::tensor({0, 1, 1, 0}, at::kLong), 2, 5, Interpolation::bilinear);
  using Tensor = at::Tensor;
  return {
      {"propagate", propagate_far_field, propagate_far_field_adjoint, {2, 3, 6, 6}, {2, 3, 6, 6}},
      {"to_fft_order", to_fft_order, to_centred, {2, 5, 7}, {2, 5, 7}},
      {"fourier_shift",
       [=](const Tensor& x) { return fourier_shift(x, shift)[0]; },
       [=](const Tensor& y) { return fourier_shift(y, -shift)[0]; },
       {2, 8, 8},
       {2, 8, 8}},
      {"extract_patches",
       [](const Tensor& x) { return extract_patches(x, kCorners, 5); },
       [](const Tensor& y) {
         return add_patches(y, lay_on_object(kCorners, 5, {10, 9}, Interpolation::bilinear))[0];
       },
       {10, 9},
       {4, 5, 5}},
      {"extract",
       [=](const Tensor& x) { return extract_patches(x, layout); },
       [=](const Tensor& y) { return add_patches(y, layout); },
       {2, layout.rows, layout.cols},
       {4, 5, 5}},
      {"exit_wave by object",
       [=](const Tensor& x) { return exit_wave(like(probe, x), x); },
       [=](const Tensor& y) { return (like(probe, y).conj() * y).sum(1); },
       {4, 5, 5},
       {4, 2, 5, 5}},
      {"exit_wave by probe",
       [=](const Tensor& x) { return exit_wave(x, like(patches, x)); },
       [=](const Tensor& y) { return (like(patches, y).conj().unsqueeze(1) * y).sum(0); },
       {2, 5, 5},
       {4, 2, 5, 5}}};
}

TEST(LinearOperator, HasItsAdjointInBothPrecisions) {
  for (const LinearOperator& one : linear_operators()) {
    const auto mismatch = [&](at::ScalarType type) {
      return adjoint_mismatch(one.forward, one.adjoint, one.input, one.output, type);
    };
    EXPECT_LT(mismatch(at::kComplexDouble), 1e-12) << one.name;
    EXPECT_LT(mismatch(at::kComplexFloat), 1e-6) << one.name;
  }
}

// The vjp of a linear operator is its adjoint.
TEST(LinearOperator, HasItsAdjointAsItsGradient) {
  for (const LinearOperator& one : linear_operators()) {
    const at::Tensor x = random_tensor(one.input, at::kComplexDouble, 1).requires_grad_();
    const at::Tensor weight = random_tensor(one.output, at::kComplexDouble, 2);
    at::real(one.forward(x) * weight.conj()).sum().backward();
    EXPECT_LT(relative_difference(x.grad(), one.adjoint(weight)), 1e-12) << one.name;
  }
}

TEST(ForwardModel, HasTheGradientOfCentralDifferencesInThePositions) {
  const at::Tensor object = random_tensor({20, 21}, at::kComplexDouble, 1);
  const at::Tensor probe = random_tensor({2, 8, 8}, at::kComplexDouble, 2);
  const at::Tensor weight = random_tensor({4, 8, 8}, at::kDouble, 3);
  const at::Tensor positions = kCorners + 6.37;  // away from whole and half pixels
  for (const auto interpolation : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    const auto loss = [&](const at::Tensor& at) {
      return (predict_intensity(object, probe, at, interpolation, {}) * weight).sum();
    };
    EXPECT_LT(gradient_mismatch(loss, positions), 1e-6) << to_string(interpolation);
  }
}

// At a whole pixel the slope by the corner is the one towards larger row and col.
TEST(ExtractPatches, HasTheSlopeOfLargerCornersAtWholePixels) {
  const at::Tensor object = random_tensor({9, 9}, at::kDouble, 1);
  const at::Tensor weight = random_tensor({1, 4, 4}, at::kDouble, 6);
  const auto loss = [&](const at::Tensor& corner) {
    return (extract_patches(object, corner, 4) * weight).sum();
  };
  const at::Tensor corner = at::tensor({2.0, 3.0}, at::kDouble).view({1, 2}).requires_grad_();
  loss(corner).backward();
  for (const std::int64_t axis : {0, 1}) {
    at::Tensor step = at::zeros({1, 2}, at::kDouble);
    step[0][axis] = 0.25;
    const at::Tensor here = corner.detach();
    const double up = ((loss(here + step) - loss(here)) / 0.25).item<double>();
    const double down = ((loss(here) - loss(here - step)) / 0.25).item<double>();
    EXPECT_NEAR(corner.grad()[0][axis].item<double>(), up, 1e-12);
    EXPECT_GT(std::abs(up - down), 0.01);
  }
}

}  // namespace
}  // namespace ptyche
