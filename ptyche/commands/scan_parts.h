// Some of a scan's patterns, in another order, or in two scans: one to learn from, one to test by.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"
#include "ptyche/group/make_groups.h"

namespace ptyche {

struct PartOptions {
  SubsampleOptions subsample;
  bool shuffle = false;
  double split = 0;        ///< share of the first part, 0..1; 0 = one part
  std::string axis = "y";  ///< along which the parts lie: y (rows), x (columns), none (order)
  std::uint64_t seed = 1;  ///< of the shuffling
};
std::vector<Field> fields(PartOptions& options);

struct ScanPart {
  std::string name;  ///< "train" and "test"; empty where there is one
  Scan scan;
};

/// First the subsample, ascending, then the split, then the order. Along an axis the first part
/// holds the patterns whose position lies below that share of the scan's extent, as PtychoPINN
/// splits; by order, that share of the patterns as they come (drawn, with `shuffle`). Throws
/// InvalidInput where a part would be empty.
std::vector<ScanPart> parts_of(const Scan& scan, const PartOptions& options);

/// The scan of some of the patterns, `frames` (k) int64, in that order.
Scan with_frames(const Scan& scan, const at::Tensor& frames);

/// OUT_train.npz of OUT.npz.
std::filesystem::path named_part(const std::filesystem::path& file, const std::string& name);

}  // namespace ptyche
