// Positions of a scan: those of a raster that nobody wrote down, and columns x and y as (n, 2).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace ptyche {

/// A raster of rows and columns: columns run fast, in every row the same way.
struct Raster {
  std::int64_t rows = 0, cols = 0;        ///< 0 = no raster
  double step_row_m = 0, step_col_m = 0;  ///< between rows, between columns
  double rotation_deg = 0;  ///< the raster's columns against the detector's, towards its rows
};

/// "16x32" -> 16 rows, 32 columns. Throws InvalidInput for another text or a number below 1.
Raster raster_of_shape(const std::string& text);

/// Rows and columns, of any shapes that go together, turned about 0 as the rotation of a Raster
/// turns its points: (n, 2) (row, col).
at::Tensor rotated_places(const at::Tensor& row, const at::Tensor& col, double rotation_deg);

/// The raster's points, (rows * cols, 2) float64 (row, col) in metres, around 0.
at::Tensor raster_positions(const Raster& raster);

/// Whether a list of so many positions can be that of a scan with another number of patterns, some
/// of which are missing or too many: no axis of a raster, and no several readings of each pattern.
bool may_belong(std::int64_t positions, std::int64_t patterns);

/// Whether each position can be that of several exposures: so many patterns that --exposures sums;
/// 0 = no.
std::int64_t exposures_of(std::int64_t positions, std::int64_t patterns);

/// (m, 2) float64 (row, col) of y and x. Each holds m numbers in any shape, or the two are the axes
/// of a raster (y of its rows, x of its columns) with rows * columns = n, the number of patterns.
/// Otherwise m may be another number that may_belong or has several exposures (exposures_of):
/// choose_patterns says which belong together.
/// Throws InvalidInput that begins with `name`.
at::Tensor positions_of(const at::Tensor& y, const at::Tensor& x, std::int64_t n,
                        const std::string& name);

/// An array with two or three numbers a pattern, (n, 3), (3, n), (rows, cols, 3), (n, 2) or (2, n),
/// as (n, 2 or 3) float64. Where both ends fit, the last axis holds the numbers. A list (m, 2 or 3)
/// may have another length that may_belong or has several exposures (exposures_of). Throws
/// InvalidInput that begins with `name`.
at::Tensor vectors_of(const at::Tensor& array, std::int64_t n, const std::string& name);

}  // namespace ptyche
