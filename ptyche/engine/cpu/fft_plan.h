// What a one-dimensional FFT of one length needs to know: radices, twiddle factors, output order.
#pragma once

#include <cstdint>
#include <vector>

#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu {

/// Mixed-radix decimation in frequency (Cooley & Tukey, Math. Comput. 19, 297 (1965); Van Loan,
/// Computational Frameworks for the FFT, ch. 2). Stage by stage a block of length L splits into
/// `radix` blocks; what stands in row p at the end is frequency order[p].
template <class T>
struct FftPlan {
  std::int64_t size = 0;
  std::vector<std::int64_t>
      radices;                      ///< their product is size; 4 first, then 2, 3, 5, other primes
  std::vector<T> twiddles;          ///< per stage (L / radix, radix - 1) pairs cos, -sin
  std::vector<T> roots;             ///< per stage (radix) pairs cos, -sin of the radix itself
  std::vector<std::int64_t> order;  ///< (size) frequency at row p
  std::vector<std::int64_t> position;  ///< (size) row of frequency f

  /// Pointers into this plan.
  FftTables<T> tables() const;
};

/// Whether the size has no prime factor above kLargestRadix.
bool has_fft_plan(std::int64_t size);

/// The plan of a size >= 2 with has_fft_plan; made at first use and kept. Every prime factor above
/// 4 costs its own length per point.
template <class T>
const FftPlan<T>& fft_plan(std::int64_t size);

extern template const FftPlan<float>& fft_plan(std::int64_t);
extern template const FftPlan<double>& fft_plan(std::int64_t);

}  // namespace ptyche::cpu
