// The probe that an instrument's numbers describe: a lens's far field, or a beam in the sample's
// plane.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Lengths in metres; 0 = not given.
struct Optics {
  double lens_diameter_m = 0, outermost_zone_m = 0, focal_length_m = 0, central_stop_m = 0;
  double cs_m = 0;              ///< of an electron microscope
  double defocus_m = 0;         ///< from the focus to the sample; > 0: the sample lies behind it
  double probe_diameter_m = 0;  ///< of a disk, or of a Gaussian at half its intensity
  std::vector<double> zernike_rad = {};  ///< Noll 4, 5, ..., root mean square over the aperture
};
std::vector<Field> fields(Optics& optics);

/// "disk", "gaussian", "zone-plate", "electron".
const std::vector<std::string>& optics_kinds();

/// The probe of that kind, (1, N, N) complex64 of any power.
/// - zone-plate: far field of the numerical aperture D / (2 f), the focal length f given or
///   D dr / lambda (Attwood, Soft X-Rays (1999), eq. 9.13), without what the central stop takes;
/// - electron: aperture of the scan's semi-angle, phase of defocus and Cs, -chi(k) = -pi lambda k^2
///   (defocus + Cs lambda^2 k^2 / 2) (Kirkland, Advanced Computing in Electron Microscopy (2010),
///   eq. 2.10, its defocus with the other sign: underfocus is negative here);
/// - disk, gaussian: flat in phase, in contact with the sample.
/// Throws InvalidInput naming the numbers that are missing (the scan must know its object pixel,
/// and its wavelength for a zone plate), a lens whose far field is larger than the detector, and a
/// probe that leaves the window.
at::Tensor probe_of_optics(const std::string& kind, const Optics& optics, const Scan& scan);

}  // namespace ptyche
