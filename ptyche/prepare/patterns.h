// The part of a scan that the tests look at, as numbers that they can work with, and the few
// operations on images that they share.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <vector>

#include "ptyche/data/scan.h"

namespace ptyche {

/// Patterns that are not rejected: all, or of a large scan some hundred that lie close together.
struct Patterns {
  at::Tensor frames;     ///< (k) int64, ascending: their numbers in the scan
  at::Tensor counts;     ///< (k, N, N) float32, 0 where masked
  at::Tensor mask;       ///< (N, N) bool
  at::Tensor positions;  ///< (k, 2) float64
  at::Tensor totals;     ///< (k) float64

  std::int64_t size() const { return counts.size(0); }
  std::int64_t pixels() const { return counts.size(-1); }
};
Patterns patterns_of(const Scan& scan);

/// Numbers of the frames that are not rejected, held-out ones among them, (k) int64.
at::Tensor usable_frames(const Scan& scan);

/// The patterns numbered `which` (m) int64 among them.
Patterns some_of(const Patterns& patterns, const at::Tensor& which);

/// The `count` nearest others of every position, nearest first: k lists of at most `count`.
///   positions  (k, 2) float64
std::vector<std::vector<std::int64_t>> nearest(const at::Tensor& positions, std::int64_t count);

/// Spread of the totals' logarithms about those of four neighbours, photon noise taken off: what a
/// beam that fluctuates does.
double spread_about_neighbours(const Patterns& patterns);

/// counts (..., N, N) with blocks of pixels summed until N is at most 64, and the mask with blocks
/// counted where one pixel is.
struct Binned {
  at::Tensor counts, mask;
};
Binned binned(const at::Tensor& counts, const at::Tensor& mask);

/// A Gaussian blur (N, N) float64 that goes on around the edge.
at::Tensor blurred_around(const at::Tensor& image, double sigma_px);

/// The mean pattern (N, N) float64 with the masked pixels filled from those beside them.
at::Tensor filled(const at::Tensor& mean, const at::Tensor& mask);

/// Row and column of the largest value of a circular correlation (N, N) float64, in -N/2..N/2-1,
/// between pixels by a parabola.
std::array<double, 2> peak_between_pixels(const at::Tensor& correlation);

/// |FFT2 of the probe|^2 summed over modes, (N, N) float64, zero frequency at (N/2, N/2).
at::Tensor far_field_of(const at::Tensor& probe);

}  // namespace ptyche
