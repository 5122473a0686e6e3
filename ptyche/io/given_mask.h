// The mask that a user names, as other programs write it: true = counted, 0 = good with codes of
// what is wrong, or 0 and 1 of which nobody says what counts. The light tells.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "ptyche/io/read_scan.h"

namespace ptyche {

/// The array that `--mask` names: a file of one array or with one that is called mask (.npy, .npz,
/// .tif, HDF5, MATLAB), FILE:NAME, or a name in the scan's own file. (rows, cols) of any real type.
/// Throws InvalidInput that lists what is there.
at::Tensor read_given_mask(const ReadOptions& options);

/// Mean light of a detector's pixels, (rows, cols) float64 >= 0: none where every pattern has the
/// same largest number (a marker of pixels that see nothing), the brightest hundredth cut off.
///   patterns  (n, rows, cols) any real type
at::Tensor light_of_pixels(const at::Tensor& patterns);

/// (rows, cols) bool, true = counted, of numbers as they were written; NaN never counts.
///   light   light_of_pixels
///   counts  which values do: zero or nonzero holds whatever the light says; auto: true, of codes
///   0,
///           of 0 and another number the one under which nearly all of the light is counted, with a
///           note
///   name    for messages
/// Throws InvalidInput that asks, where `auto` would leave out most of the light.
at::Tensor counted_pixels(const at::Tensor& mask, const at::Tensor& light,
                          const std::string& counts, const std::string& name);

}  // namespace ptyche
