// One object out of all patches, brought to one phase.
#pragma once

#include <ATen/ATen.h>

#include <array>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Joins the patches, on any device, into one object, with the host, by their mean weighted with
/// the probe's intensity,
///   object(r) = sum_k w(r - r_k) patch_k(r - r_k) / sum_k w(r - r_k),  w = sum_m |P_m|^2,
/// (or by the weights w that the patches bring), each patch first turned to the phase of its
/// neighbours (synchronise), the probe moved by each position's fraction of a pixel, under bilinear
/// the patch. The canvas holds the patches of all the scan's
/// positions (position_box), so that patterns that were held out can be predicted; pixels that no
/// patch lights are 1 + 0i. Throws InvalidInput if a patch's frame is not in the scan.
Reconstruction stitch(const Patches& patches, const Scan& scan);

/// How far the patches that see an object pixel are apart, each brought to the phase of the image.
struct Agreement {
  /// (rows, cols) float32: the variance of one patch about the mean of all, estimated from those
  /// that see the pixel, sum w |c p - m|^2 / (sum w - sum w^2 / sum w); 0 where all agree, NaN
  /// where fewer than kLeastSeen see it.
  at::Tensor variance;
  /// (rows, cols) float32: by how many patches of equal weight the pixel is seen, (sum w)^2 /
  /// sum w^2; 0 where none does. Independent ones leave their mean a variance of variance / seen.
  at::Tensor seen;
};
inline constexpr double kLeastSeen = 1.1;

/// Of the patches of which `image` was stitched (or of others of that scan), with the weights w of
/// `stitch`.
Agreement agreement_of(const Patches& patches, const Reconstruction& image);

/// Rows and columns of the canvas that empty_reconstruction makes.
std::array<std::int64_t, 2> canvas_shape(const Scan& scan);

/// The canvas that holds every position's patch, with a margin of 2 pixels: an object of ones with
/// origin, positions, frame use, geometry and probe filled in. Solvers start from it too.
Reconstruction empty_reconstruction(const Scan& scan, Interpolation interpolation);

}  // namespace ptyche
