#include "ptyche/stitch/neighbour_graph.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ptyche {
namespace {

using Values = std::vector<double>;

constexpr std::int64_t kNodesAtOnce = 512;  // of a thread
constexpr std::int64_t kFewNodes = 24;

/// work(k) for every node.
template <class Work>
void each_node(std::int64_t count, const Work& work) {
  at::parallel_for(0, count, kNodesAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) work(static_cast<std::size_t>(k));
  });
}

/// In pieces of one size, so that it is the same for any number of threads.
double product(const Values& a, const Values& b) {
  const auto count = static_cast<std::int64_t>(a.size());
  Values parts(static_cast<std::size_t>((count + kNodesAtOnce - 1) / kNodesAtOnce));
  at::parallel_for(
      0, static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t p, std::int64_t last) {
        for (; p < last; ++p) {
          const auto begin = static_cast<std::ptrdiff_t>(p * kNodesAtOnce);
          const auto end = static_cast<std::ptrdiff_t>(std::min((p + 1) * kNodesAtOnce, count));
          parts[static_cast<std::size_t>(p)] =
              std::inner_product(a.begin() + begin, a.begin() + end, b.begin() + begin, 0.0);
        }
      });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

/// sum over node k's links of weight (x_k - x_j), and of weight.
struct Pull {
  double difference = 0, weight = 0;
};

Pull pull_on(const NeighbourGraph& graph, const Values& x, std::size_t k) {
  Pull pull;
  double theirs = 0;
  for (auto i = static_cast<std::size_t>(graph.first[k]);
       i < static_cast<std::size_t>(graph.first[k + 1]); ++i) {
    theirs += graph.weight[i] * x[static_cast<std::size_t>(graph.other[i])];
    pull.weight += graph.weight[i];
  }
  pull.difference = pull.weight * x[k] - theirs;
  return pull;
}

Values residual(const NeighbourGraph& graph, const Values& right, const Values& x) {
  Values left(x.size());
  each_node(graph.count(),
            [&](std::size_t k) { left[k] = right[k] - pull_on(graph, x, k).difference; });
  return left;
}

/// Rounds in which each node steps towards the mean of its neighbours, damped, so that an error
/// that alternates from node to node dies away, too.
void relax(const NeighbourGraph& graph, const Values& right, Values& x, int rounds) {
  constexpr double kDamping = 0.7;
  Values next(x.size());
  for (int round = 0; round < rounds; ++round) {
    each_node(graph.count(), [&](std::size_t k) {
      const Pull pull = pull_on(graph, x, k);
      next[k] =
          pull.weight > 0 ? x[k] + kDamping * (right[k] - pull.difference) / pull.weight : x[k];
    });
    x.swap(next);
  }
}

Values cycle(const GraphLevels& levels, std::size_t level, const Values& right);

/// What the coarser levels say of an error whose residual this is: blocks that move as a whole are
/// stiffer than their nodes, so that their steps are too short.
void correct(const GraphLevels& levels, std::size_t level, const Values& left, Values& x) {
  constexpr double kLonger = 1.6;
  const std::vector<std::int32_t>& blocks = levels.blocks[level];
  const NeighbourGraph& coarse = levels.graph[level + 1];
  Values of_blocks(static_cast<std::size_t>(coarse.count()));
  for (std::size_t k = 0; k < left.size(); ++k)
    of_blocks[static_cast<std::size_t>(blocks[k])] += left[k];
  Values steps = cycle(levels, level + 1, of_blocks);
  const Values more = cycle(levels, level + 1, residual(coarse, of_blocks, steps));
  for (std::size_t block = 0; block < steps.size(); ++block) steps[block] += more[block];
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] += kLonger * steps[static_cast<std::size_t>(blocks[k])];
}

Values cycle(const GraphLevels& levels, std::size_t level, const Values& right) {
  constexpr int kRounds = 2, kLastRounds = 60;
  const NeighbourGraph& graph = levels.graph[level];
  Values x(right.size());
  const bool last = level + 1 == levels.graph.size();
  relax(graph, right, x, last ? kLastRounds : kRounds);
  if (last) return x;
  correct(levels, level, residual(graph, right, x), x);
  relax(graph, right, x, kRounds);
  return x;
}

/// Nodes that lie together.
struct Blocks {
  std::vector<std::int32_t> of_node;
  std::int64_t count = 0;
};

