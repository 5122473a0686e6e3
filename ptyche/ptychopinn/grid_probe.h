// The probe of the grid workflow.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <string>

namespace ptyche {

struct GridProbeOptions {
  std::string source = "ideal_disk";        ///< ideal_disk (default_probe.h) | custom (from `file`)
  std::filesystem::path file;               ///< NPZ with probeGuess (n, n) complex
  std::string scale_mode = "pad_preserve";  ///< of a custom one: or pad_extrapolate, interpolate
  double smoothing_px = 0.5;                ///< Gaussian blur of real and imaginary part, 0 = none
};

/// (N, N) complex128, dimensionless. A custom probe is smoothed at its own size, then padded by
/// zeros (pad_preserve), by the amplitude at its edge with the curvature of its phase
/// (pad_extrapolate), or stretched by cubic interpolation (interpolate) to N. Throws InvalidInput
/// naming file and array where a custom probe is no square or too large to be padded.
at::Tensor grid_probe(std::int64_t size, const GridProbeOptions& options);

}  // namespace ptyche
