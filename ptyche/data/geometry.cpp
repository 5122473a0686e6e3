#include "ptyche/data/geometry.h"

namespace ptyche {

double far_field_object_pixel_m(const Geometry& geometry, std::int64_t pattern_size) {
  constexpr double kPlanckTimesLight = 1.23984198e-6;  // eV m (CODATA 2018)
  if (geometry.energy_ev <= 0 || geometry.distance_m <= 0 || geometry.detector_pixel_m <= 0)
    return 0;
  return kPlanckTimesLight / geometry.energy_ev * geometry.distance_m /
         (static_cast<double>(pattern_size) * geometry.detector_pixel_m);
}

}  // namespace ptyche
