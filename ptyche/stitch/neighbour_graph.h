#pragma once

#include <cstdint>
#include <vector>

namespace ptyche {

/// Nodes and their neighbours: those of node k are other[first[k]] to other[first[k + 1] - 1]. A
/// link stands in the lists of both its nodes, with the same weight.
struct NeighbourGraph {
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> other;
  std::vector<double> weight;  ///< 0 or more

  std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

/// Where a node lies, in pixels.
struct NodePlace {
  std::int64_t row, col;
};

/// A graph with ever coarser ones of it: nodes that lie together are one node of the next.
struct GraphLevels {
  std::vector<NeighbourGraph> graph;              ///< from the finest on
  std::vector<std::vector<std::int32_t>> blocks;  ///< of each level's nodes, the next one's node
};

/// Throws nothing. Blocks are squares some three nodes wide.
GraphLevels levels_of(const NeighbourGraph& graph, const std::vector<NodePlace>& places);

/// x with sum over links of weight_kj (x_k - x_j) = right_k for every node k, the sum of which must
/// be 0 over nodes that are linked: a graph's Laplacian by conjugate gradients, each step prepared
/// by a cycle through the levels (multigrid with aggregates: Brandt, Math. Comput. 31, 333 (1977);
/// Braess, Computing 55, 379 (1995)), so that the number of steps hardly depends on that of nodes.
///   graph      of the finest level's nodes and links; its weights may differ somewhat from those
///              of the levels
///   precision  of the error in the energy norm, against that of x = 0
std::vector<double> solve_on_graph(const NeighbourGraph& graph, const GraphLevels& levels,
                                   const std::vector<double>& right, double precision);

}  // namespace ptyche
