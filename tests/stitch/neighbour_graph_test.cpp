#include "ptyche/stitch/neighbour_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace ptyche {
namespace {

struct Field {
  NeighbourGraph graph;
  std::vector<NodePlace> places;
};

/// A square grid of `side` x `side` nodes, each linked with its four neighbours by weights between
/// 1 and 2.
Field square_field(std::int64_t side) {
  Field field;
  const auto weight = [&](std::int64_t a, std::int64_t b) {
    return 1.5 + 0.5 * std::sin(static_cast<double>(a * b + a + b));
  };
  for (std::int64_t row = 0; row < side; ++row)
    for (std::int64_t col = 0; col < side; ++col) {
      const std::int64_t own = row * side + col;
      const auto link = [&](bool there, std::int64_t other) {
        if (!there) return;
        field.graph.other.push_back(static_cast<std::int32_t>(other));
        field.graph.weight.push_back(weight(own, other));
      };
      link(row > 0, own - side);
      link(row + 1 < side, own + side);
      link(col > 0, own - 1);
      link(col + 1 < side, own + 1);
      field.graph.first.push_back(static_cast<std::int64_t>(field.graph.other.size()));
      field.places.push_back({3 * row, 3 * col});
    }
  return field;
}

std::vector<double> laplacian(const NeighbourGraph& graph, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    for (auto i = static_cast<std::size_t>(graph.first[k]);
         i < static_cast<std::size_t>(graph.first[k + 1]); ++i)
      y[k] += graph.weight[i] * (x[k] - x[static_cast<std::size_t>(graph.other[i])]);
  return y;
}

/// Largest difference of two fields, whose means do not count.
double apart(const std::vector<double>& a, const std::vector<double>& b) {
  double mean = 0, largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) mean += (a[k] - b[k]) / static_cast<double>(a.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    largest = std::max(largest, std::abs(a[k] - b[k] - mean));
  return largest;
}

/// A wave as long as the field, and something of each node's own.
std::vector<double> wave(std::int64_t side) {
  std::vector<double> x;
  std::minstd_rand random(5);
  std::uniform_real_distribution<double> own(0, 0.1);
  for (std::int64_t k = 0; k < side * side; ++k)
    x.push_back(
        std::cos(std::acos(-1.0) * static_cast<double>(k / side) / static_cast<double>(side)) +
        own(random));
  return x;
}

TEST(NeighbourGraph, SolvesForWavesAsLongAsTheFieldWhateverItsSize) {
  for (const std::int64_t side : {3, 20, 150}) {
    const Field field = square_field(side);
    const std::vector<double> x = wave(side);
    const std::vector<double> found = solve_on_graph(
        field.graph, levels_of(field.graph, field.places), laplacian(field.graph, x), 1e-8);
    EXPECT_LT(apart(found, x), 1e-6) << side;
  }
}

TEST(NeighbourGraph, SolvesPartsThatAreNotLinkedEachByItself) {
  Field field = square_field(10);
  NeighbourGraph& graph = field.graph;
  for (std::size_t k = 0; k < 100; ++k)
    for (auto i = static_cast<std::size_t>(graph.first[k]);
         i < static_cast<std::size_t>(graph.first[k + 1]); ++i)
      if ((k < 50) != (graph.other[i] < 50)) graph.weight[i] = 0;
  const std::vector<double> x = wave(10), right = laplacian(graph, x);
  const std::vector<double> found =
      solve_on_graph(graph, levels_of(graph, field.places), right, 1e-9);
  EXPECT_LT(apart(laplacian(graph, found), right), 1e-7);
}

TEST(NeighbourGraph, LevelsKeepTheWeightBetweenBlocks) {
  const Field field = square_field(30);
  const GraphLevels levels = levels_of(field.graph, field.places);
  ASSERT_GE(levels.graph.size(), 3U);
  EXPECT_LE(levels.graph.back().count(), 24);
  const std::vector<std::int32_t>& blocks = levels.blocks[0];
  double between = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k)
    for (auto i = static_cast<std::size_t>(field.graph.first[k]);
         i < static_cast<std::size_t>(field.graph.first[k + 1]); ++i)
      if (blocks[k] != blocks[static_cast<std::size_t>(field.graph.other[i])])
        between += field.graph.weight[i];
  const std::vector<double>& coarse = levels.graph[1].weight;
  EXPECT_NEAR(std::accumulate(coarse.begin(), coarse.end(), 0.0), between, 1e-9 * between);
}

}  // namespace
}  // namespace ptyche
