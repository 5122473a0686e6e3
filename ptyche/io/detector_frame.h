// From the detector as a file has it to patterns as the program has them: zero frequency in the
// middle, rows down and columns right as the positions have them, dark and flat taken out.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

#include "ptyche/io/readers.h"

namespace ptyche {

/// Numbered 4 transpose + 2 reverse_rows + reverse_cols, as PtyPy numbers its `orientation`.
/// Throws InvalidInput outside 0..7.
Turn turn_numbered(std::int64_t number);

/// The turn that brings a detector whose row runs along (row_x, row_y) and whose column runs along
/// (col_x, col_y), in a laboratory frame, to one whose row runs along -y and whose column along -x,
/// CXI's usual basis. Throws InvalidInput where the two are more than kOblique away from the axes.
///   basis  (2, 2) or (2, 3) float64: step of a row, step of a column
Turn turn_of_basis(const at::Tensor& basis, const std::string& name);
inline constexpr double kOblique = 0.2;  ///< rad

/// Images (..., rows, cols) turned. An axis of even length that is reversed keeps its pixel N/2,
/// the zero frequency: index i goes to (N - i) mod N.
at::Tensor turned(const at::Tensor& images, Turn turn);

/// Applies what the reader has said of the detector (zero_at_corner, dark, flat, monitor, turn) and
/// `--orientation` (-1: none) to patterns, mask and probe, and says each in a line. Dark is
/// subtracted, and what falls below zero is set to zero. The monitor divides the patterns only
/// where their sums follow it.
/// Throws InvalidInput for arrays whose shape is not the patterns'.
void settle_detector(RawScan& raw, std::int64_t orientation);

/// Images (.., rows, cols) whose zero frequency is at the corner, with it in the middle.
at::Tensor middle_zero(const at::Tensor& images);

}  // namespace ptyche
