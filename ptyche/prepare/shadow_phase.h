// The phase of a lens that is astigmatic or has spherical aberration, from a scan's patterns alone.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <vector>

#include "ptyche/prepare/shadow_defocus.h"

namespace ptyche {

/// A phase over the aperture, rad at its rim. With u the way from the aperture's centre over its
/// radius, (row, col): defocus u^2 + astigmatism (u_row^2 - u_col^2) + oblique 2 u_row u_col +
/// spherical u^4.
struct LensPhase {
  double defocus = 0, astigmatism = 0, oblique = 0, spherical = 0;
};

/// On the detector: (size, size) float64, zero frequency at (size/2, size/2).
at::Tensor phase_image(const LensPhase& phase, const Aperture& aperture, std::int64_t size);

/// A phase, and by how many standard errors the shadows speak for it.
struct PhasePeak {
  LensPhase phase;
  double strength = 0;
};

/// Geometric optics: the ray through a detector pixel meets the sample at (N / (2 pi)) grad(phase)
/// before the position, gradient per detector pixel. What a pattern has beyond the mean one
/// is laid on the sample there, with the sign of the phase's Laplacian, since the shadow of a phase
/// object is bright on one side of the focus where it is dark on the other (Teague, J. Opt. Soc.
/// Am. 73, 1434 (1983), eq. 3). Where the phase is right, patterns agree: the strength is the sum
/// over cells of the sample and pairs of different patterns of the products, over its standard
/// deviation without a sample. Some 660 phases of at most .35 N rays are tried, and the strongest
/// of them, at most `most`, changed step by step while they grow stronger; strongest first, without
/// those alike. None where the aperture is smaller than 5 px. Arguments as of defoci_from_shadows,
/// on the 100 patterns nearest to the middle. The same on any number of threads.
std::vector<PhasePeak> phases_from_shadows(const at::Tensor& counts, const at::Tensor& positions,
                                           const at::Tensor& mean, const Aperture& aperture,
                                           std::size_t most = 6);

}  // namespace ptyche
