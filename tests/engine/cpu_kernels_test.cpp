// The hand-written FFT of the fused engine, by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "ptyche/engine/cpu/buffers.h"

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
constexpr std::int64_t kSizes[] = {2, 8, 18, 26, 32, 50, 64, 80, 96, 98, 112, 122, 128};

TYPED_TEST(KernelFft, BackwardIsTheAdjointOfForward) {
  const auto& kernel = kernels<TypeParam>();
  for (const std::int64_t size : kSizes) {
    const Image<TypeParam> x(size, 1), y(size, 2), ax(size, 3), ay(size, 4);
    Image<TypeParam> x_copy(size, 1), y_copy(size, 2);
    const auto tables = fft_tables<TypeParam>(size);
    kernel.fft2_transposed(tables, x.stride, x_copy.planes, ax.planes, TypeParam(1));
    kernel.ifft2_transposed(tables, x.stride, y_copy.planes, ay.planes, TypeParam(1));
    const auto left = product(y, ax), right = product(ay, x);
    EXPECT_LT(std::abs(left - right) / std::abs(left), 10 * kTolerance<TypeParam>) << size;
  }
}

TYPED_TEST(KernelFft, BackwardOfForwardIsTheImageTimesItsPixels) {
  const auto& kernel = kernels<TypeParam>();
  for (const std::int64_t size : kSizes) {
    Image<TypeParam> x(size, 1), transposed(size, 3), back(size, 4);
    const Image<TypeParam> truth(size, 1);
    const auto tables = fft_tables<TypeParam>(size);
    kernel.fft2_transposed(tables, x.stride, x.planes, transposed.planes, TypeParam(1));
    kernel.ifft2_transposed(tables, x.stride, transposed.planes, back.planes,
                            TypeParam(1) / static_cast<TypeParam>(size * size));
    for (std::int64_t r = 0; r < size; ++r)
      for (std::int64_t c = 0; c < size; ++c)
        EXPECT_LT(std::abs(back.at(r, c) - truth.at(r, c)), 20 * kTolerance<TypeParam>) << size;
  }
}

// 5^k and 7 x 2^k are the crops of everyday detectors.
constexpr std::int64_t kDefinedSizes[] = {5,   7,   18,  35,  80,  100, 112, 121, 160,
                                          200, 224, 243, 250, 320, 400, 448, 490};

/// sum over (r, c) of value(r, c) exp(sign 2 pi i (r row + c col) / size)
template <class Value>
std::complex<double> defined(std::int64_t size, std::int64_t row, std::int64_t col, double sign,
                             const Value& value) {
  std::vector<std::complex<double>> roots;
  for (std::int64_t k = 0; k < size; ++k)
    roots.push_back(
        std::polar(1.0, sign * 2 * M_PI * static_cast<double>(k) / static_cast<double>(size)));
  std::complex<double> sum = 0;
  for (std::int64_t r = 0; r < size; ++r)
    for (std::int64_t c = 0; c < size; ++c)
      sum += value(r, c) * roots[static_cast<std::size_t>((r * row + c * col) % size)];
  return sum;
}

/// Rows and columns that between them meet every butterfly's outputs.
std::vector<std::pair<std::int64_t, std::int64_t>> some_pixels(std::int64_t size) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pixels;
  for (std::int64_t i = 0; i < 16; ++i) pixels.emplace_back((37 * i + 1) % size, (i * 53) % size);
  return pixels;
}

TYPED_TEST(KernelFft, ForwardIsTheTransformByItsDefinition) {
  for (const std::int64_t size : kDefinedSizes) {
    Image<TypeParam> x(size, 1), transposed(size, 3);
    const Image<TypeParam> truth(size, 1);
    const FftTables<TypeParam>& tables = fft_tables<TypeParam>(size);
    kernels<TypeParam>().fft2_transposed(tables, x.stride, x.planes, transposed.planes,
                                         TypeParam(1));
    for (const auto& [row, col] : some_pixels(size)) {
      const std::complex<double> sum =
          defined(size, row, col, -1, [&](auto r, auto c) { return truth.at(r, c); });
      EXPECT_LT(std::abs(transposed.at(tables.position[col], row) - sum),
                10 * kTolerance<TypeParam> * static_cast<double>(size))
          << size << " at " << row << ", " << col;
    }
  }
}

TYPED_TEST(KernelFft, BackwardIsTheAdjointByItsDefinition) {
  for (const std::int64_t size : kDefinedSizes) {
    Image<TypeParam> transposed(size, 1), back(size, 3);
    const Image<TypeParam> truth(size, 1);
    const FftTables<TypeParam>& tables = fft_tables<TypeParam>(size);
    kernels<TypeParam>().ifft2_transposed(tables, transposed.stride, transposed.planes, back.planes,
                                          TypeParam(1));
    for (const auto& [row, col] : some_pixels(size)) {
      const std::complex<double> sum = defined(
          size, row, col, 1, [&](auto r, auto c) { return truth.at(tables.position[c], r); });
      EXPECT_LT(std::abs(back.at(row, col) - sum),
                10 * kTolerance<TypeParam> * static_cast<double>(size))
          << size << " at " << row << ", " << col;
    }
  }
}

}  // namespace
}  // namespace ptyche::cpu
