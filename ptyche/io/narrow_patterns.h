// Numbers that are photon counts, or the square roots of counts, are read by way of pieces that
// stay in a core's cache into the narrowest integers that hold the counts: the file's numbers are
// never in memory as a whole.
#pragma once

#include <optional>

#include "ptyche/storage/frame_stack.h"

namespace ptyche {

struct NarrowPatterns {
  at::Tensor counts;     ///< (n, rows, cols) uint8, int16 or int32, the narrowest that holds all
  bool squared = false;  ///< the file's numbers are their roots
};

struct NarrowRules {
  bool may_be_roots = false;
  double ceiling = 0;  ///< what a detector writes where it is blind or saturated; 0 = nothing
};

/// The frames `numbers` (ascending, (n) int64) of the window. Nothing where only one thread may
/// read them, one stands at the ceiling, or they are not all finite, >= 0 and whole; or, with
/// `may_be_roots`, roots of whole numbers (see ValueSurvey::whole_squares) of which the first
/// patterns show that they are not whole themselves. Throws InvalidInput for what cannot be read.
std::optional<NarrowPatterns> read_narrow(FrameStack& stack, const at::Tensor& numbers,
                                          const Window& window, const NarrowRules& rules);

}  // namespace ptyche
