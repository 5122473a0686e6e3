// Ways to sample an image, and shifts, that the operators which resample are tried with.
#pragma once

#include <vector>

#include "ptyche/physics/resample.h"

namespace ptyche {

inline constexpr SamplingOptions kAllOptions[] = {{Sampling::bilinear, Outside::zero},
                                                  {Sampling::bilinear, Outside::edge},
                                                  {Sampling::nearest, Outside::zero},
                                                  {Sampling::nearest, Outside::edge}};

/// (k, 2) float64 of k pairs.
inline at::Tensor pairs(const std::vector<double>& numbers) {
  return at::tensor(numbers, at::kDouble).view({-1, 2});
}

/// Of three images: within them, and beyond their edge.
inline const at::Tensor kShifts = pairs({0.3, -1.7, 2.25, 0.9, -3.6, 12.4});

}  // namespace ptyche
