// Floating-point numbers that are photon counts, or the square roots of counts, are read by way of
// pieces that stay in a core's cache into the narrow integers that hold the counts: the file's
// numbers are never in memory as a whole.
#pragma once

#include <optional>

#include "ptyche/storage/frame_stack.h"

namespace ptyche {

struct NarrowPatterns {
  at::Tensor counts;     ///< (n, rows, cols) uint8, int16 or int32, the narrowest that holds all
  bool squared = false;  ///< the file's numbers are their roots
};

/// The frames `numbers` (ascending, (n) int64) of the window. Nothing where the numbers are
/// integers already, do not lie in the file as they are, or are not all finite, >= 0 and whole; or,
/// with `may_be_roots`, roots of whole numbers (see ValueSurvey::whole_squares) of which the first
/// patterns show that they are not whole themselves. Throws InvalidInput for what cannot be read.
std::optional<NarrowPatterns> read_narrow(const FrameStack& stack, const at::Tensor& numbers,
                                          const Window& window, bool may_be_roots);

}  // namespace ptyche
