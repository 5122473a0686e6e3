// From a file's arrays to those of one scan on a square detector with positions in object pixels:
// the first steps of read_scan, in its order.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"

namespace ptyche {

/// Keeps the patterns of one scan where the file's scan_index tells several apart: those of
/// `--scan-index`. Throws InvalidInput that names the file's numbers when there are several and
/// none is asked for, or when the one that is asked for is not among them.
void choose_scan(RawScan& raw, std::int64_t scan_index);

/// Sets raw.mask from `--mask`: the file's, none (all pixels counted), or an array of any file
/// (given_mask.h). Throws InvalidInput for another shape, or a mask that counts no pixel.
void choose_mask(RawScan& raw, const ReadOptions& options);

/// Checks that the probe has the patterns' size or the size of what is kept, then keeps the `crop`
/// x `crop` detector pixels around the zero frequency (crop 0: all, or with a centre the largest
/// even square around it). A probe of the patterns' size loses the same part of its far field. A
/// smaller far field means larger object pixels: positions in pixels shrink by new / old size, the
/// object pixel grows by old / new, and the truth, which has the old pixels, is dropped with a
/// note. Beside a probe that already has the new size, positions in pixels and truth are in its
/// pixels and stay. Throws InvalidInput for an odd or non-square result.
void crop_detector(RawScan& raw, const ReadOptions& options);

/// `--energy --distance --detector-pixel --near-field --source-distance` and the object pixel that
/// follows from them for patterns of size x size. Throws InvalidInput for a source distance in the
/// far field.
void apply_geometry_options(Geometry& geometry, const ReadOptions& options, std::int64_t size);

/// What a pixel of the object takes while it is reconstructed: image, coverage, the sums they come
/// from, and a copy to go back to.
inline constexpr std::int64_t kCanvasBytesPerPixel = 3 * (8 + 4) + 4;

/// Brings positions to object pixels and applies `--energy --distance --detector-pixel --swap-xy
/// --flip-x --flip-y` (exchanged first; a flip mirrors about the middle of the scan). Call after
/// crop_detector. A truth of another orientation is dropped with a note. Throws InvalidInput when a
/// length that is needed is not known, the positions are not finite, or so far apart that the
/// object does not fit this machine's memory.
void settle_positions(RawScan& raw, const ReadOptions& options);

}  // namespace ptyche
