// The hand-written FFT of the fused engine, by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "ptyche/engine/cpu/fft_plan.h"
#include "ptyche/engine/cpu/loss_memory.h"
#include "ptyche/engine/cpu/scratch.h"

namespace ptyche::cpu {
namespace {

template <class T>
class KernelFft : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(KernelFft, Numbers);

/// Striped planes of one image with random numbers in its N x N pixels.
template <class T>
struct Image {
  Image(std::int64_t size, unsigned seed)
      : size(size),
        strip(kernels<T>().strip),
        stride((size + strip - 1) / strip * strip),
        memory(2 * size * stride),
        planes{memory.take(size * stride), memory.take(size * stride)} {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (std::int64_t r = 0; r < size; ++r)
      for (std::int64_t c = 0; c < size; ++c) {
        planes.re[index(r, c)] = static_cast<T>(normal(random));
        planes.im[index(r, c)] = static_cast<T>(normal(random));
      }
  }
  std::int64_t index(std::int64_t row, std::int64_t col) const {
    return striped_index(size, strip, row, col);
  }
  std::complex<double> at(std::int64_t row, std::int64_t col) const {
    return {static_cast<double>(planes.re[index(row, col)]),
            static_cast<double>(planes.im[index(row, col)])};
  }

  std::int64_t size;
  int strip;
  std::int64_t stride;
  Scratch<T> memory;
  Planes<T> planes;
};

template <class T>
std::complex<double> product(const Image<T>& a, const Image<T>& b) {
  std::complex<double> sum = 0;
  for (std::int64_t r = 0; r < a.size; ++r)
    for (std::int64_t c = 0; c < a.size; ++c) sum += std::conj(a.at(r, c)) * b.at(r, c);
  return sum;
}

template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 1e-6 : 1e-12;
constexpr std::int64_t kSizes[] = {2, 8, 18, 26, 32, 50, 64, 96, 98, 122, 128};

TYPED_TEST(KernelFft, BackwardIsTheAdjointOfForward) {
  const auto& kernel = kernels<TypeParam>();
  for (const std::int64_t size : kSizes) {
    const Image<TypeParam> x(size, 1), y(size, 2), ax(size, 3), ay(size, 4);
    Image<TypeParam> x_copy(size, 1), y_copy(size, 2);
    const auto tables = fft_plan<TypeParam>(size).tables();
    kernel.to_turned(tables, x.stride, x_copy.planes, ax.planes, TypeParam(1));
    kernel.to_natural(tables, x.stride, y_copy.planes, ay.planes, TypeParam(1));
    const auto left = product(y, ax), right = product(ay, x);
    EXPECT_LT(std::abs(left - right) / std::abs(left), 10 * kTolerance<TypeParam>) << size;
  }
}

TYPED_TEST(KernelFft, BackwardOfForwardIsTheImageTimesItsPixels) {
  const auto& kernel = kernels<TypeParam>();
  for (const std::int64_t size : kSizes) {
    Image<TypeParam> x(size, 1), turned(size, 3), back(size, 4);
    const Image<TypeParam> truth(size, 1);
    const auto tables = fft_plan<TypeParam>(size).tables();
    kernel.to_turned(tables, x.stride, x.planes, turned.planes, TypeParam(1));
    kernel.to_natural(tables, x.stride, turned.planes, back.planes,
                      TypeParam(1) / static_cast<TypeParam>(size * size));
    for (std::int64_t r = 0; r < size; ++r)
      for (std::int64_t c = 0; c < size; ++c)
        EXPECT_LT(std::abs(back.at(r, c) - truth.at(r, c)), 20 * kTolerance<TypeParam>) << size;
  }
}

TYPED_TEST(KernelFft, ForwardIsTheTransformByItsDefinition) {
  const std::int64_t size = 18;
  Image<TypeParam> x(size, 1), turned(size, 3);
  const Image<TypeParam> truth(size, 1);
  const FftPlan<TypeParam>& plan = fft_plan<TypeParam>(size);
  kernels<TypeParam>().to_turned(plan.tables(), x.stride, x.planes, turned.planes, TypeParam(1));
  const std::int64_t row = 5, col = 7;
  std::complex<double> sum = 0;
  for (std::int64_t r = 0; r < size; ++r)
    for (std::int64_t c = 0; c < size; ++c)
      sum += truth.at(r, c) *
             std::polar(1.0, -2 * M_PI * static_cast<double>(r * row + c * col) / size);
  EXPECT_LT(std::abs(turned.at(plan.position[col], row) - sum), 100 * kTolerance<TypeParam>);
}

}  // namespace
}  // namespace ptyche::cpu
