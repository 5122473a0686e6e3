#include "ptyche/engine/projections.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptyche::cpu {

namespace {

/// Rows of the canvas, of all patches of a batch, on which threads work independently.
constexpr std::int64_t kRows = 16;

/// Of a canvas: some columns more, and a row, are what a patch between pixels touches with weight
/// 0.
template <class T>
std::int64_t stride_of(const Geometry<T>& geometry) {
  return geometry.cols + 2 * kFrame;
}

/// What is handed out begins at a cache line each time.
template <class T>
std::int64_t numbers(const KernelContext<T>& context, const Geometry<T>& geometry, bool keep_waves,
                     std::int64_t batch, std::int64_t threads) {
  const std::int64_t sums = (keep_waves ? geometry.rows + 1 : 0) + threads * (kRows + 1);
  const std::int64_t update =
      3 * (context.size + 2) * context.frame + 2 * context.modes * context.size * context.stride;
  return (2 * (geometry.rows + 1) + 3 * sums) * stride_of(geometry) + batch * (update + 64) +
         64 * threads;
}

template <class T>
std::int64_t pattern_numbers(const KernelContext<T>& context, const Geometry<T>& geometry,
                             bool keep_waves) {
  const std::int64_t plane = context.size * context.stride;
  return geometry.patterns *
         ((geometry.counts.rows ? 0 : plane) + (keep_waves ? 2 * context.modes * plane : 0));
}

}  // namespace

template <class T>
ProjectionMemory<T>::ProjectionMemory(const Geometry<T>& geometry, const T* object_values,
                                      bool keep_waves, std::int64_t batch, int thread_count)
    : kernels(cpu::kernels<T>()),
      context(geometry.size, geometry.modes, geometry.moved_probe, geometry.transfer),
      positions(static_cast<std::size_t>(geometry.patterns)),
      memory(numbers(context, geometry, keep_waves, batch, thread_count)),
      pattern_memory(pattern_numbers(context, geometry, keep_waves)),
      counts(geometry.counts) {
  context.floor = static_cast<T>(kProjectionFloor);
  context.load_mask(geometry.mask);
  if (!counts.rows) amplitudes = pattern_memory.take(geometry.patterns * plane());
  if (keep_waves) waves = pattern_memory.take(geometry.patterns * mode_numbers());
  for (int thread = 0; thread < thread_count; ++thread) threads.emplace_back(context).clear();
  take_canvases(geometry, keep_waves);
  for (std::int64_t slot = 0; slot < batch; ++slot) take_update();
  load_object(object_values);
  load_probe(geometry.probe);
}

template <class T>
void ProjectionMemory<T>::take_canvases(const Geometry<T>& geometry, bool keep_waves) {
  const std::int64_t stride = stride_of(geometry), area = (geometry.rows + 1) * stride;
  object = {memory.take(area), memory.take(area), nullptr, geometry.rows, geometry.cols, stride};
  const auto sums_of_rows = [&](std::int64_t rows) {
    const std::int64_t all = (rows + 1) * stride;
    return Planes<T>{
        memory.take(all), memory.take(all), memory.take(all), rows, geometry.cols, stride};
  };
  if (keep_waves) sums = sums_of_rows(geometry.rows);
  while (row_sums.size() < threads.size()) row_sums.push_back(sums_of_rows(kRows));
}

template <class T>
void ProjectionMemory<T>::take_update() {
  const std::int64_t framed = (context.size + 2) * context.frame, origin = context.frame + kFrame;
  PatternUpdate<T> update;
  update.object = {memory.take(framed) + origin, memory.take(framed) + origin};
  update.power_is_known = !context.moved_probe && !updates.empty();
  update.power = update.power_is_known ? updates.front().power : memory.take(framed) + origin;
  update.probe = memory.take(mode_numbers());
  updates.push_back(update);
}

template <class T>
void ProjectionMemory<T>::load_counts(std::int64_t first, std::int64_t count, const T* from) {
#pragma omp parallel for num_threads(thread_count())
  for (std::int64_t i = 0; i < count; ++i)
    kernels.load_amplitudes(context, from + i * context.size * context.size,
                            amplitudes + (first + i) * plane());
}

template <class T>
const T* ProjectionMemory<T>::amplitudes_of(std::int64_t pattern,
                                            const ThreadScratch<T>& own) const {
  if (!counts.rows) return amplitudes + pattern * plane();
  const std::int64_t first = counts.rows[pattern] * context.size * context.size;
  if (counts.bytes)
    kernels.order_bytes(context, counts.bytes + first, own.in_order);
  else
    kernels.order_shorts(context, counts.shorts + first, own.in_order);
  kernels.load_amplitudes(context, own.in_order, own.counts);
  return own.counts;
}

