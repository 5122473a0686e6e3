// What all values of a stack of patterns have in common, and their way to counts: each in one pass
// over the memory, on all cores.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

namespace ptyche {

/// Which values are looked at. A pixel that the mask leaves out may hold anything: what is no valid
/// count there, or stands at the ceiling, is 0.
struct ValueRules {
  at::Tensor mask;      ///< (rows, cols) bool, true = counted
  double ceiling = -1;  ///< of hidden pixels; below 0 = none
};

struct ValueSurvey {
  bool valid = true;         ///< no counted pixel is NaN, infinite or below zero
  bool whole = true;         ///< all of counted pixels are whole numbers
  bool whole_hidden = true;  ///< those of hidden pixels are
  /// All squares lie within kWholeWithin, or float32's rounding, of whole numbers.
  bool whole_squares = true;
  bool cleared = false;  ///< hidden pixels hold something that is no count
  double largest = 0;

  /// Whether they are roots of whole numbers, and not only fractions whose squares are next to
  /// nothing.
  bool are_roots() const { return whole_squares && (largest == 0 || largest > 0.5); }
  /// Of the values of both.
  void add(const ValueSurvey& other);
};

/// Whether the numbers above 1 are squares of whole numbers, of enough of them: counts that were
/// taken for amplitudes.
bool are_squares_of_counts(const at::Tensor& values);

/// The median of the sums (n) float64 of patterns that have light; 0 where none has. A scan that
/// ended early may hold more without: zeros, or a detector's noise, far below the others.
double usual_sum(const at::Tensor& sums);
/// Below this share of the usual sum a pattern is dark.
inline constexpr double kDarkBelow = 0.05;

/// Counts that were stored in too few bits.
struct WrappedValues {
  double period = 256;     ///< 2^8, 2^10, 2^12, 2^14 or 2^16
  std::int64_t jumps = 0;  ///< pixels of next to nothing beside one of the largest values
};

/// Of whole values whose largest one is the last before a power of two, where those beside it drop
/// to nothing and the numbers of values just below it would go on beyond: the sharp rim of an
/// aperture drops as well, but its counts end where they end, or pile up where they are cut off.
/// Nothing for others.
///   counts  (n, rows, cols) of a type that has a maximum: no unsigned 16 or 32 bits
std::optional<WrappedValues> wrapped_values(const at::Tensor& counts);

/// Squares of exact roots come back this close to whole numbers (DESIGN: "One scale contract").
inline constexpr double kWholeWithin = 1e-3;
/// The square of a float32 root is off by up to 2^-23 of itself, more than that for large counts.
inline constexpr double kFloat32Rounding = 1.5e-7;

/// patterns  (n, rows, cols) of any real type, contiguous. Whole squares are looked for only where
///           `squares` asks for them.
ValueSurvey survey(const at::Tensor& patterns, const ValueRules& rules, bool squares);

struct CountRules {
  bool square = false, round = false;
  at::ScalarType type = at::kFloat;  ///< uint8, int16, int32 or float32 that holds the results
};

/// The narrowest type that holds the counts exactly, see in_smallest_exact_type; float32 where
/// they, or the squares of amplitudes, are no whole numbers.
CountRules count_rules(const ValueSurvey& values, bool amplitude);

/// The values as counts, (n, rows, cols): hidden pixels cleared, then squared, then rounded.
at::Tensor converted(const at::Tensor& patterns, const ValueRules& rules, const CountRules& how);

/// The same, into `counts`: contiguous, of how.type.
void convert_into(const at::Tensor& patterns, const ValueRules& rules, const CountRules& how,
                  at::Tensor counts);

/// Of every pattern the sum of its counted pixels and how many of these are at least `ceiling`
/// (above 0; else none is): (n, 2) float64.
at::Tensor frame_sums(const at::Tensor& counts, const at::Tensor& mask, double ceiling);

}  // namespace ptyche
