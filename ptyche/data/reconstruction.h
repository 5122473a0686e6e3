// What inference gives and what stitching and solvers make of it, with all that is needed to
// predict patterns.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/data/scan.h"

namespace ptyche {

/// How a patch between two object pixels is taken; stored with every result.
enum class Interpolation {
  bilinear,       ///< the patch is interpolated between object pixels
  probe_fourier,  ///< whole-pixel patch, probe moved by the rest in Fourier space: does not blur
};

std::string to_string(Interpolation interpolation);
/// Throws InvalidInput listing the names that exist.
Interpolation interpolation_from(const std::string& name);

/// What inference gives: one piece of object per pattern, not yet joined.
struct Patches {
  at::Tensor patches;     ///< (k, N, N) complex64 on the object's pixel grid: pixel (N/2, N/2) is
                          ///< the object pixel nearest to the pattern's position
  at::Tensor frames;      ///< (k) int64, the pattern of each patch
  at::Tensor probe;       ///< (modes, N, N) complex64, the model's probe in sqrt(photon)
  at::Tensor background;  ///< (N, N) float32 counts, zero frequency at N/2; undefined = none
  Interpolation interpolation = Interpolation::probe_fourier;
};

/// Where a result comes from; written into every file.
struct Provenance {
  std::string source, input_hash;  ///< scan file and its SHA-256
  std::string command;             ///< the command line
  std::string options_json;        ///< all options as one JSON object
  std::uint64_t seed = 0;
};

/// The result: one object, the probe that goes with it, and what predicts patterns from them.
struct Reconstruction {
  at::Tensor object;  ///< (rows, cols) complex64, dimensionless; 1 + 0i where no pattern lights it
  at::Tensor coverage;   ///< (rows, cols) float32 >= 0, sum of the merge weights over the strongest
                         ///< one; 0 = unlit
  at::Tensor probe;      ///< (modes, N, N) complex64, sqrt(photon)
  at::Tensor positions;  ///< (n, 2) float64 of ALL patterns in file order, scan's pixel frame
  at::Tensor frame_use;  ///< (n) uint8 FrameUse
  at::Tensor background;  ///< (N, N) float32 counts, zero frequency at N/2; undefined = none
  /// Object pixel (0, 0) in the scan's pixel frame, whole numbers: index = position - origin.
  std::int64_t origin_row = 0, origin_col = 0;
  Interpolation interpolation = Interpolation::probe_fourier;
  Geometry geometry;
  Provenance provenance;
  std::vector<double> loss;  ///< mean training loss per epoch, per photon
};

}  // namespace ptyche