template <class T>
void ProjectionMemory<T>::load_object(const T* from) {
  for (std::int64_t r = 0; r < object.rows; ++r)
    for (std::int64_t c = 0; c < object.cols; ++c) {
      object.re[r * object.stride + c] = *from++;
      object.im[r * object.stride + c] = *from++;
    }
}

template <class T>
void ProjectionMemory<T>::store_object(T* to) const {
  for (std::int64_t r = 0; r < object.rows; ++r)
    for (std::int64_t c = 0; c < object.cols; ++c) {
      *to++ = object.re[r * object.stride + c];
      *to++ = object.im[r * object.stride + c];
    }
}

template <class T>
void ProjectionMemory<T>::store_probe(T* to) {
  T* from = context.probe;
  if (context.moved_probe) {  // the transform destroys what it reads
    from = threads.front().waves;
    std::copy(context.probe, context.probe + mode_numbers(), from);
  }
  interleave_modes(context, from, T(1), to);
}

template struct ProjectionMemory<float>;

namespace {

/// Blocks of kRows rows that hold all patches of a batch: the same sums in the same order whoever
/// does them.
struct RowBlocks {
  std::int64_t first = 0, last = 0, count = 0;  ///< rows first..last - 1 of the canvas
};

struct Rows {
  std::int64_t first, last;
};

Rows rows_of(const RowBlocks& blocks, std::int64_t block) {
  const std::int64_t first = blocks.first + block * kRows;
  return {first, std::min(first + kRows, blocks.last)};
}

RowBlocks row_blocks(const ProjectionMemory<float>& state, std::span<const std::int64_t> patterns) {
  RowBlocks blocks{state.object.rows, 0, 0};
  for (const std::int64_t pattern : patterns) {
    const std::int64_t row = state.positions[static_cast<std::size_t>(pattern)].row;
    blocks.first = std::min(blocks.first, row);
    blocks.last = std::max(blocks.last, std::min(row + state.context.size + 1, state.object.rows));
  }
  blocks.count = (blocks.last - blocks.first + kRows - 1) / kRows;
  return blocks;
}

void add_updates(ProjectionMemory<float>& state, std::span<const std::int64_t> patterns, Rows rows,
                 const Planes<float>& sums) {
  for (std::size_t i = 0; i < patterns.size(); ++i)
    state.kernels.add_update(state.context, state.positions[static_cast<std::size_t>(patterns[i])],
                             state.updates[i], sums, rows.first, rows.last);
}

/// The calling thread's sums, as planes of the canvas of which there are these rows alone: they
/// stay in its cache.
Planes<float> own_sums(const ProjectionMemory<float>& state, Rows rows) {
  Planes<float> sums = state.row_sums[static_cast<std::size_t>(omp_get_thread_num())];
  for (float** plane : {&sums.re, &sums.im, &sums.weight}) *plane -= rows.first * sums.stride;
  return sums;
}

/// The patterns' positions from left to right.
std::vector<PatchPosition> from_the_left(const ProjectionMemory<float>& state,
                                         std::span<const std::int64_t> patterns) {
  std::vector<PatchPosition> positions;
  for (const std::int64_t pattern : patterns)
    positions.push_back(state.positions[static_cast<std::size_t>(pattern)]);
  std::sort(positions.begin(), positions.end(),
            [](const PatchPosition& a, const PatchPosition& b) { return a.col < b.col; });
  return positions;
}

/// Each pixel that patches touch once, however many do; `positions` go from left to right.
void step_rows(ProjectionMemory<float>& state, const std::vector<PatchPosition>& positions,
               Rows rows, const Planes<float>& sums, const ObjectStep<float>& step) {
  const std::int64_t touched = state.context.size + 1;
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    std::int64_t begin = positions.front().col, end = begin;
    const auto step_columns = [&] {
      state.kernels.step_object(state.object, sums, step, row, row + 1, begin, end - begin);
    };
    for (const PatchPosition& position : positions) {
      if (row < position.row || row >= position.row + touched) continue;
      if (position.col > end) {
        step_columns();
        begin = position.col;
      }
      end = position.col + touched;
    }
    step_columns();
  }
}

constexpr std::int64_t kProbePieces = 8;  // in which threads share the work on the probe

/// Adds the changes of the batch's updates to one piece of the probe.
void step_probe(ProjectionMemory<float>& state, std::int64_t batch, double step,
                std::int64_t piece) {
  const std::int64_t lines = state.mode_numbers() / 16;
  const std::int64_t first = lines * piece / kProbePieces * 16;
  const std::int64_t last = lines * (piece + 1) / kProbePieces * 16;
  const auto factor = static_cast<float>(std::min(step, 1.0 / static_cast<double>(batch)));
  for (std::int64_t i = 0; i < batch; ++i)
    state.kernels.add_scaled(state.context.probe + first,
                             state.updates[static_cast<std::size_t>(i)].probe + first, factor,
                             last - first);
}

