// The patterns of a scan out of its file: of each only the part that is kept.
#pragma once

#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"

namespace ptyche {

/// Decides whether the file's zero frequency counts: one that lies in the inner half of the
/// detector, more than a pixel (rounding) from its middle. raw.centre_row and _col are -1 then
/// where it does not. Says so in a line.
void settle_centre(RawScan& raw, const ReadOptions& options);

/// Reads raw.stack into raw.patterns (nothing is done where they are read): with `--crop` no more
/// of each than a window of crop + 2 pixels around the zero frequency, which crop_detector cuts to
/// the last pixel; mask, dark and flat field are cut alike, raw.detector_rows and _cols say what
/// the detector's size was, and the zero frequency moves to raw.centre_row and _col.
/// `options.centre` is taken into account and, where the window moves it, reset.
void load_patterns(RawScan& raw, ReadOptions& options);

/// Numbers of a few of the patterns: kSampledRuns of neighbours all over the scan, or its first
/// ones where the file can only be read in order; at most kSampledPatterns of kSampledBytes
/// together, at least 2.
at::Tensor sampled_patterns(const RawScan& raw);
inline constexpr std::int64_t kSampledRuns = 4;
inline constexpr std::int64_t kSampledPatterns = 64, kSampledBytes = std::int64_t{16} << 20;

}  // namespace ptyche
