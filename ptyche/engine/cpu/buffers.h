// Memory of the kernels, and how images lie in it.
#pragma once

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu {

/// One allocation, handed out piece by piece: zeroed, or left as it is until clear() or for what is
/// written first.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count, bool zeroed = true)
      : bytes_((static_cast<std::size_t>(count) * sizeof(T) + kLine * 64 - 1) / kLine * kLine),
        owner_(c10::GetCPUAllocator()->allocate(bytes_)),
        memory_(static_cast<T*>(owner_.get())) {
    if (zeroed) clear();
  }

  void clear() { std::memset(memory_, 0, bytes_); }

  /// The next `count` numbers, from a new cache line on.
  T* take(std::int64_t count) {
    T* piece = memory_ + used_;
    constexpr std::int64_t line = kLine / sizeof(T);
    used_ += (count + line - 1) / line * line;
    return piece;
  }

 private:
  static constexpr std::size_t kLine = 64;  // LibTorch aligns what it allocates to it
  std::size_t bytes_;
  at::DataPtr owner_;  // LibTorch's, which knows what arrays have taken already
  T* memory_;
  std::int64_t used_ = 0;
};

/// Index of (row, col) in a striped plane.
inline std::int64_t striped_index(std::int64_t size, int strip, std::int64_t row,
                                  std::int64_t col) {
  return col / strip * strip * size + row * strip + col % strip;
}

/// visit(index in the plane, row, col) for the (size, size) pixels of a striped plane.
template <class Visit>
void for_striped(std::int64_t size, int strip, const Visit& visit) {
  for (std::int64_t first = 0; first < size; first += strip) {
    const std::int64_t columns = std::min<std::int64_t>(strip, size - first);
    for (std::int64_t row = 0; row < size; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        visit(first * size + row * strip + column, row, first + column);
  }
}

/// visit(index in a plane at the detector, number of its pixel in FFT order).
template <class T, class Visit>
void for_detector(const KernelContext<T>& context, const Visit& visit) {
  for_striped(context.size, context.kernels.strip, [&](std::int64_t at, auto p, auto q) {
    visit(at, context.transfer.re ? p * context.size + q : q * context.size + context.fft.order[p]);
  });
}

/// visit(index in a row-major plane, number of its pixel).
template <class T, class Visit>
void for_pixels(const KernelContext<T>& context, const Visit& visit) {
  for_striped(context.size, context.kernels.strip,
              [&](std::int64_t at, auto row, auto col) { visit(at, row * context.size + col); });
}

/// The planes of mode `mode` in a block of (modes, 2) planes.
template <class T>
Planes<T> mode_planes(const KernelContext<T>& context, T* block, std::int64_t mode) {
  const std::int64_t plane = context.size * context.stride;
  return {block + 2 * mode * plane, block + (2 * mode + 1) * plane};
}

/// A block of (modes, 2) planes of a probe, transposed for moved_probe, times `scale` -> (modes, N,
/// N, 2). A transposed block is destroyed.
template <class T>
void interleave_modes(const KernelContext<T>& context, T* block, T scale, T* to);

}  // namespace ptyche::cpu
