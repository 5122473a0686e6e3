#include "ptyche/engine/cpu/merge_shares.h"

#include <algorithm>

namespace ptyche::cpu {
namespace {

constexpr std::int64_t kRows = 16;  // of a block

struct Rows {
  std::int64_t first, last;
};

Rows rows_of(const RowBlocks& blocks, std::int64_t block) {
  const std::int64_t first = blocks.first + block * kRows;
  return {first, std::min(first + kRows, blocks.last)};
}

}  // namespace

RowBlocks row_blocks(const ProjectionMemory<float>& state, std::span<const std::int64_t> patterns) {
  RowBlocks blocks{state.object.rows, 0, 0};
  for (const std::int64_t pattern : patterns) {
    const std::int64_t row = state.places[static_cast<std::size_t>(pattern)].row;
    blocks.first = std::min(blocks.first, row);
    blocks.last = std::max(blocks.last, std::min(row + state.task.size + 1, state.object.rows));
  }
  blocks.count = (blocks.last - blocks.first + kRows - 1) / kRows;
  return blocks;
}

void add_shares(ProjectionMemory<float>& state, std::span<const std::int64_t> patterns,
                const RowBlocks& blocks, std::int64_t block) {
  const Rows rows = rows_of(blocks, block);
  for (std::size_t i = 0; i < patterns.size(); ++i)
    state.kernels.add_share(state.task, state.places[static_cast<std::size_t>(patterns[i])],
                            state.shares[i], state.sums, rows.first, rows.last);
}

void step_rows(ProjectionMemory<float>& state, std::span<const std::int64_t> patterns,
               const RowBlocks& blocks, std::int64_t block, const ObjectStep<float>& step) {
  const Rows rows = rows_of(blocks, block);
  for (const std::int64_t pattern : patterns) {
    const Place& place = state.places[static_cast<std::size_t>(pattern)];
    state.kernels.step_object(state.object, state.sums, step, std::max(rows.first, place.row),
                              std::min(rows.last, place.row + state.task.size + 1), place.col,
                              state.task.size + 1);
  }
}

}  // namespace ptyche::cpu
