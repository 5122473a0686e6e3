// The dead-leaves model: opaque random shapes that fall on each other until nothing shows through.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// Discs, rectangles and triangles with radii r in 7..40 px of density r^-3 (Lee, Mumford & Huang,
/// IJCV 41 (2001) 35-59: the law that makes the picture look the same at every scale), each with
/// two independent levels, uniform in 0..1. Edges are antialiased by 4 x 4 samples per pixel.
/// Returns (2, rows, cols) float64; rows, cols >= 1. The same for any thread count.
at::Tensor dead_leaves(std::int64_t rows, std::int64_t cols, std::uint64_t seed);

}  // namespace ptyche
