#include "ptyche/engine/cpu/pie_sweep.h"

#include <omp.h>

#include <algorithm>

#include "ptyche/engine/cpu/merge_shares.h"

namespace ptyche::cpu {
namespace {

constexpr std::int64_t kProbePieces = 8;  // in which threads share the work on the probe

/// Adds the changes of the batch's shares to one piece of the probe.
void step_probe(ProjectionMemory<float>& state, std::int64_t batch, double step,
                std::int64_t piece) {
  const std::int64_t lines = state.mode_numbers() / 16;
  const std::int64_t first = lines * piece / kProbePieces * 16;
  const std::int64_t last = lines * (piece + 1) / kProbePieces * 16;
  const auto factor = static_cast<float>(std::min(step, 1.0 / static_cast<double>(batch)));
  for (std::int64_t i = 0; i < batch; ++i)
    state.kernels.add_scaled(state.probe + first,
                             state.shares[static_cast<std::size_t>(i)].probe + first, factor,
                             last - first);
}

float strongest(const ProjectionMemory<float>& state, std::int64_t batch) {
  float most = 0;
  for (std::int64_t i = 0; i < batch; ++i)
    most = std::max(most, state.shares[static_cast<std::size_t>(i)].strongest);
  return most;
}

/// One batch, by all threads of the surrounding parallel region.
void do_batch(ProjectionMemory<float>& state, std::span<const std::int64_t> patterns,
              const PieOptions& options, double* misfit) {
  const auto batch = static_cast<std::int64_t>(patterns.size());
  const PieStep<float> how{options.probe_step > 0,
                           static_cast<float>(options.probe_regularisation)};
  ThreadState<float>& own = state.threads[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t i = 0; i < batch; ++i) {
    const std::int64_t pattern = patterns[static_cast<std::size_t>(i)];
    Share<float>& share = state.shares[static_cast<std::size_t>(i)];
    state.kernels.pie(state.task, state.places[static_cast<std::size_t>(pattern)],
                      state.amplitudes + pattern * state.plane(), state.object, how, own, share);
    misfit[i] = share.misfit;
  }
  const ObjectStep<float> step{static_cast<float>(options.object_step),
                               static_cast<float>(options.object_regularisation),
                               strongest(state, batch)};
  const RowBlocks blocks = row_blocks(state, patterns);
  const std::int64_t pieces = how.refine_probe ? kProbePieces : 0;
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t item = 0; item < pieces + blocks.count; ++item) {
    if (item < pieces) {
      step_probe(state, batch, options.probe_step, item);
      continue;
    }
    add_shares(state, patterns, blocks, item - pieces);
    step_rows(state, patterns, blocks, item - pieces, step);
  }
}

}  // namespace

double pie_sweep(ProjectionMemory<float>& state, std::span<const std::int64_t> order,
                 const PieOptions& options) {
  std::vector<double> misfit(order.size());
#pragma omp parallel num_threads(state.thread_count())
  for (std::size_t first = 0; first < order.size(); first += state.shares.size())
    do_batch(state, order.subspan(first, std::min(state.shares.size(), order.size() - first)),
             options, misfit.data() + first);
  double sum = 0;
  for (const double one : misfit) sum += one;
  return sum;
}

}  // namespace ptyche::cpu
