// A scan file's arrays in our layout and order, before any option or guess has touched the values.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "ptyche/data/geometry.h"

namespace ptyche {

/// Whether a file's patterns are photon counts or their square roots.
enum class Domain { unknown, counts, amplitude };

/// patterns   (n, rows, cols) any real type, zero frequency in the middle; a view is possible
/// positions  (n, 2) float64 (row, col), in object pixels or in metres
/// probe      (modes, N, N) complex64; undefined = not in the file
/// mask       (rows, cols) bool, true = counted; undefined = not in the file
/// truth      (H, W) complex64 in the frame of the positions; undefined = not in the file
/// true_positions  (n, 2) float64 (row, col), in object pixels; undefined = not in the file
/// scan_index      (n) int64, which of several scans a pattern is of; undefined = not in the file
struct RawScan {
  at::Tensor patterns, positions, probe, mask, truth, true_positions, scan_index;
  std::string patterns_name, positions_name, probe_name;  ///< the datasets, for messages
  double ceiling = 0;  ///< largest value of the patterns' integer type, see FileArray
  bool positions_in_metres = false;
  bool probe_calibrated = false;  ///< the file says that the probe is in sqrt(photon)
  Geometry geometry;
  Domain domain = Domain::unknown;
  std::string domain_reason;  ///< why `domain` is what it is, in words

  std::int64_t frames() const { return patterns.size(0); }

  /// Drops what is known of the true object and positions, and says why, where there is any.
  void forget_truth(const std::string& reason);
};

/// Reads PtychoPINN's NPZ (`diff3d` or `diffraction`, `xcoords`, `ycoords`, `probeGuess`,
/// `objectGuess`, `scan_index`) and the same keys with counts (`mask`). x is the column, y the row.
/// The axis of the patterns that is as long as xcoords counts them; where both ends fit, the one
/// over which the mean is bright in the middle, with a note, or a warning where that does not tell.
/// objectGuess is a truth unless it is constant. Throws InvalidInput naming the array.
RawScan read_npz_scan(const std::filesystem::path& file);

/// Reads CXI: entry_1/data_1/data with its translation (n, 3) in metres, detector_1, source_1. The
/// conventions are those of cxi.h. Throws InvalidInput naming the dataset.
RawScan read_cxi_scan(const std::filesystem::path& file);

/// A probe of shape (N, N), (modes, N, N), (N, N, 1) or (1, modes, N, N) of any numeric type as
/// (modes, N, N) complex64. Throws InvalidInput for other shapes, beginning with `name`.
at::Tensor as_probe(const at::Tensor& array, const std::string& name);

}  // namespace ptyche
