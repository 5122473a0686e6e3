// Some of a scan's patterns, as if the others had not been measured.
#pragma once

#include <cstdint>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct SubsampleOptions {
  std::int64_t count = 0;  ///< patterns that stay in use; 0 = all
  bool first = false;      ///< the first of the file, not random ones
  std::uint64_t seed = 1;
};
std::vector<Field> fields(SubsampleOptions& options);

/// The scan with `count` of its used patterns in use. The others become `rejected`, which
/// PtychoPINN's subsampling amounts to: they enter nothing. (`unseen` ones would be inferred
/// afterwards, `held_out` ones scored.) Patterns keep their numbers and their order. Asked for more
/// than there are, it keeps all and says so. Throws InvalidInput if count < 0.
Scan subsample(const Scan& scan, const SubsampleOptions& options);

}  // namespace ptyche
