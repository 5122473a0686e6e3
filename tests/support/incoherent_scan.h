// A scan whose light one probe mode cannot describe.
#pragma once

#include "ptyche/simulate/simulate.h"

namespace ptyche {

/// Four parts of the light come from the scan's probe, one from the same one moved by 3 pixels;
/// 1e5 photons and more, the file's probe of one mode.
inline Scan incoherent_scan(const SimulateOptions& options = {.frames = 120, .seed = 3}) {
  SimulateOptions lit = options;
  lit.photons = 1e5;
  const Scan first = simulate(lit);
  const Scan second = simulate_like(first.with_probe(first.probe().roll(3, -1)),
                                    {.photons = 2.5e4, .seed = options.seed + 1});
  ScanFields fields = first.fields();
  fields.counts = fields.counts + second.counts();
  fields.shared.reset();
  return Scan(std::move(fields));
}

}  // namespace ptyche
