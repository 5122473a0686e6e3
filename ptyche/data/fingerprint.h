// What tells one array, or one scan as it was read, from another.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "ptyche/data/scan.h"

namespace ptyche {

/// A number that changes with every entry of an array and with their order.
double fingerprint(const at::Tensor& array);

/// File, counts, positions, probe, mask and use of the patterns, in one line: two readings of one
/// file share it only if nothing about them differs.
std::string fingerprint(const Scan& scan);

}  // namespace ptyche
