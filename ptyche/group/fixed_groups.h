// Groups that are chosen once, as PtychoPINN chooses them: gridsize^2 patterns that lie together.
#pragma once

#include <cstdint>

#include "ptyche/core/field.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct FixedGroupOptions {
  std::int64_t gridsize =
      1;  ///< C = gridsize^2 patterns in a group, 1..8; the option has 0, too: groups drawn anew
  std::int64_t count = 0;           ///< how many groups; 0 = used patterns / C
  std::int64_t neighbours = 4;      ///< K, the nearest others that a group is drawn from
  bool sequential = false;          ///< around the first patterns of the file, not random ones
  bool oversampling = false;        ///< allow more groups than patterns
  std::int64_t neighbour_pool = 0;  ///< K of those groups; 0 = as above
  bool own_seed = true;             ///< a group holds the pattern that it is around
  std::uint64_t seed = 1;
};
std::vector<Field> fields(FixedGroupOptions& options);

/// Frame numbers (count, C) int64 of used patterns. A pure function of scan and options: the same
/// scan may be grouped anew at any time.
///
/// Up to as many groups as patterns: one around each of `count` patterns (the seeds, ascending),
/// made of the seed and C - 1 of its K nearest others, by distance. Without `own_seed`, as in
/// PtychoPINN: C of the K nearest others, in random order, without the seed. What is drawn around a
/// pattern does not depend on `count`.
/// More groups than patterns, with `oversampling`: any choice of that many among the K nearest
/// around any pattern is a group, drawn with equal chances; no two groups hold the same patterns.
/// With gridsize 1 the groups are the seeds themselves.
///
/// Throws InvalidInput for options out of range, for K too small for C, and for more groups than
/// can be made, saying how many can.
at::Tensor fixed_groups(const Scan& scan, const FixedGroupOptions& options);

/// Groups chosen once, (n, C), for training on; `seed` orders them anew in each epoch.
Groups groups_of(const at::Tensor& fixed, std::uint64_t seed);

/// Mean positions of the groups, (n, 2) float64, in the unit of `positions` (frames, 2).
at::Tensor group_centres(const at::Tensor& positions, const at::Tensor& fixed);

}  // namespace ptyche
