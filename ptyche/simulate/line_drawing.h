// PtychoPINN's `lines` object: a drawing of random straight lines, blurred at three scales.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace ptyche {

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