float strongest(const ProjectionMemory<float>& state, std::int64_t batch) {
  float most = 0;
  for (std::int64_t i = 0; i < batch; ++i)
    most = std::max(most, state.updates[static_cast<std::size_t>(i)].strongest);
  return most;
}

/// One batch, by all threads of the surrounding parallel region.
void do_batch(ProjectionMemory<float>& state, std::span<const std::int64_t> patterns,
              const PieOptions& options, double* misfit) {
  const auto batch = static_cast<std::int64_t>(patterns.size());
  const PieStep<float> how{options.probe_step > 0,
                           static_cast<float>(options.probe_regularisation)};
  ThreadScratch<float>& own = state.threads[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t i = 0; i < batch; ++i) {
    const std::int64_t pattern = patterns[static_cast<std::size_t>(i)];
    PatternUpdate<float>& update = state.updates[static_cast<std::size_t>(i)];
    state.kernels.pie(state.context, state.positions[static_cast<std::size_t>(pattern)],
                      state.amplitudes_of(pattern, own), state.object, how, own, update);
    misfit[i] = update.misfit;
  }
  const ObjectStep<float> step{static_cast<float>(options.object_step),
                               static_cast<float>(options.object_regularisation),
                               strongest(state, batch)};
  const RowBlocks blocks = row_blocks(state, patterns);
  const std::vector<PatchPosition> positions = from_the_left(state, patterns);
  const std::int64_t pieces = how.refine_probe ? kProbePieces : 0;
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t item = 0; item < pieces + blocks.count; ++item) {
    if (item < pieces) {
      step_probe(state, batch, options.probe_step, item);
      continue;
    }
    const Rows rows = rows_of(blocks, item - pieces);
    const Planes<float> sums = own_sums(state, rows);
    add_updates(state, patterns, rows, sums);
    step_rows(state, positions, rows, sums, step);
  }
}

}  // namespace

double pie_sweep(ProjectionMemory<float>& state, std::span<const std::int64_t> order,
                 const PieOptions& options) {
  std::vector<double> misfit(order.size());
#pragma omp parallel num_threads(state.thread_count())
  for (std::size_t first = 0; first < order.size(); first += state.updates.size())
    do_batch(state, order.subspan(first, std::min(state.updates.size(), order.size() - first)),
             options, misfit.data() + first);
  double sum = 0;
  for (const double one : misfit) sum += one;
  return sum;
}

namespace {

using Patterns = std::span<const std::int64_t>;

constexpr std::int64_t kParts = 16;  // of the patterns, each with a sum of its own for the probe

/// What a pattern's misfit is when only photon noise is left: 1/4 for each pixel that has counted
/// (the variance of the root of a Poisson number), nothing for the others.
void measure_noise(ProjectionMemory<float>& state) {
  const auto patterns = static_cast<std::int64_t>(state.positions.size());
  state.noise.assign(state.positions.size(), 0);
#pragma omp parallel for num_threads(state.thread_count())
  for (std::int64_t pattern = 0; pattern < patterns; ++pattern) {
    const float* amplitudes =
        state.amplitudes_of(pattern, state.threads[static_cast<std::size_t>(omp_get_thread_num())]);
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < state.plane(); ++i)
      counted += amplitudes[i] > 0 && state.context.mask[i] > 0 ? 1 : 0;
    state.noise[static_cast<std::size_t>(pattern)] = 0.25 * static_cast<double>(counted);
  }
}

/// How far to go towards amplitudes that are only known to `noise`: to the nearest wave that
/// is no farther from them than that. The misfit is that of the pass before.
float trust(double misfit, double noise) {
  return misfit > 0 ? static_cast<float>(1 - std::min(1.0, std::sqrt(noise / misfit))) : 1.0F;
}

/// One batch of waves, by all threads of the surrounding parallel region.
void do_batch(ProjectionMemory<float>& state, Patterns patterns,
              const DifferenceMapCoefficients<float>& how, bool within_noise) {
  ThreadScratch<float>& own = state.threads[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::int64_t pattern = patterns[i];
    const auto at = static_cast<std::size_t>(pattern);
    DifferenceMapCoefficients<float> trusting = how;
    trusting.trust = within_noise ? trust(state.misfit[at], state.noise[at]) : 1.0F;
    state.kernels.difference_map_step(
        state.context, state.positions[at], state.amplitudes_of(pattern, own), state.object,
        trusting, state.waves + pattern * state.mode_numbers(), own, state.updates[i]);
    state.misfit[at] = state.updates[i].misfit;
  }
  const RowBlocks blocks = row_blocks(state, patterns);
#pragma omp for schedule(dynamic, 1)
  for (std::int64_t block = 0; block < blocks.count; ++block)
    add_updates(state, patterns, rows_of(blocks, block), state.sums);
}

