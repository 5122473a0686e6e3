// The pixels that a patch between pixels touches, and how much of each.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace ptyche {

/// Which image each patch belongs to: `image` (m) int64 in 0..count-1, of rows x cols pixels.
struct Images {
  at::Tensor image;
  std::int64_t count = 0, rows = 0, cols = 0;
};

/// Throws InvalidInput naming the first patch (size, size) with corner `corners` (m, 2) that leaves
/// its image.
void require_inside(const Images& images, const at::Tensor& corners, std::int64_t size);

/// One of the pixels that every patch pixel is a weighted sum of.
struct BilinearTap {
  at::Tensor indices;  ///< (m, size, size) int64, flat index into (count, rows, cols)
  at::Tensor weight;   ///< (m, 1, 1) float64, differentiable in the corners; undefined = 1

  /// weight x values, in the precision of the values.
  at::Tensor weigh(const at::Tensor& values) const;
};

/// The four neighbours of patches (size, size) with fractional `corners` (m, 2) float64; weights
/// (1 - f, f) by row times by col. A tap outside the image has weight 0 and a neighbour's index.
/// Throws InvalidInput naming the patch that leaves its image.
std::vector<BilinearTap> bilinear_taps(const Images& images, const at::Tensor& corners,
                                       std::int64_t size);

/// The single tap of whole-pixel corners.
std::vector<BilinearTap> whole_taps(const Images& images, const at::Tensor& corners,
                                    std::int64_t size);

}  // namespace ptyche
