// The state of the projection solvers in the kernels' layouts.
#include "ptyche/engine/projections.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace ptyche::cpu {
namespace {

/// Some patterns of random counts on an object of 1.
struct Problem {
  std::vector<float> object, probe, counts;
  std::vector<char> mask;
  Geometry<float> geometry;

  explicit Problem(float brightest) {
    constexpr std::int64_t kSize = 20, kPatterns = 12;
    geometry = {.size = kSize, .modes = 2, .patterns = kPatterns, .rows = 40, .cols = 44};
    geometry.moved_probe = true;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(0, 1);
    object.assign(2 * 40 * 44, 1);
    for (int i = 0; i < 2 * 2 * kSize * kSize; ++i) probe.push_back(3 * uniform(random));
    for (int i = 0; i < kPatterns * kSize * kSize; ++i)
      counts.push_back(std::floor(brightest * std::pow(uniform(random), 6.0F)));
    mask.assign(kSize * kSize, 1);
    mask[7] = 0;
    counts[7] = std::numeric_limits<float>::quiet_NaN();
    counts[8] = brightest;
    geometry.probe = probe.data();
    geometry.mask = reinterpret_cast<const bool*>(mask.data());
  }

  ProjectionMemory<float> state(bool two_bytes) {
    geometry.two_bytes = two_bytes;
    return {geometry, object.data(), /*keep_waves=*/true, kPieBatch, 2};
  }
};

std::vector<float> object_of(const ProjectionMemory<float>& state) {
  std::vector<float> object(static_cast<std::size_t>(2 * state.object.rows * state.object.cols));
  state.store_object(object.data());
  return object;
}

TEST(Projections, CountsOfTwoBytesGiveTheSameImageToTheLastBit) {
  for (const float brightest : {200.0F, 65535.0F}) {
    Problem problem(brightest);
    std::vector<std::vector<float>> objects;
    for (const bool two_bytes : {false, true}) {
      ProjectionMemory<float> state = problem.state(two_bytes);
      state.load_counts(0, problem.geometry.patterns, problem.counts.data());
      for (std::size_t i = 0; i < state.positions.size(); ++i) {
        state.positions[i].row = static_cast<std::int64_t>(5 * (i / 4));
        state.positions[i].col = static_cast<std::int64_t>(6 * (i % 4));
        state.positions[i].row_shift = 0.3;
      }
      std::vector<std::int64_t> order(state.positions.size());
      std::iota(order.begin(), order.end(), 0);
      const double misfit = pie_sweep(state, order, {.probe_step = 0.5});
      EXPECT_TRUE(std::isfinite(misfit) && misfit > 0);
      difference_map_sweep(state, {.within_noise = true});
      objects.push_back(object_of(state));
    }
    EXPECT_NE(objects[0], problem.object);
    EXPECT_EQ(objects[0], objects[1]) << brightest;
  }
}

}  // namespace
}  // namespace ptyche::cpu
