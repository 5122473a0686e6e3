// The phases of patches, each of which is known but for a factor, brought together.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Unit factors c_k that make overlapping patches agree: they maximise, over the overlaps,
///   sum_kl Re conj(c_k) c_l H_kl,  H_kl = sum_r sqrt(w(r - r_k) w(r - r_l)) conj(p_k) p_l
/// by the generalised power method (Boumal, SIAM J. Optim. 26, 2355 (2016), algorithm 1) on a
/// hierarchy of blocks of patches, so that what a patch costs does not grow with the scan; since
/// the intensity of a pattern is blind to the phase of its exit wave. Multiply patch k by c_k.
///   patches  (k, N, N) complex64 on whole pixels
///   weights  (N, N) float32 >= 0, of every patch
///   corners  (k, 2), whole-pixel place of each patch's pixel (0, 0)
/// All on one device, patches, weights and corners. Returns (k) complex64 factors there, whose mean
/// has phase 0; 1 for a patch that overlaps no other.
at::Tensor synchronise(const at::Tensor& patches, const at::Tensor& weights,
                       const at::Tensor& corners);

}  // namespace ptyche
