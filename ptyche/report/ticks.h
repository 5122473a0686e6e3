// Where an axis is labelled, and how: round numbers in steps of 1, 2 or 5.
#pragma once

#include <string>
#include <vector>

namespace ptyche {

struct Tick {
  double value;
  std::string label;
};

/// The largest of 1, 2, 5 times a power of ten that is <= `length` (> 0).
double round_length(double length);

/// Round numbers in [low, high] (low < high, both finite), `at_most` (>= 2) steps apart at the
/// most.
std::vector<Tick> linear_ticks(double low, double high, int at_most);

/// As above for a logarithmic axis (0 < low < high): 1, 2 and 5 of each decade, or whole decades
/// where there are more than three.
std::vector<Tick> log_ticks(double low, double high);

/// A unit of length that makes numbers up to `extent_m` (> 0) easy to read.
struct LengthUnit {
  std::string name;  ///< "nm", "µm" or "mm"
  double metres;
};
LengthUnit length_unit(double extent_m);

/// A length in metres with its unit: "500 nm", "2 µm".
std::string format_length(double length_m);

/// Four significant digits, whole numbers below a million exactly, a real minus sign, powers of ten
/// as "1.2 × 10⁵"; "not finite" for NaN and infinities.
std::string format_number(double value);

}  // namespace ptyche
