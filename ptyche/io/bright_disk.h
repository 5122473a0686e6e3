// The bright disk of a scan with converging electrons: where it lies and how large it is.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "ptyche/io/disk_edge.h"

namespace ptyche {

/// What the values of patterns are.
struct PatternValues {
  bool roots = false;  ///< amplitudes: their squares are summed
  double ceiling = 0;  ///< values from here on mark pixels without a count; 0 = none do
};

/// Sums of patterns (n, rows, cols) of any real type over 4 x 4 parts of the scan by positions
/// (n, 2), over 16 of the order where not each pattern has one; of 16 million pixels, 64 of sparse
/// counts, evenly spread. Of pixels that `mask` (rows, cols) bool tells to count.
std::vector<DiskImage> disk_parts(const at::Tensor& patterns, const at::Tensor& mask,
                                  const at::Tensor& positions, const PatternValues& values);

struct BrightDisk {
  DiskEdge edge;         ///< of the sum, or of the parts put together where the disk moves
  double certainty = 0;  ///< 0 to 2: how far, how much around and how sharply the light falls
  double moves_px = 0;   ///< the farthest that a part's disk lies from the middle of all
  DiskEdge other;        ///< the best circle of another radius
  double other_certainty = 0;
  std::string doubt;  ///< why the radius is not to be relied on; empty = it is
};

/// Circles are looked for in the sum of parts of a scan, all of one size: first across which the
/// light falls most, coarse to fine, then by fits (disk_edge.h) of those; the one with the largest
/// certainty is taken. Where the disk moves from part to part (descan, drift), each part's is put
/// in its place before the last fit. Radii of 4 px to .45 of the image.
BrightDisk bright_disk_of(std::vector<DiskImage> parts);

}  // namespace ptyche
