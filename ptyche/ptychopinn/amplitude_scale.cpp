#include "ptyche/ptychopinn/amplitude_scale.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {

double amplitude_norm(const at::Tensor& amplitudes) {
  require(amplitudes.dim() >= 2 && amplitudes.size(-1) == amplitudes.size(-2),
          "amplitude_norm: expected amplitudes (..., N, N), found {}", describe(amplitudes));
  const double half = 0.5 * static_cast<double>(amplitudes.size(-1));
  const auto power = amplitudes.to(at::kDouble).square().sum({-2, -1}).mean().item<double>();
  require(power > 0, "amplitude_norm: expected a mean power above 0, found {}", power);
  return half / std::sqrt(power);
}

double intensity_scale(double nphotons, std::int64_t pattern_size) {
  require(nphotons > 0 && pattern_size >= 2,
          "intensity_scale: expected nphotons > 0 and N >= 2, found {} and {}", nphotons,
          pattern_size);
  return std::sqrt(nphotons) / (0.5 * static_cast<double>(pattern_size));
}

}  // namespace ptyche
