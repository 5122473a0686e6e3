// One object out of all patches, brought to one phase.
#pragma once

#include <ATen/ATen.h>

#include <array>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Unit factors c_k that make overlapping patches agree: they maximise, over the overlaps,
///   sum_kl Re conj(c_k) c_l H_kl,  H_kl = sum_r sqrt(w(r - r_k) w(r - r_l)) conj(p_k) p_l
/// by the generalised power method (Boumal, SIAM J. Optim. 26, 2355 (2016), algorithm 1), since the
/// intensity of a pattern is blind to the phase of its exit wave. Multiply patch k by c_k.
///   patches  (k, N, N) complex64 on whole pixels
///   weights  (N, N) float32 >= 0, of every patch
///   corners  (k, 2), whole-pixel place of each patch's pixel (0, 0)
/// All on one device, patches, weights and corners. Returns (k) complex64 factors there, whose mean
/// has phase 0; 1 for a patch that overlaps no other.
at::Tensor synchronise(const at::Tensor& patches, const at::Tensor& weights,
                       const at::Tensor& corners);

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
