// The gradient of a patch on its way to the canvas, strip by strip: the adjoint of see_strip.
#pragma once

#include "ptyche/engine/cpu/between_pixels.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// The numbers one place to the left: the last of `before`, then all but the last of `here`.
template <class T>
struct OneBack {
  static constexpr int lane(int k) { return k + kLanes<T> - 1; }
};

/// Where the strips of one pattern's gradient land. A strip's rows are given from the first to one
/// beyond the last (zeros), the strips from left to right; what falls on the column beyond a strip
/// is carried to the next one.
template <class T>
struct Landing {
  /// `carry` holds 2 (N + 1) vectors.
  Landing(const Spot<T>& at, const Canvas<T>& seen_canvas, const Canvas<T>& gradient, T* carry)
      : r_share(at.r),
        c_share(at.c),
        stride(gradient.stride),
        origin(at.row * gradient.stride + at.col),
        to{gradient.re, gradient.im},
        seen{seen_canvas.re, seen_canvas.im},
        carried(carry) {}

  void begin(std::int64_t first) {
    column = first;
    for (auto& plane : above)
      for (Vector<T>& vector : plane) vector = Vector<T>{};
  }

  template <Way How>
  void add(std::int64_t r, const Complex<T>* row) {
    Vector<T> re[kVectors<T>], im[kVectors<T>];
    for (int i = 0; i < kVectors<T>; ++i) {
      re[i] = row[i].re;
      im[i] = row[i].im;
    }
    add_plane<How>(0, r, re);
    add_plane<How>(1, r, im);
  }

  /// The column beyond the last strip.
  void end(const LossTask<T>& task) {
    for (int plane = 0; plane < 2; ++plane)
      for (std::int64_t r = 0; r <= task.size; ++r)
        to[plane][origin + r * stride + task.stride] +=
            c_share[0] * carried[(2 * r + plane) * kLanes<T> + kLanes<T> - 1];
  }

  Vector<T> r_share, c_share;
  std::int64_t stride, origin, column = 0;
  T* to[2];
  const T* seen[2];
  T* carried;
  Vector<T> above[2][kVectors<T>] = {};  // the row before
  Slopes<T> slopes;

 private:
  /// At a whole pixel the slopes are the derivatives towards larger row and col.
  template <Way How>
  void add_plane(int plane, std::int64_t r, const Vector<T>* row) {
    const std::int64_t start = origin + r * stride + column;
    T* carry = carried + (2 * r + plane) * kLanes<T>;
    Vector<T> before = column == 0 ? Vector<T>{} : load(carry);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors<T>; ++i) {
      T* at = to[plane] + start + i * kLanes<T>;
      if constexpr (How == Way::whole) {
        store(at, load(at) + row[i]);
        continue;
      }
      const Vector<T> upper = above[plane][i], here = between<T>(row[i], upper, r_share);
      store(at, load(at) + between<T>(here, shuffle<T>(before, here, OneBack<T>()), c_share));
      before = here;
      above[plane][i] = row[i];
      if constexpr (How == Way::with_slopes) {
        const T* from = seen[plane] + start + i * kLanes<T>;
        const Vector<T> value = load(from), step = load(from + 1) - value;
        slopes.col += here * step;
        slopes.row += (upper - row[i]) * (value + c_share * step);
      }
    }
    if constexpr (How != Way::whole) store(carry, before);
  }
};

}  // namespace ptyche::cpu::PTYCHE_ISA
