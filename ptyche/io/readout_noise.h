// Detectors that do not count: their values are photons times a gain, plus read-out noise and often
// a level of their own. How much of each, the patterns say themselves.
#pragma once

#include <ATen/ATen.h>

#include <optional>

namespace ptyche {

/// Mean counts of a pattern without noise, whose scale nothing tells: PtychoPINN's default.
inline constexpr double kMostCounts = 1e9;

/// value = gain x photons + level + noise
struct ReadoutNoise {
  double level = 0;  ///< of pixels without light, in the values' unit
  double noise = 0;  ///< its standard deviation
  double gain = 1;   ///< of a photon
};

/// Of patterns whose values below zero are read-out noise: they are in nearly all patterns, and
/// spread like half of a normal distribution. Or of patterns whose darkest pixels stand at a level
/// that varies by less than half of what photons as many would, and, if whole, not as counts. Or of
/// patterns of a gain above 2 with values between none and half a photon, whose noise was perhaps
/// cut off at zero. Nothing for others.
///   patterns  (n, rows, cols) of any real type
///   mask      (rows, cols) bool, true = counted
///   whole     values are whole numbers, so that a level varies as counts where it is one of them
/// The gain is that by which photon noise explains what is left of the patterns far from their
/// middle in the plane of their transform, where two points of a probe are never so far apart
/// (photon transfer: Janesick, "Photon Transfer", SPIE 2007, without a second exposure).
std::optional<ReadoutNoise> readout_noise(const at::Tensor& patterns, const at::Tensor& mask,
                                          bool whole);

/// What a photon counts in values >= 0 that are photons in some unit, by their noise as above, but
/// where the transforms are emptiest of all: the leak of light there looks like noise. Where there
/// is none, or too few patterns, what makes kMostCounts of a pattern.
///   values  (n, rows, cols) of any real type
///   mask    (rows, cols) bool, true = counted
double photon_gain(const at::Tensor& values, const at::Tensor& mask);

/// Whether values >= 0, or their squares, vary as photon counts do: a photon counts about 1 in them
/// (.5 to 4), and something else in the others. Found .58 to 1.3 in counts of 300 to 1e5 photons a
/// pattern, 1.8 and more in their squares; .004 to .9 in roots of counts, whose squares have about
/// 1. In brighter ones the leak of light can be more than the noise (up to 36): unknown, as are
/// values in another unit.
///   values  (n, rows, cols) of any real type
///   mask    (rows, cols) bool, true = counted
enum class NoiseOf { unknown, counts, roots };
NoiseOf noise_of_fractions(const at::Tensor& values, const at::Tensor& mask);

/// Counts, (n, rows, cols) float32, whole numbers, hidden pixels 0: photons and the noise's
/// variance in photons, about which they are nearly Poisson distributed, and which a background
/// takes (Snyder, Hammoud & White, J. Opt. Soc. Am. A 10, 1014 (1993)); never below zero. Where
/// single photons stand out of the noise, they are these photons.
at::Tensor photons_of(const at::Tensor& patterns, const at::Tensor& mask,
                      const ReadoutNoise& noise);

}  // namespace ptyche
