// Objects with known truth for simulated scans.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace ptyche {

/// Radii of leaves in px, 0 < smallest < largest.
struct LeafSizes {
  double smallest = 7, largest = 40;
};

/// Discs, rectangles and triangles with radii r of density r^-3 (Lee, Mumford & Huang,
/// IJCV 41 (2001) 35-59: the law that makes the picture look the same at every scale), each with
/// two independent levels, uniform in 0..1. Edges are antialiased by 4 x 4 samples per pixel.
/// Returns (2, rows, cols) float64; rows, cols >= 1. The same for any thread count.
at::Tensor dead_leaves(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                       const LeafSizes& sizes = {});

/// A picture with edges at all scales, shading and fine structure, as photographs have them: leaves
/// from `smallest` px on, each with a random field of its own strength over it and a slow one
/// over all, spread over 0..1. Two independent ones: (2, rows, cols) float64.
at::Tensor photograph_like(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                           double smallest);

/// An array as levels 0..1: its smallest value is 0, its largest 1; a constant is 1 everywhere.
at::Tensor as_levels(const at::Tensor& values);

/// Amplitude and phase levels (2, rows, cols) float64 in 0..1 of one image for both, or of two: the
/// largest central part of rows : cols is resized, by the mean of the pixels that a new one covers
/// where it shrinks and bilinearly where it grows, and its range then spread over 0..1.
///   file        of read_image (io/file_array.h)
///   phase_file  the same, or empty: `file`
/// Throws InvalidInput that begins with the file's name.
at::Tensor image_levels(const std::filesystem::path& file, const std::filesystem::path& phase_file,
                        std::int64_t rows, std::int64_t cols);

/// The kinds; the seed matters to dead-leaves, lines, random-field, photograph and crystal only:
/// - dead-leaves: overlapping random shapes, see dead_leaves.
/// - siemens-star: 32 spokes that shrink to nothing; where they merge is the resolution.
/// - bars: tiles of bars with periods of 2.5 to 16 px in four directions.
/// - lines: random lines blurred at three scales, PtychoPINN's drawing of the seed's lower 32 bits
///   (line_drawing.h), its smallest value as level 0 and its largest as level 1.
/// - random-field: smooth structure of all sizes.
/// - photograph: see photograph_like.
/// - crystal: columns of atoms on a hexagonal lattice of 9 px, two in each cell, some missing.
/// - image: `file`, and for the phase `phase_file` if given; see image_levels.
struct ObjectOptions {
  std::string kind = "dead-leaves";
  std::int64_t rows = 0, cols = 0;                  ///< both >= 1
  double amplitude_min = 0.5, amplitude_max = 1.0;  ///< 0 <= min <= max
  double phase_range_rad = 1.5;                     ///< 0..2 pi, phases lie in +-half of it
  /// one: a sample of one material, whose thickness t in 0..1 gives both, a = max (min / max)^t and
  /// phase = range (1/2 - t), as the refractive index of X-rays does; independent: two thicknesses
  std::string material = "one";
  std::uint64_t seed = 1;
  std::filesystem::path file = {}, phase_file = {};  ///< `image` only; two files are independent
  LeafSizes leaves = {};                             ///< dead-leaves; of photograph the smallest
};

/// (rows, cols) complex64 with amplitudes and phases inside their ranges at every pixel (edges are
/// antialiased in amplitude and phase, like a step in thickness, not in the complex value).
/// The same for any thread count. Throws InvalidInput for options out of range.
at::Tensor make_object(const ObjectOptions& options);

/// Uniform in [0, 1) with 53 bits of two draws, 27 + 26, as NumPy's RandomState makes it; with
/// std::mt19937(seed) the numbers are those of RandomState(seed). Only this drawing uses them, so
/// that it is the same picture as PtychoPINN's; everything else draws from core/random.h.
double mersenne_uniform(std::mt19937& generator);

/// Ends (r0, c0, r1, c1) of the 400 lines on a raster of 2 size x 2 size pixels.
using LineEnds = std::array<std::int64_t, 4>;
std::vector<LineEnds> line_ends(std::int64_t size, std::uint32_t seed);

/// The lines themselves, (2 size, 2 size) float64, 1 on a line, else 0. One pixel wide (Bresenham,
/// IBM Systems Journal 4 (1965) 25-30), both ends included.
at::Tensor line_raster(std::int64_t size, std::uint32_t seed);

/// The object: G1 + 2 G5 + 5 G10 of the raster, G_s a Gaussian blur of s px, its central size x
/// size pixels; (size, size) float64 >= 0, about 2.7 in the mean. size >= 2.
at::Tensor line_drawing(std::int64_t size, std::uint32_t seed);

/// The phase that goes with such an amplitude Y where one is wanted (`set_phi`): pi tanh((Y - max Y
/// / 2) / (3 mean Y)), rad.
at::Tensor phase_of_drawing(const at::Tensor& amplitude);

}  // namespace ptyche
