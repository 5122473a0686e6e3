// The phases of patches, each of which is known but for a factor, brought together.
#pragma once

#include <ATen/ATen.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

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

/// The same of patches that come in their order and stay only until all that overlap them have
/// come: then a patch has a first factor, which agrees with those of its neighbours, while far ones
/// may have drifted apart. What the last factors turn it by on top of that hardly changes from one
/// patch to the next.
class PhasesInOrder {
 public:
  /// weights (N, N) and corners (n, 2) as in synchronise, with the host.
  PhasesInOrder(const at::Tensor& weights, const at::Tensor& corners);
  ~PhasesInOrder();
  PhasesInOrder(const PhasesInOrder&) = delete;
  PhasesInOrder& operator=(const PhasesInOrder&) = delete;

  /// All patches before number `end` have come.
  ///   patches  (slots, N, N) complex64, contiguous, with the host
  ///   slots    (n) where each of those lies that have not left yet
  /// Returns the numbers of those that nothing waits for any longer.
  std::vector<std::int64_t> come(const at::Tensor& patches, const std::vector<std::int64_t>& slots,
                                 std::int64_t end);
  /// Of the patches that have come, unit factors; 0 of the others.
  const std::vector<std::complex<double>>& first_factors() const;
  /// Those of synchronise, once all have come: (n) complex64.
  at::Tensor last_factors();
  /// The most patches that are there at once, where so many come at a time.
  std::int64_t most_at_once(std::int64_t together) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ptyche
