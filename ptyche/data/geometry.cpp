#include "ptyche/data/geometry.h"

namespace ptyche {

namespace {

double magnification(const Geometry& geometry) {
  return geometry.source_distance_m > 0 ? 1 + geometry.distance_m / geometry.source_distance_m : 1;
}

}  // namespace

double wavelength_m(const Geometry& geometry) {
  constexpr double kPlanckTimesLight = 1.23984198e-6;  // eV m (CODATA 2018)
  return geometry.energy_ev > 0 ? kPlanckTimesLight / geometry.energy_ev : 0;
}

double near_field_object_pixel_m(const Geometry& geometry) {
  if (geometry.source_distance_m > 0 && geometry.distance_m <= 0) return 0;
  return geometry.detector_pixel_m / magnification(geometry);
}

double effective_distance_m(const Geometry& geometry) {
  return geometry.distance_m / magnification(geometry);
}

double object_pixel_m(const Geometry& geometry, std::int64_t pattern_size) {
  return geometry.near_field ? near_field_object_pixel_m(geometry)
                             : far_field_object_pixel_m(geometry, pattern_size);
}

double far_field_object_pixel_m(const Geometry& geometry, std::int64_t pattern_size) {
  if (geometry.energy_ev <= 0 || geometry.distance_m <= 0 || geometry.detector_pixel_m <= 0)
    return 0;
  return wavelength_m(geometry) * geometry.distance_m /
         (static_cast<double>(pattern_size) * geometry.detector_pixel_m);
}

}  // namespace ptyche
