// Where in an image a disk may be: circles across which the light falls.
#pragma once

#include <vector>

#include "ptyche/io/disk_edge.h"

namespace ptyche {

/// A twentieth of the pixels is darker than the background.
LightLevels light_levels(const DiskImage& image);

/// Single pixels, and lines of one pixel, that stand out from all around them lose their weight.
void leave_out_outliers(DiskImage& image);

/// Sums of 2 x 2 pixels.
DiskImage halved(const DiskImage& image);

/// Circles of radii from 3 px to .6 of the image across which the logarithm of the light falls
/// most, averaged over eight octants of which at least half must be seen; those of each octave
/// apart, strongest first.
std::vector<Circle> disk_candidates(const DiskImage& image);

/// Radii at which the light falls around that middle, at the image's own pixels: strongest first.
std::vector<double> falls_around(const DiskImage& image, double row, double col);

}  // namespace ptyche
