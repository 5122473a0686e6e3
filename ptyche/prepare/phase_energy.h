// How much of a scan's patterns one image of the object's phase explains, for any positions (any
// turn of a raster) and any defocus, without a solve.
//
// The derivative of the Poisson likelihood by the phase at an empty object is, of the j-th pattern
// I, g_j(x) = Im(P*(x) F^-1[(I / M - 1) P^](x)), M the mean pattern, P^ = sqrt(M) exp(i chi). At
// the right turn and phase chi the g_j of neighbours, each laid in its place r_j, say the same of
// the sample. Their energy |sum_j g_j(x - r_j)|^2 less that of each alone, which is all that photon
// noise adds to, is a sum over pairs; on a raster pairs of one step are summed once for all turns.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "ptyche/data/array.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct RasterShape {
  std::int64_t rows = 0, cols = 0;
};

/// Of the far field: defocus q^2 + spherical q^4, rad, q = 1 at the bright disk's rim.
struct Aberrations {
  double defocus = 0, spherical = 0;
};

/// The g_j of one far field's phase, on K frequencies.
struct PhaseGradients {
  at::Tensor spectra;  ///< (n, K) complex64
  at::Tensor powers;   ///< (K) float64, of all patterns, a frequency's opposite included
};

class PhaseEnergy {
 public:
  /// Energies are summed in so many rings of frequencies, out to the bright disk's diameter.
  static constexpr std::int64_t kRings = 8;

  /// Numbers (k) int64 of the patterns to look at, by how many pixels of them a side that is.
  using Chosen = std::function<at::Tensor(std::int64_t size)>;

  /// Patterns that are not used count as empty ones. Only the detector's middle is looked at, out
  /// to twice the bright disk.
  PhaseEnergy(const Scan& scan, const Chosen& chosen);

  /// The probe's radius at this defocus (geometric) stays within the window: rad at the rim.
  double most_defocus() const;

  PhaseGradients gradients(const Aberrations& aberrations) const;

  /// With a far field's phase as phase_of gives it.
  PhaseGradients gradients(const at::Tensor& phase) const;

  /// The far field's phase of a probe (modes, N, N): of its first mode, where it is looked at.
  at::Tensor phase_of(const at::Tensor& probe) const;

  /// (1, N, N) complex64 of the whole detector, of any power.
  at::Tensor probe(const Aberrations& aberrations) const;

  /// The same with random signs of the patterns: noise alone, of the same power.
  PhaseGradients with_random_signs(const PhaseGradients& gradients) const;

  /// (n) float32, -1 or 1; of each draw other ones.
  static at::Tensor random_signs(std::int64_t n, std::uint32_t draw = 0);

  /// The g_j in the plane of the sample, (n, size, size) float32 around their positions at size/2,
  /// each ring of frequencies times a factor (kRings of them).
  at::Tensor maps(const PhaseGradients& gradients, const std::vector<double>& factors) const;

  /// Sums of values (K) in the rings, kRings of them.
  std::vector<double> in_rings(const at::Tensor& values) const;

  /// Of the patterns that are looked at, (n, 2) float64 px of the maps.
  const at::Tensor& positions() const { return positions_; }

 protected:
  std::int64_t size_ = 0;          // of what is looked at, pixels
  at::Tensor weight_, row_, col_;  // (K), 2 where the opposite is not kept; rad per px of the maps

 private:
  double radius_px_ = 0;  // of the bright disk
  Window window_;         // what is looked at of the whole detector
  at::Tensor positions_;
  at::Tensor residual_;            // (n, size, size) float32, (I / M - 1) sqrt(M), FFT order
  at::Tensor amplitude_, square_;  // (size, size) float32, sqrt(M) and q^2, FFT order
  at::Tensor whole_amplitude_, whole_square_;  // (N, N) of the whole detector
  at::Tensor kept_, ring_;                     // (K) places and rings
};

/// Of a raster, on which pairs of one step are summed once for all turns.
class RasterEnergy : public PhaseEnergy {
 public:
  /// Of a raster (row by row) of at least 4 x 4 patterns, or of as much of its middle as is enough.
  RasterEnergy(const Scan& scan, const RasterShape& shape);

  /// Sums over all pairs of one step on the raster, (steps, K) complex64.
  at::Tensor pairs(const PhaseGradients& gradients) const;

  /// Energy at each frequency, (K) float64, with the raster turned by an angle from the detector's
  /// columns towards its rows, against the detector as it is or transposed.
  at::Tensor energy(const at::Tensor& pairs, double degrees, bool transposed) const;

 private:
  RasterShape shape_;
  double step_ = 0;  // of the raster, px of the maps
  std::vector<std::pair<std::int64_t, std::int64_t>> steps_;
};

}  // namespace ptyche
