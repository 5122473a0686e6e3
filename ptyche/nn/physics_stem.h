// The network's first layer is physics: what one pattern alone says about its patch.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/engine/engine.h"

namespace ptyche {

struct StemOptions {
  std::vector<std::int64_t> steps = {1, 16};  ///< after which projections a channel pair is taken
  double regularisation = 0.1;                ///< alpha of the object step, 0 < alpha <= 1
  bool optics = false;  ///< also the probe as a complex number and the dose: what a network of many
                        ///< probes and doses has to know
};
std::vector<Field> fields(StemOptions& options);

/// Channels that a stem gives: real and imaginary part of O - 1 for every entry of `steps`, then
/// the probe's relative amplitude, then the pattern's amplitude. With `optics` also real and
/// imaginary part of the first mode over its peak, its mean phase (weighed by its power) 0, and
/// (log10 of the pattern's photons - 4.5) / 1.5, the same in every pixel.
std::int64_t stem_channels(const StemOptions& options);

/// The objects that each pattern alone asks for (single_pattern_objects), as channels. Nothing is
/// learned here; the network learns what is missing: the twin image, the dark of the probe, the
/// noise.
///   amplitudes  (k, N, N) sqrt(counts), FFT order, masked pixels 0
///   mask        (N, N) bool, FFT order, true = counted
///   probes      (k, modes, N, N), the frozen stem probe moved by each position's fraction
///   engine      of the projections; the same to rounding
///   input_scale multiplies the amplitudes of the last channel (centred); frozen at training time
/// Returns (k, stem_channels, N, N) float32 in whole-pixel object coordinates. Throws InvalidInput
/// as single_pattern_objects does.
at::Tensor physics_stem(const at::Tensor& amplitudes, const at::Tensor& mask,
                        const at::Tensor& probes, double input_scale, const StemOptions& options,
                        Engine engine = Engine::fused);

}  // namespace ptyche
