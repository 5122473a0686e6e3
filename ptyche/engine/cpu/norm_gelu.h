// Group normalisation and GELU of one image of a batch, forward and back, each in two readings of
// memory instead of six: the layers of a network that move much and compute little.
#pragma once

#include <cstdint>

#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cpu/simd.h"

namespace ptyche::cpu::PTYCHE_ISA {

typedef std::uint32_t Bits __attribute__((vector_size(PTYCHE_VECTOR_BYTES)));
typedef std::uint16_t Halves __attribute__((vector_size(PTYCHE_VECTOR_BYTES / 2)));
typedef std::uint16_t UnalignedHalves
    __attribute__((vector_size(PTYCHE_VECTOR_BYTES / 2), aligned(2), may_alias));

typedef std::uint8_t Bytes __attribute__((vector_size(PTYCHE_VECTOR_BYTES / 4)));
typedef std::uint8_t UnalignedBytes
    __attribute__((vector_size(PTYCHE_VECTOR_BYTES / 4), aligned(1), may_alias));

using V = Vector<float>;
inline constexpr std::int64_t kWide = kLanes<float>;

/// A bfloat16 is the upper half of a float.
inline V as_float(Halves halves) {
  return reinterpret_cast<V>(__builtin_convertvector(halves, Bits) << 16);
}

/// To the nearest, ties to even; NaN stays NaN.
inline Halves as_bfloat16(V values) {
  const Bits bits = reinterpret_cast<Bits>(values);
  const Bits rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const Bits quiet = bits | 0x400000U;
  return __builtin_convertvector((values == values ? rounded : quiet) >> 16, Halves);
}

inline V load_from(const float* from) { return load(from); }
inline V load_from(const Bfloat16* from) {
  return as_float(*reinterpret_cast<const UnalignedHalves*>(from));
}
inline void store_to(float* to, V values) { store(to, values); }
inline void store_to(Bfloat16* to, V values) {
  *reinterpret_cast<UnalignedHalves*>(to) = as_bfloat16(values);
}

/// Each as the byte nearest to it; NaN is 0.
inline void store_to(std::uint8_t* to, V values) {
  const V low = values > 0.0F ? values : broadcast(0.0F);
  const V bounded = low < 255.0F ? low : broadcast(255.0F);
  *reinterpret_cast<UnalignedBytes*>(to) =
      __builtin_convertvector(__builtin_convertvector(bounded + 0.5F, Simd<float>::Index), Bytes);
}

/// `count` numbers; the rest 0.
template <class S>
inline V load_part(const S* from, std::int64_t count) {
  if (count >= kWide) return load_from(from);
  S whole[kWide] = {};
  for (std::int64_t k = 0; k < count; ++k) whole[k] = from[k];
  return load_from(whole);
}

template <class S>
inline void store_part(S* to, V values, std::int64_t count) {
  if (count >= kWide) return store_to(to, values);
  S whole[kWide];
  store_to(whole, values);
  for (std::int64_t k = 0; k < count; ++k) to[k] = whole[k];
}

/// exp(-x), x >= 0, to 2e-7 of it; 0 beyond 87. 2^-k e^r with |r| <= ln 2 / 2, e^r by its series.
[[gnu::always_inline]] inline V exp_of_minus(V x) {
  using I = Simd<float>::Index;
  constexpr float log2e = 1.44269504F, high = 0.693359375F, low = -2.12194440e-4F;
  const V bounded = x < 87.0F ? x : broadcast(87.0F);
  const I k = __builtin_convertvector(bounded * log2e + 0.5F, I);
  const V whole = __builtin_convertvector(k, V);
  const V r = (whole * high - bounded) + whole * low;
  V series = r * (1.0F / 5040) + (1.0F / 720);
  series = series * r + (1.0F / 120);
  series = series * r + (1.0F / 24);
  series = series * r + (1.0F / 6);
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  const V scaled = reinterpret_cast<V>(reinterpret_cast<I>(series) - (k << 23));
  return x < 87.0F ? scaled : x == x ? broadcast(0.0F) : x;
}

/// Phi(z), the share of a normal distribution below z, to 7e-6 of itself where z > -6; farther
/// down, where it is less than 1e-9, to 1e-9. -log2 Phi(-|z|) is nearly a parabola, so that neither
/// a division is needed nor the digits of an exponential. Both polynomials have the least largest
/// error, one on |z| <= 6, the other on |r| <= 1/2.
[[gnu::always_inline]] inline V share_below(V z) {
  using I = Simd<float>::Index;
  const V size = z < 0.0F ? -z : z;
  const V u = size < 12.0F ? size : broadcast(12.0F);
  V power = 1.79376938e-6F * u - 6.07259669e-5F;
  power = power * u + 9.23184439e-4F;
  power = power * u - 8.47684316e-3F;
  power = power * u + 5.38909319e-2F;
  power = power * u + 4.58541589e-1F;
  power = power * u + 1.15121437F;
  power = power * u + 1.0F;
  const I k = __builtin_convertvector(power + 0.5F, I);
  const V r = __builtin_convertvector(k, V) - power;
  V series = 9.57009e-3F * r + 5.59178583e-2F;
  series = series * r + 2.4024745e-1F;
  series = series * r + 6.93121815e-1F;
  series = series * r + 9.99999261e-1F;
  const V tail = reinterpret_cast<V>(reinterpret_cast<I>(series) - (k << 23));
  return z < 0.0F ? tail : 1.0F - tail;
}

struct Gelu {
  V below;    ///< Phi(z), the share of a normal distribution below z
  V density;  ///< exp(-z^2 / 2) / sqrt(2 pi)
};

/// Phi by Abramowitz & Stegun, eq. 7.1.26, to 1e-7; its exponential is the density's, too.
[[gnu::always_inline]] inline Gelu gelu_at(V z) {
  const V size = z < 0.0F ? -z : z;
  const V bell = exp_of_minus(0.5F * z * z);
  const V t = 1.0F / (1.0F + (0.3275911F * 0.70710678F) * size);
  V series = 1.061405429F * t - 1.453152027F;
  series = series * t + 1.421413741F;
  series = series * t - 0.284496736F;
  series = series * t + 0.254829592F;
  const V tail = 0.5F * series * t * bell;
  return {z < 0.0F ? tail : 1.0F - tail, 0.39894228F * bell};
}

/// Calls column(first) for each register's width of a period.
template <class Column>
[[gnu::always_inline]] inline void for_columns(const NormImage& image, const Column& column) {
  for (std::int64_t first = 0; first < image.period; first += kWide) column(first);
}

/// Calls each(at, count) for the numbers of one column of the period in turn; count < kWide where
/// the image ends.
template <class Each>
[[gnu::always_inline]] inline void down(const NormImage& image, std::int64_t first,
                                        std::int64_t begin, std::int64_t end, const Each& each) {
  std::int64_t at = begin + first;
  for (; at + kWide <= end; at += image.period) each(at, kWide);
  if (at < end) each(at, end - at);
}

/// Calls each(first, begin, end) for every column of one part of the image after the other, parts
/// that stay in the cache while their columns are gone through.
template <class Each>
[[gnu::always_inline]] inline void everywhere(const NormImage& image, const Each& each) {
  const std::int64_t block = 32 * image.period;
  for (std::int64_t begin = 0; begin < image.numbers; begin += block) {
    const std::int64_t end = begin + block < image.numbers ? begin + block : image.numbers;
    for_columns(image, [&](std::int64_t first) { each(first, begin, end); });
  }
}

/// Numbers that are summed in float before they go on in double.
inline constexpr std::int64_t kSummed = 256;

/// Adds the sums of two numbers of each element to sums, (2, period); each(first, at, count, a, b)
/// adds to a and b.
template <class Each>
[[gnu::always_inline]] inline void add_sums(const NormImage& image, double* sums,
                                            const Each& each) {
  const std::int64_t block = kSummed * image.period;
  for (std::int64_t begin = 0; begin < image.numbers; begin += block) {
    const std::int64_t end = begin + block < image.numbers ? begin + block : image.numbers;
    for_columns(image, [&](std::int64_t first) {
      V a{}, b{};
      down(image, first, begin, end,
           [&](std::int64_t at, std::int64_t count) { each(first, at, count, a, b); });
      for (std::int64_t k = 0; k < kWide; ++k) {
        sums[first + k] += static_cast<double>(a[k]);
        sums[image.period + first + k] += static_cast<double>(b[k]);
      }
    });
  }
}

/// Sums of x - shift and of its square, (2, period), added; shift (period).
template <class S>
void norm_sums(const NormImage& image, const S* x, const float* shift, double* sums) {
  add_sums(image, sums, [&](std::int64_t first, std::int64_t at, std::int64_t count, V& a, V& b) {
    V away = load_part(x + at, count) - load(shift + first);
    if (count < kWide)
      for (std::int64_t k = count; k < kWide; ++k) away[k] = 0;
    a += away;
    b += away * away;
  });
}

/// Calls use(at, count, gelu(scale x + offset)) for all of an image; scale, offset (period).
template <class S, class Use>
[[gnu::always_inline]] inline void each_gelu(const NormImage& image, const S* x, const float* scale,
                                             const float* offset, const Use& use) {
  everywhere(image, [&](std::int64_t first, std::int64_t begin, std::int64_t end) {
    const V a = load(scale + first), b = load(offset + first);
    down(image, first, begin, end, [&](std::int64_t at, std::int64_t count) {
      const V z = a * load_part(x + at, count) + b;
      use(at, count, z * share_below(z));
    });
  });
}

/// y = gelu(scale x + offset).
template <class S>
void norm_gelu(const NormImage& image, const S* x, const float* scale, const float* offset, S* y) {
  each_gelu(image, x, scale, offset, [&](std::int64_t at, std::int64_t count, V value) {
    store_part(y + at, value, count);
  });
}

/// The same times `per_unit` plus `zero`, in bytes.
template <class S>
void norm_gelu_bytes(const NormImage& image, const S* x, const float* scale, const float* offset,
                     float per_unit, float zero, std::uint8_t* y) {
  each_gelu(image, x, scale, offset, [&](std::int64_t at, std::int64_t count, V value) {
    store_part(y + at, value * per_unit + zero, count);
  });
}

/// slope = dy gelu'(scale x + offset), and its sums and those of slope x, (2, period), added.
template <class S>
void gelu_backward(const NormImage& image, const S* x, const S* dy, const float* scale,
                   const float* offset, const float* shift, float* slope, double* sums) {
  add_sums(image, sums, [&](std::int64_t first, std::int64_t at, std::int64_t count, V& a, V& b) {
    const V value = load_part(x + at, count),
            z = load(scale + first) * value + load(offset + first);
    const Gelu gelu = gelu_at(z);
    const V each = load_part(dy + at, count) * (gelu.below + z * gelu.density);
    store_part(slope + at, each, count);
    a += each;
    b += each * (value - load(shift + first));
  });
}

/// dx = by_slope slope + by_x x + rest; each (period).
template <class S>
void norm_backward(const NormImage& image, const S* x, const float* slope, const float* by_slope,
                   const float* by_x, const float* rest, S* dx) {
  everywhere(image, [&](std::int64_t first, std::int64_t begin, std::int64_t end) {
    const V p = load(by_slope + first), q = load(by_x + first), r = load(rest + first);
    down(image, first, begin, end, [&](std::int64_t at, std::int64_t count) {
      store_part(dx + at, p * load_part(slope + at, count) + q * load_part(x + at, count) + r,
                 count);
    });
  });
}

template <class S>
constexpr NormKernels<S> make_norm_kernels() {
  return {.lanes = kWide,
          .norm_sums = &norm_sums<S>,
          .norm_gelu = &norm_gelu<S>,
          .norm_gelu_bytes = &norm_gelu_bytes<S>,
          .gelu_backward = &gelu_backward<S>,
          .norm_backward = &norm_backward<S>};
}

}  // namespace ptyche::cpu::PTYCHE_ISA
