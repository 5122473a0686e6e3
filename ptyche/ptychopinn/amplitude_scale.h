// The two factors by which PtychoPINN's amplitudes become photons. Ptyche's patterns are counts and
// need neither; they are here to read, and to compare with, what was computed in those units.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// The factor that makes the mean over patterns of sum X^2 equal to (N / 2)^2.
///   amplitudes  (..., N, N) real, >= 0; squared and summed in float64
/// Throws InvalidInput for amplitudes that are not square images or are 0 everywhere.
double amplitude_norm(const at::Tensor& amplitudes);

/// sqrt(nphotons) / (N / 2): amplitudes of that norm times it have nphotons per pattern in the
/// mean.
double intensity_scale(double nphotons, std::int64_t pattern_size);

}  // namespace ptyche
