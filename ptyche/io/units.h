// Units as files and users name them.
#pragma once

#include <string>

#include "ptyche/data/scan.h"

namespace ptyche {

/// What a number of a file stands for; it is brought to the unit in brackets.
enum class Measure {
  length,      ///< [m]
  energy,      ///< [eV]
  wavelength,  ///< [m]
  time,        ///< [s]
  angle,       ///< [rad]
  reciprocal,  ///< [1/m]
  number,      ///< [1], [object pixel]
};

/// What one `unit` is in the measure's own unit: ("keV", energy) is 1000, ("um", length) 1e-6. An
/// empty unit is the measure's own. Throws InvalidInput that lists the units that are known.
double in_own_unit(const std::string& unit, Measure measure);

/// Photon energy of a wavelength and back, eV and metres; 0 for 0.
inline double photon_energy_ev(double wavelength_m) {
  return wavelength_m > 0 ? kHcInEvM / wavelength_m : 0;
}

}  // namespace ptyche
