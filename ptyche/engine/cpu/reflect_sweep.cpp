#include "ptyche/engine/cpu/reflect_sweep.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ptyche/engine/cpu/merge_shares.h"

namespace ptyche::cpu {
namespace {

using Patterns = std::span<const std::int64_t>;

constexpr std::int64_t kParts = 16;  // of the patterns, each with a sum of its own for the probe

/// What a pattern's misfit is when only photon noise is left: 1/4 for each pixel that has counted
/// (the variance of the root of a Poisson number), nothing for the others.
void measure_noise(ProjectionMemory<float>& state) {
  const auto patterns = static_cast<std::int64_t>(state.places.size());
  state.noise.assign(state.places.size(), 0);
#pragma omp parallel for num_threads(state.thread_count())
  for (std::int64_t pattern = 0; pattern < patterns; ++pattern) {
    const float* amplitudes = state.amplitudes + pattern * state.plane();
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < state.plane(); ++i)
      counted += amplitudes[i] > 0 && state.task.mask[i] > 0 ? 1 : 0;
    state.noise[static_cast<std::size_t>(pattern)] = 0.25 * static_cast<double>(counted);
  }
}

/// How far to go towards amplitudes that are only known to `noise`: to the nearest wave that is no
/// farther from them than that. The misfit is that of the pass before.
float trust(double misfit, double noise) {
  return misfit > 0 ? static_cast<float>(1 - std::min(1.0, std::sqrt(noise / misfit))) : 1.0F;
}

/// One batch of waves, by all threads of the surrounding parallel region.
void do_batch(ProjectionMemory<float>& state, Patterns patterns, const Reflection<float>& how,
              bool within_noise) {
  ThreadState<float>& own = state.threads[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::int64_t pattern = patterns[i];
    const auto at = static_cast<std::size_t>(pattern);
    Reflection<float> trusting = how;
    trusting.trust = within_noise ? trust(state.misfit[at], state.noise[at]) : 1.0F;
    state.kernels.reflect(state.task, state.places[at], state.amplitudes + pattern * state.plane(),
                          state.object, trusting, state.waves + pattern * state.mode_numbers(), own,
                          state.shares[i]);
    state.misfit[at] = state.shares[i].misfit;
  }
  const RowBlocks blocks = row_blocks(state, patterns);
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t block = 0; block < blocks.count; ++block)
    add_shares(state, patterns, blocks, block);
}

double do_waves(ProjectionMemory<float>& state, Patterns patterns, const ReflectOptions& options) {
  if (state.noise.empty()) measure_noise(state);
  if (state.misfit.empty() || options.how.fresh) state.misfit.assign(patterns.size(), 0);
#pragma omp parallel num_threads(state.thread_count())
  for (std::size_t first = 0; first < patterns.size(); first += state.shares.size())
    do_batch(state, patterns.subspan(first, std::min(state.shares.size(), patterns.size() - first)),
             options.how, options.within_noise);
  return std::accumulate(state.misfit.begin(), state.misfit.end(), 0.0);
}

void step_object(ProjectionMemory<float>& state, double regularisation) {
  const Canvas<float>& sums = state.sums;
  const float strongest = *std::max_element(sums.weight, sums.weight + sums.rows * sums.stride);
  const ObjectStep<float> step{1, static_cast<float>(regularisation), strongest};
#pragma omp parallel for num_threads(state.thread_count())
  for (std::int64_t row = 0; row < sums.rows; ++row)
    state.kernels.step_object(state.object, sums, step, row, row + 1, 0, sums.cols);
}

/// Memory for the probe's sums, one block per part.
struct PartSums {
  explicit PartSums(const ProjectionMemory<float>& state)
      : numbers(state.mode_numbers()),
        plane(state.plane()),
        memory(kParts * (numbers + plane)),
        first(memory.take(kParts * (numbers + plane))) {}

  ProbeSums<float> of(std::int64_t part) const {
    float* begin = first + part * (numbers + plane);
    return {begin, begin + numbers};
  }

  std::int64_t numbers, plane;
  Scratch<float> memory;
  float* first;
};

/// Sums over all patterns, in the first part.
void sum_probe(ProjectionMemory<float>& state, const PartSums& sums) {
  const auto patterns = static_cast<std::int64_t>(state.places.size());
#pragma omp parallel for num_threads(state.thread_count()) schedule(dynamic, 1)
  for (std::int64_t part = 0; part < kParts; ++part)
    for (std::int64_t i = patterns * part / kParts; i < patterns * (part + 1) / kParts; ++i)
      state.kernels.sum_probe(state.task, state.places[static_cast<std::size_t>(i)], state.object,
                              state.waves + i * state.mode_numbers(),
                              state.threads[static_cast<std::size_t>(omp_get_thread_num())],
                              sums.of(part));
  for (std::int64_t part = 1; part < kParts; ++part)
    state.kernels.add_scaled(sums.first, sums.of(part).change, 1, sums.numbers + sums.plane);
}

/// probe change / power in real space; `change` of a moved probe goes there and back.
void step_probe(ProjectionMemory<float>& state, const ProbeSums<float>& sums,
                double regularisation) {
  const std::int64_t plane = state.plane();
  const auto share = static_cast<float>(regularisation);
  const float most = share * *std::max_element(sums.power, sums.power + plane);
  const Planes<float> scratch{state.threads.front().waves, state.threads.front().waves + plane};
  const auto pixels = static_cast<float>(state.task.size * state.task.size);
  for (std::int64_t mode = 0; mode < state.task.modes; ++mode) {
    const Planes<float> sum{sums.change + 2 * mode * plane, sums.change + (2 * mode + 1) * plane};
    if (state.task.moved_probe)
      state.kernels.to_natural(state.task.fft, state.task.stride, sum, scratch, 1);
    const Planes<float> change = state.task.moved_probe ? scratch : sum;
    for (std::int64_t i = 0; i < plane; ++i) {
      const float factor = 1 / ((1 - share) * sums.power[i] + most);
      change.re[i] *= factor;
      change.im[i] *= factor;
    }
    if (state.task.moved_probe)
      state.kernels.to_turned(state.task.fft, state.task.stride, scratch, sum, 1 / pixels);
  }
  state.kernels.add_scaled(state.probe, sums.change, 1, state.mode_numbers());
}

}  // namespace

double reflect_sweep(ProjectionMemory<float>& state, const ReflectOptions& options) {
  std::vector<std::int64_t> patterns(state.places.size());
  std::iota(patterns.begin(), patterns.end(), 0);
  const double misfit = do_waves(state, patterns, options);
  step_object(state, options.regularisation);
  if (!options.refine_probe) return misfit;
  const PartSums sums(state);
  sum_probe(state, sums);
  step_probe(state, sums.of(0), options.regularisation);
  return misfit;
}

}  // namespace ptyche::cpu
