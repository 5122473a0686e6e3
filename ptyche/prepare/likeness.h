// How alike patterns are, and which way the sample's shadow moves in them.
//
// Light that is curved casts a shadow: in the pattern at position r_b lies what was in that at r_a,
// moved by A (r_b - r_a). A is a gain times an orientation of the axes; its sign is that of the
// curvature. The beam, the aperture and all else that stays where it is correlate evenly, c(s) =
// c(-s): of the correlation of two neighbours only the odd part is looked at.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace ptyche {

/// Amplitudes of unit norm, binned to at most 64 x 64, less their mean.
struct Likeness {
  at::Tensor spectra;          ///< (k, M, M / 2 + 1) complex64
  at::Tensor norms;            ///< (k) float32, of what is left of each
  std::int64_t pixels = 0;     ///< M
  double detector_pixels = 1;  ///< how many of the detector's pixels a binned one is wide
};

///   counts  (k, N, N) float32, mask (N, N) bool
Likeness likeness_of(const at::Tensor& counts, const at::Tensor& mask);

/// Numbers of two patterns.
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Pairs of neighbours (of the 8 nearest each), at most `most`, evenly chosen.
///   positions  (k, 2) float64
Pairs neighbours(const at::Tensor& positions, std::int64_t most, std::int64_t each = 8);

/// Correlations of the second pattern of each pair with the first, (pairs, M, M) float32: the value
/// at s says how alike they are when the first is moved by s; 1 = equal.
at::Tensor correlations(const Likeness& likeness, const Pairs& pairs);

/// Values of correlations at shifts (pairs, 2) of px, between pixels; the image goes on around.
std::vector<double> values_at(const at::Tensor& correlations, const std::vector<double>& shifts);

/// Orientations that the positions may have against the patterns, up to a sign, which is that of
/// the gain.
enum class Orientation { as_given, one_flipped, swapped, turned };
inline constexpr Orientation kOrientations[] = {Orientation::as_given, Orientation::one_flipped,
                                                Orientation::swapped, Orientation::turned};
struct Matrix {
  double row_row = 1, row_col = 0, col_row = 0, col_col = 1;
};
Matrix matrix_of(Orientation orientation);

/// What one orientation explains of the odd parts.
struct Shadow {
  Orientation orientation = Orientation::as_given;
  double strength = 0;  ///< of the mean correlation, standard errors
  double gain = 0;      ///< binned pattern pixels per position pixel, with its sign
  double mean = 0;      ///< mean correlation at the shifts of that gain
};

/// Gains that are tried, binned pattern pixels per position pixel.
struct Gains {
  double least = 0.05, most = 8;
};

/// All four, strongest first.
///   positions  (k, 2) float64
///   partner    pattern that stands for the k-th in its place; empty = itself; -1 = none
std::vector<Shadow> shadows(const Likeness& likeness, const at::Tensor& positions,
                            const std::vector<std::int64_t>& partner = {}, const Gains& gains = {});

/// The same for noiseless patterns of a probe on a made-up object: what it would cast.
///   probe  (modes, N, N) complex64
std::vector<Shadow> shadows_of_probe(const at::Tensor& probe);

/// For a picture: the mean odd correlation of neighbours at u times their step to the right and v
/// times it downwards (their steps turned to the right), u and v from -reach to reach: (2 half + 1,
/// 2 half + 1) float64. Light of the gain g has a peak at u = g, and its negative at -g.
at::Tensor odd_map(const Likeness& likeness, const at::Tensor& positions, double reach,
                   std::int64_t half);

}  // namespace ptyche
