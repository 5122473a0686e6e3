// Probes for simulated scans.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace ptyche {

/// The shapes:
/// - defocused: what a lens behind a round aperture gives out of focus. Its far field is a disc of
///   radius 0.25 cycles/px with a soft edge and the phase of free space over the defocus. In focus
///   it is 2 px wide (half maximum); at defocus 1 the aperture's shadow, by ray optics, is
///   `diameter_px` wide, and a disc of that diameter holds about 90 % of the power.
/// - disk: a pinhole in contact, flat in amplitude and phase, its edge soft over about 2 px.
/// - gaussian: flat in phase, its amplitude `diameter_px` wide at 1/e of the peak.
struct ProbeOptions {
  std::string shape = "defocused";
  std::int64_t pattern_size = 64;  ///< N, even, >= 8
  double diameter_px = 22;  ///< 2 to N / 2, after defocus too, so that the tails stay inside N
  double defocus = 1;       ///< of the default one; its sign is its direction; `defocused` only
  double photons = 1e5;     ///< sum of |probe|^2, > 0
};

/// (1, N, N) complex64, unit sqrt(photon), centred on pixel (N/2, N/2).
/// Throws InvalidInput for options out of range.
at::Tensor make_probe(const ProbeOptions& options);

}  // namespace ptyche
