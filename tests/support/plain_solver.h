// Runs of solvers that are cheap enough for quick tests.
#pragma once

#include <string>
#include <utility>

#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/solver.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {

/// Sets the option in those links of the chain that have it.
inline void set_where_known(SolverOptions& options, const std::string& name,
                            const std::string& value) {
  for (ChainLink& link : options.chain)
    if (const auto own = fields(link, options); const Field* field = find_field(own, name))
      assign(*field, value);
}

/// A chain of its own for every test: cheap, and with nothing that refines more than the object.
inline SolverOptions plain(Chain chain) {
  SolverOptions options;
  options.chain = std::move(chain);
  options.fixed_probe = true;
  options.every = 1000;
  set_where_known(options, "batch", "6");
  set_where_known(options, "plateau", "0");
  return options;
}

/// The same for a chain that refines positions or a background as well: their batches are small
/// too.
inline SolverOptions plain(Chain chain, PositionFreedom positions, bool background = false) {
  SolverOptions options = plain(std::move(chain));
  options.positions = positions;
  options.background = background;
  set_where_known(options, "batch", "6");
  return options;
}

inline double r_factor(const Reconstruction& image, const Scan& scan) {
  return data_fit(image, scan, scan.frames_with(FrameUse::used), true).r_factor;
}

inline Reconstruction flat(const Scan& scan) {
  return empty_reconstruction(scan, Interpolation::probe_fourier);
}

}  // namespace ptyche
