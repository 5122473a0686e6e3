// The tables of an FFT as kernels see them: plain pointers, no container.
#pragma once

#include <cstdint>

namespace ptyche::cpu {

/// Prime factors of N above this are refused: the general stage keeps its points in registers'
/// reach.
inline constexpr std::int64_t kLargestRadix = 61;

template <class T>
struct FftStage {
  std::int64_t radix = 0;
  const T* twiddles = nullptr;  ///< (length / radix, radix - 1) pairs cos, -sin
  const T* roots = nullptr;     ///< (radix) pairs cos, -sin
};

template <class T>
struct FftTables {
  std::int64_t size = 0;
  int stages = 0;
  FftStage<T> stage[24];
  const std::int64_t* order = nullptr;     ///< (size) frequency at row p after forward_fft
  const std::int64_t* position = nullptr;  ///< (size) row of frequency f
};

}  // namespace ptyche::cpu
