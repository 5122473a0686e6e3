// Pixels that hold no count in some of the patterns: a module that dropped out, an overload, a
// cosmic ray that a detector marks.
#pragma once

#include "ptyche/io/readers.h"
#include "ptyche/io/together.h"

namespace ptyche {

/// Of counted pixels that are no number, infinite, or hold a marker in some patterns: the largest
/// value of 15, 16, 31, 32, 63 or 64 bits (or the one before it), far above all others or beside
/// none of its kind, as saturated light is not; whole numbers below 0 of at most two kinds, which
/// are no detector's noise. What is done, with a line that says how many:
///  - few pixels, of next to no light, are masked in all patterns;
///  - a pattern that misses more than kMostInvalid of its counted pixels, or more than kLittleLight
///  of
///    its light, is emptied, so that it is left out as dark: an image from the other patterns is
///    better than one from guesses;
///  - what others miss, and all where more than kMostLeftOut of the patterns would be left out, is
///    estimated: the mean of the nearest patterns that have it, brought to the pattern's own light.
/// Patterns have no masks of their own. Call once positions are known and raw.mask is set. Throws
/// PartsDiffer where several processes read and one of them finds any.
void settle_invalid_pixels(RawScan& raw, const ReadingTogether& together);
inline constexpr double kMostInvalid = 0.5, kLittleLight = 0.01, kMostLeftOut = 0.34;

}  // namespace ptyche