/// Square cells, so many times as wide as nodes are apart.
Blocks blocks_of(const std::vector<NodePlace>& places, double width) {
  NodePlace low = places.front(), high = low;
  for (const NodePlace& place : places) {
    low = {std::min(low.row, place.row), std::min(low.col, place.col)};
    high = {std::max(high.row, place.row), std::max(high.col, place.col)};
  }
  const auto rows = static_cast<double>(high.row - low.row + 1);
  const auto cols = static_cast<double>(high.col - low.col + 1);
  const auto nodes = static_cast<double>(places.size());
  // A line of nodes has next to no area.
  const double apart = std::max({std::sqrt(rows * cols / nodes), rows / nodes, cols / nodes});
  const double side = std::max(1.0, width * apart);
  const auto across = static_cast<std::int64_t>(cols / side) + 1;
  std::vector<std::int64_t> cells;
  for (const NodePlace& place : places)
    cells.push_back(static_cast<std::int64_t>(static_cast<double>(place.row - low.row) / side) *
                        across +
                    static_cast<std::int64_t>(static_cast<double>(place.col - low.col) / side));
  std::vector<std::int64_t> known = cells;
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  Blocks blocks{.of_node = {}, .count = static_cast<std::int64_t>(known.size())};
  for (const std::int64_t cell : cells)
    blocks.of_node.push_back(
        static_cast<std::int32_t>(std::ranges::lower_bound(known, cell) - known.begin()));
  return blocks;
}

/// The nodes, one block after another.
std::vector<std::size_t> by_block(const Blocks& blocks) {
  std::vector<std::size_t> order(blocks.of_node.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return blocks.of_node[k]; });
  return order;
}

/// Blocks as nodes; a link of two has the weight of all links between their nodes.
NeighbourGraph coarser(const NeighbourGraph& fine, const Blocks& blocks) {
  const std::vector<std::size_t> order = by_block(blocks);
  NeighbourGraph coarse;
  Values sum(static_cast<std::size_t>(blocks.count));
  std::vector<std::int32_t> met;
  for (std::size_t m = 0; m < order.size();) {
    const std::int32_t block = blocks.of_node[order[m]];
    met.clear();
    for (; m < order.size() && blocks.of_node[order[m]] == block; ++m)
      for (auto i = static_cast<std::size_t>(fine.first[order[m]]);
           i < static_cast<std::size_t>(fine.first[order[m] + 1]); ++i) {
        const std::int32_t there = blocks.of_node[static_cast<std::size_t>(fine.other[i])];
        if (there == block || fine.weight[i] == 0) continue;
        if (sum[static_cast<std::size_t>(there)] == 0) met.push_back(there);
        sum[static_cast<std::size_t>(there)] += fine.weight[i];
      }
    for (const std::int32_t there : met) {
      coarse.other.push_back(there);
      coarse.weight.push_back(std::exchange(sum[static_cast<std::size_t>(there)], 0));
    }
    coarse.first.push_back(static_cast<std::int64_t>(coarse.other.size()));
  }
  return coarse;
}

std::vector<NodePlace> centres(const std::vector<NodePlace>& places, const Blocks& blocks) {
  std::vector<NodePlace> sum(static_cast<std::size_t>(blocks.count), NodePlace{0, 0});
  std::vector<std::int64_t> members(sum.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    const auto block = static_cast<std::size_t>(blocks.of_node[k]);
    sum[block] = {sum[block].row + places[k].row, sum[block].col + places[k].col};
    ++members[block];
  }
  for (std::size_t block = 0; block < sum.size(); ++block)
    sum[block] = {sum[block].row / members[block], sum[block].col / members[block]};
  return sum;
}

}  // namespace

GraphLevels levels_of(const NeighbourGraph& graph, const std::vector<NodePlace>& places) {
  constexpr double kWidthOfBlock = 3;
  GraphLevels levels{.graph = {graph}, .blocks = {}};
  std::vector<NodePlace> there = places;
  while (levels.graph.back().count() > kFewNodes) {
    const Blocks blocks = blocks_of(there, kWidthOfBlock);
    if (2 * blocks.count > levels.graph.back().count()) break;
    levels.graph.push_back(coarser(levels.graph.back(), blocks));
    there = centres(there, blocks);
    levels.blocks.push_back(blocks.of_node);
  }
  return levels;
}

Values solve_on_graph(const NeighbourGraph& graph, const GraphLevels& levels, const Values& right,
                      double precision) {
  constexpr int kMostSteps = 100;
  Values x(right.size()), left = right, direction(right.size()), image(right.size());
  double first = 0, before = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const Values prepared = cycle(levels, 0, left);
    const double size = product(left, prepared);
    if (step == 0) first = size;
    if (!(size > precision * precision * first)) break;
    const double keep = step == 0 ? 0 : size / before;
    before = size;
    each_node(graph.count(),
              [&](std::size_t k) { direction[k] = prepared[k] + keep * direction[k]; });
    each_node(graph.count(),
              [&](std::size_t k) { image[k] = pull_on(graph, direction, k).difference; });
    const double bend = product(direction, image);
    if (!(bend > 0)) break;
    each_node(graph.count(), [&](std::size_t k) {
      x[k] += size / bend * direction[k];
      left[k] -= size / bend * image[k];
    });
  }
  return x;
}

}  // namespace ptyche
