// Detectors that do not count: their values are photons times a gain, plus read-out noise and often
// a level of their own. How much of each, the patterns say themselves.
#pragma once

#include <ATen/ATen.h>

#include <optional>

namespace ptyche {

/// value = gain x photons + level + noise
struct ReadoutNoise {
  double level = 0;  ///< of pixels without light, in the values' unit
  double noise = 0;  ///< its standard deviation
  double gain = 1;   ///< of a photon
};

/// Of patterns whose values below zero are read-out noise: they are in nearly all patterns, and
/// spread like half of a normal distribution. Or of patterns whose darkest pixels stand at a level
/// that varies by less than half of what photons as many would, and, if whole, not as counts. Or of
/// patterns of a gain above 2. Nothing for others.
///   patterns  (n, rows, cols) of any real type
///   mask      (rows, cols) bool, true = counted
///   whole     values are whole numbers: a gain alone is not looked for, for single bright pixels
///             look like one
/// The gain is that by which photon noise explains what is left of the patterns far from their
/// middle in the plane of their transform, where two points of a probe are never so far apart
/// (photon transfer: Janesick, "Photon Transfer", SPIE 2007, without a second exposure).
std::optional<ReadoutNoise> readout_noise(const at::Tensor& patterns, const at::Tensor& mask,
                                          bool whole);

/// Counts, (n, rows, cols) float32, whole numbers, hidden pixels 0: photons and the noise's
/// variance in photons, about which they are nearly Poisson distributed, and which a background
/// takes (Snyder, Hammoud & White, J. Opt. Soc. Am. A 10, 1014 (1993)); never below zero. Where
/// single photons stand out of the noise, they are these photons.
at::Tensor photons_of(const at::Tensor& patterns, const at::Tensor& mask,
                      const ReadoutNoise& noise);

}  // namespace ptyche
