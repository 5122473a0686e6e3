// What is done to all counts of a scan after they were read: other values, or another place on the
// detector. Each is done to every pattern by itself, wherever it lies.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <variant>

namespace ptyche {

/// counts = round(f(values)), with values divided by `unit` before.
struct ChangeValues {
  enum class Way {
    scale,          ///< x
    square,         ///< x^2
    root,           ///< sqrt x
    power,          ///< 2^x - 1: values are logarithms of 1 + counts to any base
    power_of_root,  ///< 2^sqrt(x) - 1: the same after they were squared
    each_pattern    ///< x over the smallest value above 0 of its own pattern
  } way;
  double unit = 1;
};

/// Pattern and mask move up and to the left by whole pixels: around the edge, or what comes in from
/// outside is masked.
struct ShiftPatterns {
  std::int64_t rows = 0, cols = 0;
  bool around = false;
};

/// Pixels brighter than `times` the brightest of the eight beside them and `above` counts more, 3
/// px and more from the zero frequency, wherever that is (a plane wave's direct beam), get these
/// eight's mean: cosmic rays.
struct RemoveSpikes {
  double times = 5, above = 50;
};

using CountsChange = std::variant<ChangeValues, ShiftPatterns, RemoveSpikes>;

/// The counts (n, N, N) of any type, changed, in the narrowest type that holds them.
at::Tensor changed_counts(const at::Tensor& counts, const CountsChange& change);

/// The smallest value above 0 of each of the patterns (n, N, N), (n, 1, 1); 1 where there is none.
at::Tensor smallest_of_each(const at::Tensor& patterns);

/// Which pixels of the patterns (n, N, N) float32 such a change replaces: bool, of the same shape.
at::Tensor spikes_in(const at::Tensor& patterns, const RemoveSpikes& which);

/// Rows and columns of one or more images moved up and left; what comes from outside is 0 unless it
/// goes around.
at::Tensor moved(const at::Tensor& images, const ShiftPatterns& shift);

/// A change as six numbers, which another process can be told, and back.
at::Tensor as_numbers(const CountsChange& change);
CountsChange counts_change_of(const at::Tensor& numbers);

}  // namespace ptyche
