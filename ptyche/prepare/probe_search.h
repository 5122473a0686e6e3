// The first probe of a scan that has none, from its patterns and positions alone.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/scan.h"
#include "ptyche/prepare/short_solve.h"

namespace ptyche {

/// A short solve from one start.
struct ProbeTrial {
  std::string what;
  HeldOutFit fit;
};

/// A probe of which something is known before the search, of the whole detector and of any power.
struct KnownProbe {
  std::string name;
  at::Tensor probe;  ///< (modes, N, N) complex64
};

struct FoundProbe {
  at::Tensor probe;      ///< (modes, N, N) complex64, sqrt(photon)
  std::string what;      ///< the start that won: "defocus -30.7 rad at the detector's edge"
  std::string known;     ///< the name of the known probe that it began with; empty = of none
  bool of_scan = false;  ///< it is the scan's own, refined or as it was
  bool sure = false;     ///< photons enough, and more than half explained
  bool on_second_look =
      false;  ///< the scan's own, which the first short solve explained too little by
  HeldOutFit fit;
  /// Where a lens with two foci or spherical aberration won: of the best start without.
  std::optional<HeldOutFit> without_aberrations = {};
  double strength = 0;             ///< standard errors of the strongest shadow peak; 0 = none
  std::vector<ProbeTrial> trials;  ///< all short solves, in their order
};

/// Searches with the used patterns of a far-field scan:
/// 1. starts: modulus sqrt(mean pattern) with the phase c |q|^2 about the aperture's centre, c = 0
///    and the peaks of defoci_from_shadows, each also nearer to focus; with `own` the scan's probe;
/// 2. each for a few passes on kHeatPatterns neighbouring patterns, every eighth held out;
/// 3. the best, and the best of another defocus unless it is clearly beaten, from the difference
///    map and from rPIE on kFinalPatterns patterns;
/// 4. where nothing explains half: lenses with two foci or spherical aberration, the phases of
///    phases_from_shadows, each by rPIE (in which a beam with a bright caustic does not diverge),
///    then as in 3; more passes while they gain, also from a probe that is stuck half way; discs
///    and other defoci.
/// `own`: the scan's probe is a start as well and is given back, as it is, unless another start
/// explains clearly more or the solve made another probe of it; where short solves from it explain
/// enough, nothing else is tried. `known`: starts that are tried before all others; one that
/// explains enough by a short solve is given back as it is, and nothing else is tried. The same on
/// any number of threads. Throws InvalidInput for a near-field scan, fewer than kLeastPatterns used
/// patterns, and where no start can be solved; Interrupted after Ctrl-C.
/// Without `aberrations` step 4 has no such lenses: one with foci of opposite signs casts the
/// shadows of one without at positions with an axis flipped.
FoundProbe find_probe(const Scan& scan, bool own, const std::vector<KnownProbe>& known = {},
                      bool aberrations = true);

inline constexpr std::int64_t kHeatPatterns = 100, kFinalPatterns = 200, kLeastPatterns = 8;

}  // namespace ptyche
