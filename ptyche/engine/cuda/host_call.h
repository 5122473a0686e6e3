// A call of the CPU engine, whose pointers lie in host memory, done on a machine (fused_loss.h).
#pragma once

#include <vector>

#include "ptyche/engine/cpu/loss.h"
#include "ptyche/engine/cuda/fused_loss.h"

namespace ptyche::cuda {

/// Patterns in the order of their groups.
template <class T>
std::vector<Slot<T>> slots_of(const cpu::LossInputs<T>& call) {
  std::vector<Slot<T>> slots;
  for (std::int64_t group = 0; group < call.groups; ++group)
    for (std::int64_t i = call.first_of_group[group]; i < call.first_of_group[group + 1]; ++i) {
      const std::int64_t pattern = call.pattern_of[i];
      const cpu::PatchPosition& position = call.positions[pattern];
      // A moved probe sees whole pixels.
      Slot<T> slot;
      slot.pattern = pattern;
      slot.patch = call.patch_of[pattern];
      slot.canvas = group;
      slot.row = position.row;
      slot.col = position.col;
      slot.row_fraction = static_cast<T>(call.moved_probe ? 0 : position.row_fraction);
      slot.col_fraction = static_cast<T>(call.moved_probe ? 0 : position.col_fraction);
      slot.row_shift = position.row_shift;
      slot.col_shift = position.col_shift;
      slots.push_back(slot);
    }
  return slots;
}

/// The lists of Tiles, in host memory.
struct TileLists {
  std::int64_t down = 0, across = 0;
  std::vector<std::int64_t> first;
  std::vector<std::int32_t> slots;
};

/// visit(tile) for every tile that a slot touches.
template <class T, class Visit>
void visit_tiles(const cpu::LossInputs<T>& call, const TileLists& lists, const Slot<T>& slot,
                 const Visit& visit) {
  const std::int64_t last_row =
      std::min(slot.row + call.size - (slot.row_fraction == 0 ? 1 : 0), call.rows - 1);
  const std::int64_t last_col =
      std::min(slot.col + call.size - (slot.col_fraction == 0 ? 1 : 0), call.cols - 1);
  for (std::int64_t r = slot.row / kTile; r <= last_row / kTile; ++r)
    for (std::int64_t c = slot.col / kTile; c <= last_col / kTile; ++c)
      visit(static_cast<std::size_t>((slot.canvas * lists.down + r) * lists.across + c));
}

template <class T>
TileLists tile_lists(const cpu::LossInputs<T>& call, const std::vector<Slot<T>>& slots) {
  TileLists lists{(call.rows + kTile - 1) / kTile, (call.cols + kTile - 1) / kTile, {}, {}};
  const auto tiles = static_cast<std::size_t>(call.groups * lists.down * lists.across);
  lists.first.assign(tiles + 1, 0);
  for (const Slot<T>& slot : slots)
    visit_tiles(call, lists, slot, [&](std::size_t tile) { ++lists.first[tile + 1]; });
  for (std::size_t tile = 0; tile < tiles; ++tile) lists.first[tile + 1] += lists.first[tile];
  lists.slots.resize(static_cast<std::size_t>(lists.first[tiles]));
  std::vector<std::int64_t> next(lists.first.begin(), lists.first.end() - 1);
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    visit_tiles(call, lists, slots[slot], [&](std::size_t tile) {
      lists.slots[static_cast<std::size_t>(next[tile]++)] = static_cast<std::int32_t>(slot);
    });
  return lists;
}

/// `count` values of host memory in the machine's; nullptr stays nullptr.
template <class V, class Machine>
V* uploaded(Machine& machine, const V* from, std::int64_t count) {
  if (!from) return nullptr;
  V* to = machine.template take<V>(count);
  machine.upload(to, from, count);
  return to;
}

template <class V, class Machine>
V* uploaded(Machine& machine, const std::vector<V>& from) {
  return uploaded(machine, from.data(), static_cast<std::int64_t>(from.size()));
}

template <class T>
const Complex<T>* pairs(const T* numbers) {
  return reinterpret_cast<const Complex<T>*>(numbers);
}

/// Host memory that outlives the call on the machine.
template <class T>
struct HostLists {
  explicit HostLists(const cpu::LossInputs<T>& call)
      : slots(slots_of(call)), tiles(tile_lists(call, slots)) {
    for (const Slot<T>& slot : slots) canvas_of.push_back(slot.canvas);
    for (const Slot<T>& slot : slots) merged += slot.patch >= 0 ? 1 : 0;
  }

