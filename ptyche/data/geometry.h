// The experiment's lengths, and how they give the size of an object pixel.
#pragma once

#include <cstdint>

namespace ptyche {

/// Lengths in metres, energy in electronvolts; 0 = not known.
struct Geometry {
  double energy_ev = 0;         ///< photon energy (X-rays)
  double distance_m = 0;        ///< sample to detector
  double detector_pixel_m = 0;  ///< detector pixel pitch
  double exposure_s = 0;        ///< of one pattern
  double object_pixel_m = 0;    ///< object pixel; 0 = lengths are in object pixels only

  bool has_object_pixel() const { return object_pixel_m > 0; }
};

/// Object pixel of a far-field scan with an N x N detector: wavelength * distance / (N * pixel), in
/// metres (Rodenburg & Maiden, Springer Handbook of Microscopy 2019, ch. 17); 0 where one is
/// unknown.
double far_field_object_pixel_m(const Geometry& geometry, std::int64_t pattern_size);

}  // namespace ptyche
