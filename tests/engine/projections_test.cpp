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

  ProjectionMemory<float> state() const {
    return {geometry, object.data(), /*keep_waves=*/true, kPieBatch, 2};
  }
};

/// Counts in FFT order of all patterns -> with the zero frequency in the middle, the last first.
template <class Count>
std::vector<Count> as_scanned(const std::vector<float>& counts, std::int64_t size) {
  const auto plane = static_cast<std::size_t>(size * size), patterns = counts.size() / plane;
  std::vector<Count> scanned(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t pattern = i / plane, row = i % plane / static_cast<std::size_t>(size),
                      col = i % static_cast<std::size_t>(size),
                      half = static_cast<std::size_t>(size / 2), n = static_cast<std::size_t>(size);
    const std::size_t to = (row + half) % n * n + (col + half) % n;
    // What is masked may be no number: any other one stands for it.
    scanned[(patterns - 1 - pattern) * plane + to] =
        std::isfinite(counts[i]) ? static_cast<Count>(counts[i]) : Count{3};
  }
  return scanned;
}

std::vector<float> object_of(const ProjectionMemory<float>& state) {
  std::vector<float> object(static_cast<std::size_t>(2 * state.object.rows * state.object.cols));
  state.store_object(object.data());
  return object;
}

/// After a sweep of each kind.
std::vector<float> object_after(ProjectionMemory<float>& state) {
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
  return object_of(state);
}

TEST(Projections, RootsOfTheScansCountsGiveTheImageOfKeptAmplitudesToTheLastBit) {
  for (const float brightest : {200.0F, 32767.0F}) {
    Problem problem(brightest);
    ProjectionMemory<float> kept = problem.state();
    kept.load_counts(0, problem.geometry.patterns, problem.counts.data());
    const std::vector<float> expected = object_after(kept);
    EXPECT_NE(expected, problem.object);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(problem.geometry.patterns));
    std::iota(rows.rbegin(), rows.rend(), 0);
    const std::int64_t size = problem.geometry.size;
    const auto shorts = as_scanned<std::int16_t>(problem.counts, size);
    problem.geometry.counts = {.shorts = shorts.data(), .rows = rows.data()};
    ProjectionMemory<float> anew = problem.state();
    EXPECT_EQ(object_after(anew), expected) << brightest;
    if (brightest > 255) continue;
    const auto bytes = as_scanned<std::uint8_t>(problem.counts, size);
    problem.geometry.counts = {.bytes = bytes.data(), .rows = rows.data()};
    ProjectionMemory<float> of_bytes = problem.state();
    EXPECT_EQ(object_after(of_bytes), expected);
  }
}

}  // namespace
}  // namespace ptyche::cpu
