// Where in an image a disk may be: circles across which the light falls; and a circle fitted to
// the edge of a disk: where the level inside falls to the level outside.
#pragma once

#include <cstdint>
#include <vector>

namespace ptyche {

/// Of the level of light: fainter light counts as none.
inline constexpr double kFaintLight = 0.03;

struct Circle {
  double row = 0, col = 0, radius = 0;  ///< px
};

/// An image of summed counts: what is not counted, or is no number, has no weight.
struct DiskImage {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> light;   ///< rows * cols
  std::vector<double> weight;  ///< rows * cols, 0 or the number of pixels that were summed
};

/// An image and where the disk lies in it against the others: of a part of a scan whose disk moves.
struct PlacedImage {
  const DiskImage* image = nullptr;
  double row = 0, col = 0;  ///< px
};

/// The light outside a disk, and how much more its bright part has: a pixel's.
struct LightLevels {
  double background = 0, level = 0;
};

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

struct EdgeFit {
  bool hold_shape = false;  ///< radius and blur of the start hold, the centre is fitted
  double least_reach = 3;
  std::size_t most_samples = 1000000;  ///< pixels that are looked at
};

struct DiskEdge {
  Circle circle;
  double blur = 0;          ///< standard deviation of the edge, px
  double radius_error = 0;  ///< standard error by what the fit leaves, px
  double share = 0;         ///< of the rim at which the light falls
  double drop = 0;          ///< mean natural logarithm of inside over outside along the rim
};

/// Least squares over the annulus around `start`. In each of some sectors the light inside and
/// outside is a level with a slope along the radius, both free, so that contrast in the disk, a
/// dark field, gains and a beam stop move nothing; centre, radius and blur are common to all. The
/// edge is a disk's that is blurred by a Gaussian, Phi((R - r) / s - s / (2 r)): to first order in
/// s / R its half level lies s^2 / (2 R) within.
DiskEdge fit_disk_edge(const std::vector<PlacedImage>& images, const Circle& start, double blur,
                       const LightLevels& light, const EdgeFit& how = {});

}  // namespace ptyche
