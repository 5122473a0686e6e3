// The steps between a file's arrays and a Scan, in the order in which read_scan takes them.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/io/raw_scan.h"
#include "ptyche/io/read_scan.h"

namespace ptyche {

/// Keeps the patterns of one scan where the file's scan_index tells several apart: those of
/// `--scan-index`. Throws InvalidInput that names the file's numbers when there are several and
/// none is asked for, or when the one that is asked for is not among them.
void choose_scan(RawScan& raw, std::int64_t scan_index);

/// Sets raw.mask from `--mask`: the file's, none (all pixels counted), or an .npy/.npz with bool,
/// true = counted. Throws InvalidInput for another type or shape, or one that counts no pixel.
void choose_mask(RawScan& raw, const std::string& mask);

/// Checks that the probe has the patterns' size or the size of what is kept, then keeps the `crop`
/// x `crop` detector pixels around the zero frequency (crop 0: all, or with a centre the largest
/// even square around it). A probe of the patterns' size loses the same part of its far field. A
/// smaller far field means larger object pixels: positions in pixels shrink by new / old size, the
/// object pixel grows by old / new, and the truth, which has the old pixels, is dropped with a
/// note. Beside a probe that already has the new size, positions in pixels and truth are in its
/// pixels and stay. Throws InvalidInput for an odd or non-square result.
void crop_detector(RawScan& raw, const ReadOptions& options);

/// What a pixel of the object takes while it is reconstructed: image, coverage, the sums they come
/// from, and a copy to go back to.
inline constexpr std::int64_t kCanvasBytesPerPixel = 3 * (8 + 4) + 4;

/// Brings positions to object pixels and applies `--energy --distance --detector-pixel --swap-xy
/// --flip-x --flip-y` (exchanged first; a flip mirrors about the middle of the scan). Call after
/// crop_detector. A truth of another orientation is dropped with a note. Throws InvalidInput when a
/// length that is needed is not known, the positions are not finite, or so far apart that the
/// object does not fit this machine's memory.
void settle_positions(RawScan& raw, const ReadOptions& options);

/// Photon counts in the narrowest type, and whether their scale is that of photons.
struct Counts {
  at::Tensor counts;     ///< (n, N, N)
  bool absolute = true;  ///< false: squared amplitudes of unknown scale
};

/// The patterns as counts; uses up raw.patterns, so that no second copy is held. Decides between
/// counts and amplitudes (`--domain`), prints a guess with its reason, and gives masked pixels that
/// hold no valid value, or raw.ceiling, 0. Pixels at raw.ceiling in every pattern are added to the
/// mask.
/// Throws InvalidInput for NaN, infinite or negative values in counted pixels.
Counts take_counts(RawScan& raw, const ReadOptions& options);

/// What each pattern may be used for, (n) uint8 FrameUse: dark and saturated ones are rejected (one
/// warning lists them), then `--hold-out`, `--hold-out-file` and `--unseen-half` apply.
///   counts     (n, N, N), mask (N, N) bool, positions (n, 2)
///   ceiling    a pattern with several pixels at this value is saturated; 0 = not known
/// Throws InvalidInput when fewer than two usable patterns are left or they share one position.
at::Tensor choose_frames(const at::Tensor& counts, const at::Tensor& mask,
                         const at::Tensor& positions, double ceiling, const ReadOptions& options);

/// A first probe where the file has none: inverse FFT of the square root of the used patterns' mean
/// (a flat phase in the far field, so in focus), (1, N, N) complex64; warns.
at::Tensor probe_from_mean_pattern(const at::Tensor& counts, const at::Tensor& mask,
                                   const at::Tensor& frames);

}  // namespace ptyche
