// The figures that stand an image beside its scan: measured patterns beside modelled ones, and
// where the patterns lie and have moved.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/report/result_figures.h"

namespace ptyche {

/// Measured patterns, what the image foretells of them and the difference over its standard
/// deviation, in three columns: the one with the median misfit, the worst one and the brightest
/// one of at most 128 that are spread evenly over the used and held-out patterns. Masked pixels are
/// grey. The figures stand one below the other. Throws InvalidInput where the image is of another
/// pattern size or no pattern can be used.
struct PatternFigures {
  std::vector<Figure> figures;
  std::string caption, alt;
};
PatternFigures pattern_figures(const Reconstruction& image, const Scan& scan);

/// How the file's positions were corrected before the solve, "raster turned, 33.1 degrees"; empty =
/// they were not.
std::string corrected_positions(const Reconstruction& image);

/// How far positions have moved from those of the scan, px, without the common shift.
struct Movement {
  double rms_px = 0, largest_px = 0;
};
/// 0 where the image's positions are not the scan's patterns'.
Movement movement(const Reconstruction& image, const Scan& scan);

/// Positions on the phase with the way that each has come, which is drawn longer where it would not
/// be seen. Throws as phase_figure.
CaptionedFigure positions_figure(const Reconstruction& image, const Scan& scan);

}  // namespace ptyche
