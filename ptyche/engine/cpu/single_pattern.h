// single_pattern_objects by the kernels: threads over patterns, a pattern's steps without leaving
// the cache.
#pragma once

#include <cstdint>
#include <vector>

namespace ptyche::cpu {

/// One call, plain pointers; complex numbers are interleaved pairs. FFT order at the detector.
template <class T>
struct SinglePatternInputs {
  std::int64_t size = 0, modes = 0, patterns = 0;
  const T* probes = nullptr;      ///< (patterns, modes, N, N, 2)
  const T* amplitudes = nullptr;  ///< (patterns, N, N)
  const bool* mask = nullptr;     ///< (N, N)
  double regularisation = 0, floor = 0;
  std::vector<std::int64_t> steps;  ///< ascending
  T* objects = nullptr;             ///< (patterns, steps, N, N, 2)
};

/// Every pattern by one thread: the thread count does not show in the result.
template <class T>
void single_pattern_objects(const SinglePatternInputs<T>& inputs, int threads);

extern template void single_pattern_objects(const SinglePatternInputs<float>&, int);
extern template void single_pattern_objects(const SinglePatternInputs<double>&, int);

}  // namespace ptyche::cpu
