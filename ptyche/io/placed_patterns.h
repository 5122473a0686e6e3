// Which patterns have a position that can be used: before any of them is read.
#pragma once

#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"

namespace ptyche {

/// Leaves out, each kind with a line that says how many and which, patterns
///  - without a position (NaN, infinite): a stage that was not read, all behind an abort;
///  - at exactly 0,0 in both axes, three and more, where other places are not shared by as many: a
///    motor that was not read;
///  - that lie so far from all others that they share no pixel of the object with them, alone or in
///    small parts (far_patterns).
/// Call before a pattern is read, once positions are as many as patterns. Throws InvalidInput where
/// fewer than two are left, and where parts of the scan lie so far apart that nearly all of the
/// object's image would be empty: with the --frames of each part.
void leave_out_unplaced(RawScan& raw, const ReadOptions& options);

/// Numbers (k) int64 ascending as --frames takes them: "0:70,71:144", "0:144:2"; empty where that
/// would be more than kMostRanges.
std::string frames_text(const at::Tensor& numbers);
inline constexpr std::size_t kMostRanges = 8;

}  // namespace ptyche
