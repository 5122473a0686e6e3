// The experiment's lengths, and how they give the size of an object pixel.
#pragma once

#include <cstdint>

namespace ptyche {

/// Lengths in metres, energy in electronvolts; 0 = not known.
struct Geometry {
  double energy_ev = 0;          ///< photon energy (X-rays)
  double distance_m = 0;         ///< sample to detector
  double detector_pixel_m = 0;   ///< detector pixel pitch
  double exposure_s = 0;         ///< of one pattern
  double object_pixel_m = 0;     ///< object pixel; 0 = lengths are in object pixels only
  bool near_field = false;       ///< the detector sees the sample's shadow and not its far field
  double source_distance_m = 0;  ///< near field: focus to sample; 0 = parallel light

  bool has_object_pixel() const { return object_pixel_m > 0; }
};

/// Object pixel of a far-field scan with an N x N detector: wavelength * distance / (N * pixel), in
/// metres (Rodenburg & Maiden, Springer Handbook of Microscopy 2019, ch. 17); 0 where one is
/// unknown.
double far_field_object_pixel_m(const Geometry& geometry, std::int64_t pattern_size);

/// Metres; 0 where the energy is unknown.
double wavelength_m(const Geometry& geometry);

/// A near-field scan in light that diverges from a focus is one in parallel light with a smaller
/// detector pixel over a shorter distance, both divided by the magnification M = 1 + distance /
/// source distance (Fresnel scaling theorem; Paganin, Coherent X-Ray Optics (2006), appendix B).
/// 0 where one is unknown.
double near_field_object_pixel_m(const Geometry& geometry);
double effective_distance_m(const Geometry& geometry);

/// far_field_object_pixel_m or near_field_object_pixel_m.
double object_pixel_m(const Geometry& geometry, std::int64_t pattern_size);

}  // namespace ptyche