/// Of all patterns.
double do_waves(ProjectionMemory<float>& state, const DifferenceMapOptions& options) {
  std::vector<std::int64_t> all(state.positions.size());
  std::iota(all.begin(), all.end(), 0);
  const Patterns patterns = all;
  if (state.noise.empty()) measure_noise(state);
  if (state.misfit.empty() || options.how.fresh) state.misfit.assign(patterns.size(), 0);
#pragma omp parallel num_threads(state.thread_count())
  for (std::size_t first = 0; first < patterns.size(); first += state.updates.size())
    do_batch(state,
             patterns.subspan(first, std::min(state.updates.size(), patterns.size() - first)),
             options.how, options.within_noise);
  return std::accumulate(state.misfit.begin(), state.misfit.end(), 0.0);
}

void step_object(ProjectionMemory<float>& state, double regularisation) {
  const Planes<float>& sums = state.sums;
  const float strongest = *std::max_element(sums.weight, sums.weight + sums.rows * sums.stride);
  const ObjectStep<float> step{1, static_cast<float>(regularisation), strongest};
#pragma omp parallel for num_threads(state.thread_count())
  for (std::int64_t row = 0; row < sums.rows; ++row)
    state.kernels.step_object(state.object, sums, step, row, row + 1, 0, sums.cols);
}

/// Writes the sums as arrays; they are 0 then.
void take_sums(const Planes<float>& sums, float* change, float* weight) {
  for (std::int64_t row = 0; row <= sums.rows; ++row)
    for (std::int64_t i = row * sums.stride; i < (row + 1) * sums.stride; ++i) {
      if (row < sums.rows && i < row * sums.stride + sums.cols) {
        *change++ = sums.re[i];
        *change++ = sums.im[i];
        *weight++ = sums.weight[i];
      }
      sums.re[i] = sums.im[i] = sums.weight[i] = 0;
    }
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
  const auto patterns = static_cast<std::int64_t>(state.positions.size());
#pragma omp parallel for num_threads(state.thread_count()) schedule(dynamic, 1)
  for (std::int64_t part = 0; part < kParts; ++part)
    for (std::int64_t i = patterns * part / kParts; i < patterns * (part + 1) / kParts; ++i)
      state.kernels.sum_probe(state.context, state.positions[static_cast<std::size_t>(i)],
                              state.object, state.waves + i * state.mode_numbers(),
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
  const auto pixels = static_cast<float>(state.context.size * state.context.size);
  for (std::int64_t mode = 0; mode < state.context.modes; ++mode) {
    const Planes<float> sum{sums.change + 2 * mode * plane, sums.change + (2 * mode + 1) * plane};
    if (state.context.moved_probe)
      state.kernels.ifft2_transposed(state.context.fft, state.context.stride, sum, scratch, 1);
    const Planes<float> change = state.context.moved_probe ? scratch : sum;
    for (std::int64_t i = 0; i < plane; ++i) {
      const float factor = 1 / ((1 - share) * sums.power[i] + most);
      change.re[i] *= factor;
      change.im[i] *= factor;
    }
    if (state.context.moved_probe)
      state.kernels.fft2_transposed(state.context.fft, state.context.stride, scratch, sum,
                                    1 / pixels);
  }
  state.kernels.add_scaled(state.context.probe, sums.change, 1, state.mode_numbers());
}

}  // namespace

double overlap_waves(ProjectionMemory<float>& state, const DifferenceMapOptions& options,
                     float* change, float* weight) {
  const double misfit = do_waves(state, options);
  take_sums(state.sums, change, weight);
  return misfit;
}

void overlap_probe_sums(ProjectionMemory<float>& state, float* change, float* power) {
  const PartSums sums(state);
  sum_probe(state, sums);
  const ProbeSums<float> all = sums.of(0);
  for_pixels(state.context, [&](std::int64_t at, auto pixel) { power[pixel] = all.power[at]; });
  interleave_modes(state.context, all.change, 1.0F, change);
}

double difference_map_sweep(ProjectionMemory<float>& state, const DifferenceMapOptions& options) {
  const double misfit = do_waves(state, options);
  step_object(state, options.regularisation);
  if (!options.refine_probe) return misfit;
  const PartSums sums(state);
  sum_probe(state, sums);
  step_probe(state, sums.of(0), options.regularisation);
  return misfit;
}

}  // namespace ptyche::cpu
