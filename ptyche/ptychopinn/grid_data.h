// PtychoPINN's data sets on a regular grid: drawings of lines, scanned in groups.
#pragma once

#include <vector>

#include "ptyche/data/scan.h"
#include "ptyche/data/window.h"
#include "ptyche/ptychopinn/grid_scan.h"

namespace ptyche {

struct GridDataOptions {
  GridScanOptions grid;
  std::int64_t images = 2;         ///< drawings, scanned one after the other
  double nphotons = 1e9;           ///< mean counts of a pattern
  bool set_phi = false;            ///< the drawing gives the phase too (line_drawing.h), else 0
  std::uint32_t drawing_seed = 1;  ///< of the first drawing; the next one has the next but one
  std::uint64_t noise_seed = 1;
};

/// scan    every pattern of all images once, whichever groups it belongs to; the images lie so far
///         apart that no pattern sees two; truth and probe included
/// groups  (n, gridsize^2) int64 frames, image after image as grid_scan_corners has them
/// images  where each drawing lies on the truth
/// tiles   the part of each drawing that the central outer / 2 x outer / 2 pixels of all its
/// groups'
///         first patterns cover: what the original stitches and scores
struct GridData {
  Scan scan;
  at::Tensor groups;
  std::vector<Window> images, tiles;
};

/// Object, amplitudes over the mean of the groups' largest one (as simulate_grid does), under
/// `probe` (N, N) complex scaled to nphotons; counts with Poisson noise. Throws InvalidInput for
/// options out of range.
GridData simulate_grid_data(const GridDataOptions& options, const at::Tensor& probe);

}  // namespace ptyche
