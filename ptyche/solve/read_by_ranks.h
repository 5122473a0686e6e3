// One scan that several ranks read together, each its own patterns (io/together.h), so that no rank
// ever holds the counts of another.
#pragma once

#include "ptyche/core/ranks.h"
#include "ptyche/data/scan.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/solve/counts_part.h"

namespace ptyche {

/// On rank 0: read_scan; where there are several ranks, a scan whose counts each of them has read
/// for itself. Where the format can only be read whole, and where parts are unlike each other, rank
/// 0 reads all of it alone (shared_by_ranks gives the parts away then). Throws RankFailure naming a
/// rank that could not read its part.
Scan read_scan_by_ranks(const ReadOptions& options);

/// On every other rank, what rank 0 asks for by that: reads the own patterns into `part`. Returns
/// the answer; an empty one where rank 0 has given up and waits for none.
RankMessage read_own_part(CountsPart& part, const RankMessage& question);

}  // namespace ptyche