  std::vector<Slot<T>> slots;
  TileLists tiles;
  std::vector<std::int64_t> canvas_of;
  std::int64_t merged = 0;  ///< how many patches there are
};

template <class T>
Problem<T> sizes_of(const cpu::LossInputs<T>& call) {
  Problem<T> problem;
  problem.size = call.size;
  problem.modes = call.modes;
  problem.patterns = call.patterns;
  problem.canvases = call.groups;
  problem.rows = call.rows;
  problem.cols = call.cols;
  problem.kind = call.kind;
  problem.floor = static_cast<T>(call.floor);
  problem.merge_floor = static_cast<T>(call.merge_floor);
  problem.dark_weight = static_cast<T>(call.merge_floor > 0 ? -1 : call.dark_weight);
  problem.moved_probe = call.moved_probe;
  problem.want_gradient = call.want_gradient;
  problem.merged = call.object == nullptr;
  return problem;
}

template <class T, class Machine>
void upload_inputs(const cpu::LossInputs<T>& call, const HostLists<T>& lists, Machine& machine,
                   Problem<T>& problem) {
  const std::int64_t image = call.size * call.size;
  problem.probe = uploaded(machine, pairs(call.probe), call.modes * image);
  problem.merge_weight =
      uploaded(machine, call.merge_weight, call.weight_step > 0 ? lists.merged * image : image);
  problem.weight_step = call.weight_step;
  problem.counts = uploaded(machine, call.counts, call.patterns * image);
  problem.mask = uploaded(machine, call.mask, image);
  problem.background = uploaded(machine, call.background, image);
  problem.slots = uploaded(machine, lists.slots);
  problem.tiles = {lists.tiles.down, lists.tiles.across, uploaded(machine, lists.tiles.first),
                   uploaded(machine, lists.tiles.slots)};
  if (problem.merged)
    problem.patches = uploaded(machine, pairs(call.patches), lists.merged * image);
  else
    problem.canvas = uploaded(machine, pairs(call.object), call.rows * call.cols);
}

template <class T, class Machine>
void take_outputs(const cpu::LossInputs<T>& call, std::int64_t merged, Machine& machine,
                  Problem<T>& problem) {
  const std::int64_t image = call.size * call.size, pixels = call.groups * call.rows * call.cols;
  problem.loss = machine.template take<double>(call.patterns);
  if (problem.merged) {
    problem.canvas = machine.template take<Complex<T>>(pixels);
    problem.inverse = machine.template take<T>(pixels);
    problem.moments = machine.template take<double>(3 * call.groups * call.rows);
  }
  if (!call.want_gradient) return;
  problem.canvas_gradient = machine.template take<Complex<T>>(pixels);
  problem.position_gradient = machine.template take<double>(4 * call.patterns);
  problem.probe_gradient = machine.template take<Complex<T>>(call.modes * image);
  if (problem.merged) problem.patch_gradient = machine.template take<Complex<T>>(merged * image);
  if (call.background_gradient) problem.background_gradient = machine.template take<T>(image);
}

template <class T, class Machine>
void download_gradients(const cpu::LossInputs<T>& call, std::int64_t merged,
                        const Problem<T>& problem, Machine& machine) {
  const std::int64_t image = call.size * call.size;
  const auto bring = [&](T* to, const Complex<T>* from, std::int64_t count) {
    machine.download(reinterpret_cast<Complex<T>*>(to), from, count);
  };
  if (problem.merged)
    bring(call.patch_gradient, problem.patch_gradient, merged * image);
  else
    bring(call.object_gradient, problem.canvas_gradient, call.rows * call.cols);
  bring(call.probe_gradient, problem.probe_gradient, call.modes * image);
  machine.download(call.position_gradient, problem.position_gradient, 4 * call.patterns);
  if (problem.background_gradient)
    machine.download(call.background_gradient, problem.background_gradient, image);
}

template <class T, class Machine>
cpu::LossResult download_sums(const Problem<T>& problem, Machine& machine) {
  std::vector<double> loss(static_cast<std::size_t>(problem.patterns));
  machine.download(loss.data(), problem.loss, problem.patterns);
  cpu::LossResult result;
  for (const double one : loss) result.loss += one;
  const std::int64_t lines = problem.canvases * problem.rows;
  result.pixels = static_cast<double>(lines * problem.cols);
  if (!problem.merged) return result;
  std::vector<double> moments(static_cast<std::size_t>(3 * lines));
  machine.download(moments.data(), problem.moments, 3 * lines);
  for (std::size_t i = 0; i < moments.size(); i += 3) {
    result.sum_re += moments[i];
    result.sum_im += moments[i + 1];
    result.sum_square += moments[i + 2];
  }
  return result;
}

/// cpu::fused_loss on a machine: inputs there, loss and gradients back. position_gradient is
/// written, not added to.
template <class T, class Machine>
cpu::LossResult fused_loss_from_host(const cpu::LossInputs<T>& call, Machine& machine,
                                     std::int64_t chunk_bytes = kChunkBytes) {
  const HostLists<T> lists(call);
  Problem<T> problem = sizes_of(call);
  upload_inputs(call, lists, machine, problem);
  take_outputs(call, lists.merged, machine, problem);
  fused_loss(problem, machine, lists.canvas_of.data(), chunk_bytes);
  if (call.want_gradient) download_gradients(call, lists.merged, problem, machine);
  return download_sums(problem, machine);
}

}  // namespace ptyche::cuda
