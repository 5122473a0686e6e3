// rPIE: the regularised ptychographic iterative engine. Gives training its first probe.
#pragma once

#include <cstdint>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct RpieOptions {
  std::int64_t epochs = 30;            ///< sweeps over the used patterns, >= 1
  double object_step = 1.0;            ///< beta of the object, 0..1
  double probe_step = 0.2;             ///< beta of the probe, 0..1; 0 = probe kept
  double object_regularisation = 0.3;  ///< alpha of the object, 0 < alpha <= 1
  double probe_regularisation = 1.0;   ///< alpha of the probe, 0 < alpha <= 1
  std::int64_t probe_start = 2;        ///< epochs before the probe is updated
  double step_decay = 0.05;  ///< both steps fall geometrically to this share at the last epoch
  std::int64_t batch = 8;    ///< patterns whose updates are merged, >= 1; 1 = one after the other
  std::uint64_t seed = 1;
};

/// Runs rPIE (Maiden, Johnson & Li, Optica 4, 736 (2017), eqs. 9 and 13) over the scan's used
/// patterns in random order, from `start`; the probe moves by each position's fraction of a pixel
/// in Fourier space. Several modes share the measured amplitude in proportion (Thibault & Menzel
/// 2013). A masked amplitude keeps the model's. The updates of `batch` patterns are merged (see
/// engine/projections.h), so that threads can share the work; the result does not depend on
/// their number. Throws InvalidInput for options out of range, and if the numbers stop being
/// finite.
Reconstruction rpie(const Scan& scan, const Reconstruction& start, const RpieOptions& options);

}  // namespace ptyche
