// The shares of a batch onto the canvas of sums, and steps of the object by them, in blocks of rows
// that threads work on independently: the same sums in the same order whoever does them.
#pragma once

#include <span>

#include "ptyche/engine/cpu/projection_memory.h"

namespace ptyche::cpu {

/// Blocks of rows that hold all patches of a batch.
struct RowBlocks {
  std::int64_t first = 0, last = 0, count = 0;  ///< rows first..last - 1 of the canvas
};

RowBlocks row_blocks(const ProjectionMemory<float>& state, std::span<const std::int64_t> patterns);

/// Adds shares 0.. (of `patterns`) to the sums in one block.
void add_shares(ProjectionMemory<float>& state, std::span<const std::int64_t> patterns,
                const RowBlocks& blocks, std::int64_t block);

/// Moves the object by the sums where the patterns lie in one block; the sums there become 0.
void step_rows(ProjectionMemory<float>& state, std::span<const std::int64_t> patterns,
               const RowBlocks& blocks, std::int64_t block, const ObjectStep<float>& step);

}  // namespace ptyche::cpu
