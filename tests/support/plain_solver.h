// Runs of solvers that are cheap enough for quick tests.
#pragma once

#include <vector>

#include "ptyche/evaluate/data_fit.h"
#include "ptyche/solve/solver_options.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {

/// A chain of its own for every test: cheap, and with nothing that refines more than the object.
inline SolverOptions plain(std::vector<ChainLink> chain) {
  SolverOptions options;
  options.chain = std::move(chain);
  options.fixed_probe = true;
  options.batch = 6;
  options.every = 1000;
  options.plateau = 0;
  return options;
}

inline double r_factor(const Reconstruction& image, const Scan& scan) {
  return data_fit(image, scan, scan.frames_with(FrameUse::used), true).r_factor;
}

inline Reconstruction flat(const Scan& scan) {
  return empty_reconstruction(scan, Interpolation::probe_fourier);
}

}  // namespace ptyche
