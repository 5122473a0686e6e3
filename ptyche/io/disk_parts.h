// What the bright disk is looked for in: patterns summed over parts of a scan.
#pragma once

#include <ATen/ATen.h>

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

}  // namespace ptyche
