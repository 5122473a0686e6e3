// The result: one object, the probe that goes with it, and all that is needed to predict patterns.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/data/geometry.h"
#include "ptyche/data/interpolation.h"

namespace ptyche {

/// Where a result comes from; written into every file.
struct Provenance {
  std::string source, input_hash;  ///< scan file and its SHA-256
  std::string command;             ///< the command line
  std::string options_json;        ///< all options as one JSON object
  std::uint64_t seed = 0;
};

/// object     (rows, cols) complex64, dimensionless; 1 + 0i where no pattern lights it
/// coverage   (rows, cols) float32 >= 0, sum of the merge weights over the strongest one; 0 = unlit
/// origin     object pixel (0, 0) in the scan's pixel frame, whole numbers: index = position -
/// origin probe      (modes, N, N) complex64, sqrt(photon) positions  (n, 2) float64 of ALL
/// patterns in file order, scan's pixel frame frame_use  (n) uint8 FrameUse background (N, N)
/// float32 counts, zero frequency at N/2; undefined = none
struct Reconstruction {
  at::Tensor object, coverage, probe, positions, frame_use, background;
  std::int64_t origin_row = 0, origin_col = 0;
  Interpolation interpolation = Interpolation::probe_fourier;
  Geometry geometry;
  Provenance provenance;
  std::vector<double> loss;  ///< mean training loss per epoch, per photon
};

}  // namespace ptyche
