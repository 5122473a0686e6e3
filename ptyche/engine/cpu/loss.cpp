#include "ptyche/engine/cpu/loss.h"

#include <omp.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "ptyche/engine/cpu/buffers.h"

namespace ptyche::cpu {
namespace {

/// Of one call. What follows is run by each of them: `members` threads work on one canvas together,
/// that of the first one, or each works alone on its own.
template <class T>
using Threads = std::deque<ThreadScratch<T>>;

template <class T>
ThreadScratch<T>& leader_of(Threads<T>& threads, int thread, int members) {
  return threads[members == 1 ? thread : 0];
}

template <class T>
std::int64_t patch_numbers(const LossInputs<T>& inputs) {
  return 2 * inputs.size * inputs.size;
}

/// Merge weights at or below it are dark.
template <class T>
T dark(const LossInputs<T>& inputs) {
  return static_cast<T>(inputs.merge_floor > 0 ? -1 : inputs.dark_weight);
}

/// The merge weight (N, N) of a pattern with a patch.
template <class T>
const T* weight_of(const LossInputs<T>& inputs, std::int64_t pattern, ThreadScratch<T>& own) {
  if (inputs.merge_weight) return inputs.merge_weight;
  return own.context.kernels.moved_weight(own.context, inputs.positions[pattern], own);
}

/// Which of `count` things in order a thread does: first, last + 1.
std::pair<std::int64_t, std::int64_t> share_of(std::int64_t count, int thread, int members) {
  if (members == 1) return {0, count};
  const std::int64_t each = count / members, more = count % members;
  const std::int64_t first = thread * each + std::min<std::int64_t>(thread, more);
  return {first, first + each + (thread < more ? 1 : 0)};
}

void wait_for(int members) {
  if (members == 1) return;
#pragma omp barrier
}

/// The last rows have the row beneath the canvas, too.
template <class T>
void clear(const Planes<T>& canvas, std::int64_t first, std::int64_t last) {
  if (last == canvas.rows) ++last;
  for (T* plane : {canvas.re, canvas.im, canvas.weight})
    if (plane) std::fill(plane + first * canvas.stride, plane + last * canvas.stride, T(0));
}

template <class T>
bool wants_corner(const LossInputs<T>& inputs) {
  return inputs.want_position && !inputs.moved_probe;
}

/// The merge of one patch at a whole pixel is that patch where the probe lights it.
template <class T>
bool is_single_patch(const LossInputs<T>& inputs, std::int64_t group) {
  const std::int64_t first = inputs.first_of_group[group];
  if (inputs.first_of_group[group + 1] != first + 1) return false;
  const std::int64_t pattern = inputs.pattern_of[first];
  const PatchPosition& position = inputs.positions[pattern];
  return inputs.patch_of[pattern] >= 0 && inputs.merge_floor == 0 && !wants_corner(inputs) &&
         position.row_fraction == 0 && position.col_fraction == 0;
}

/// Patches -> their mean on the canvas; a group of a single patch is one thread's.
template <class T>
void merge_group(const LossInputs<T>& inputs, Threads<T>& threads, std::int64_t group, int thread,
                 int members) {
  ThreadScratch<T>& own = threads[thread];
  const KernelContext<T>& context = own.context;
  const std::int64_t begin = inputs.first_of_group[group], end = inputs.first_of_group[group + 1];
  const Planes<T>& canvas = leader_of(threads, thread, members).canvas;
  double* moments = own.moments + 3 * group;
  if (is_single_patch(inputs, group)) {
    const std::int64_t pattern = inputs.pattern_of[begin];
    return context.kernels.single_patch_forward(
        context, inputs.positions[pattern],
        inputs.patches + inputs.patch_of[pattern] * patch_numbers(inputs),
        weight_of(inputs, pattern, own), dark(inputs), canvas, moments);
  }
  const auto [first_row, last_row] = share_of(canvas.rows, thread, members);
  clear(canvas, first_row, last_row);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t pattern = inputs.pattern_of[i], patch = inputs.patch_of[pattern];
    const PatchPosition& position = inputs.positions[pattern];
    if (patch >= 0 && position.row < last_row && position.row + inputs.size >= first_row)
      context.kernels.merge_patch(context, position, inputs.patches + patch * patch_numbers(inputs),
                                  weight_of(inputs, pattern, own), canvas, first_row, last_row,
                                  threads[thread]);
  }
  context.kernels.normalise(canvas, dark(inputs), static_cast<T>(inputs.merge_floor), first_row,
                            last_row, moments);
}

/// Adds a share of the rows of all members' gradients to the first one's.
template <class T>
void sum_gradients(Threads<T>& threads, int thread, int members) {
  const Planes<T>& sum = threads[0].gradient;
  const auto [first_row, last_row] = share_of(sum.rows, thread, members);
  for (int member = 1; member < members; ++member) {
    const Planes<T>& other = threads[member].gradient;
    for (std::int64_t i = first_row * sum.stride; i < last_row * sum.stride; ++i) {
      sum.re[i] += other.re[i];
      sum.im[i] += other.im[i];
    }
  }
}

/// Loss of the group's patterns; their gradients on the threads' canvases, summed in the first's.
template <class T>
void predict_group(const LossInputs<T>& inputs, Threads<T>& threads, std::int64_t group, int thread,
                   int members) {
  const std::int64_t first = inputs.first_of_group[group];
  const Planes<T>& canvas = leader_of(threads, thread, members).canvas;
  ThreadScratch<T>& own = threads[thread];
  if (inputs.want_gradient) clear(own.gradient, 0, canvas.rows);
  const auto [begin, end] = share_of(inputs.first_of_group[group + 1] - first, thread, members);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t pattern = inputs.pattern_of[first + i];
    own.context.kernels.pattern_loss(
        own.context, inputs.positions[pattern], inputs.counts + pattern * inputs.size * inputs.size,
        canvas, own.gradient, own,
        inputs.position_gradient ? inputs.position_gradient + 4 * pattern : nullptr);
    if (inputs.intensity_gradient) inputs.intensity_gradient[pattern] = own.intensity_slope;
  }
  if (!inputs.want_gradient || members == 1) return;
  wait_for(members);
  sum_gradients(threads, thread, members);
}

/// The adjoint of merge_group: gradient of the canvas -> of patches and positions.
template <class T>
void merge_group_backward(const LossInputs<T>& inputs, Threads<T>& threads, std::int64_t group,
                          int thread, int members) {
  ThreadScratch<T>& own = threads[thread];
  const KernelContext<T>& context = own.context;
  const ThreadScratch<T>& leader = leader_of(threads, thread, members);
  const std::int64_t first = inputs.first_of_group[group];
  if (is_single_patch(inputs, group)) {
    const std::int64_t pattern = inputs.pattern_of[first];
    // The weight of a moved probe is still that of the way there: the group has no other pattern.
    const T* weight = inputs.merge_weight ? weight_of(inputs, pattern, own) : own.weight;
    return context.kernels.single_patch_backward(
        context, inputs.positions[pattern], weight, dark(inputs), leader.gradient,
        inputs.patch_gradient + inputs.patch_of[pattern] * patch_numbers(inputs));
  }
  const auto [first_row, last_row] = share_of(leader.canvas.rows, thread, members);
  context.kernels.normalise_backward(leader.canvas, leader.gradient, first_row, last_row);
  wait_for(members);
  Planes<T> sums = leader.gradient;
  sums.weight = leader.canvas.weight;
  const auto [begin, end] = share_of(inputs.first_of_group[group + 1] - first, thread, members);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t pattern = inputs.pattern_of[first + i];
    const std::int64_t numbers = inputs.patch_of[pattern] * patch_numbers(inputs);
    if (numbers < 0) continue;
    context.kernels.patch_gradient(context, inputs.positions[pattern], inputs.patches + numbers,
                                   weight_of(inputs, pattern, own), sums,
                                   inputs.patch_gradient + numbers,
                                   inputs.position_gradient + 4 * pattern);
  }
}

/// The object as it is given onto the first thread's canvas, and its gradient from there.
template <class T>
void load_object(const LossInputs<T>& inputs, Threads<T>& threads, int thread, int members) {
  Planes<T> to = threads[0].canvas;
  to.weight = nullptr;  // an object that is given has none
  const auto [first_row, last_row] = share_of(to.rows, thread, members);
  clear(to, first_row, last_row);
  const T* from = inputs.object + 2 * first_row * to.cols;
  for (std::int64_t r = first_row; r < last_row; ++r)
    for (std::int64_t c = 0; c < to.cols; ++c, from += 2) {
      to.re[r * to.stride + c] = from[0];
      to.im[r * to.stride + c] = from[1];
    }
}

template <class T>
void store_object_gradient(const LossInputs<T>& inputs, Threads<T>& threads, int thread,
                           int members) {
  const Planes<T>& from = threads[0].gradient;
  const auto [first_row, last_row] = share_of(from.rows, thread, members);
  T* to = inputs.object_gradient + 2 * first_row * from.cols;
  for (std::int64_t r = first_row; r < last_row; ++r)
    for (std::int64_t c = 0; c < from.cols; ++c, to += 2) {
      to[0] = from.re[r * from.stride + c];
      to[1] = from.im[r * from.stride + c];
    }
}

template <class T>
void do_group(const LossInputs<T>& inputs, Threads<T>& threads, std::int64_t group, int thread,
              int members) {
  const bool object = inputs.object != nullptr;
  object ? load_object(inputs, threads, thread, members)
         : merge_group(inputs, threads, group, thread, members);
  wait_for(members);
  predict_group(inputs, threads, group, thread, members);
  if (!inputs.want_gradient) return;
  wait_for(members);
  object ? store_object_gradient(inputs, threads, thread, members)
         : merge_group_backward(inputs, threads, group, thread, members);
}

/// Adds all threads' planes to the first thread's.
template <class T>
T* sum_threads(Threads<T>& threads, T* ThreadScratch<T>::*planes, std::int64_t numbers) {
  T* sum = threads.front().*planes;
  for (std::size_t t = 1; t < threads.size(); ++t) {
    const T* other = threads[t].*planes;
    for (std::int64_t i = 0; i < numbers; ++i) sum[i] += other[i];
  }
  return sum;
}

template <class T>
void store_probe_gradient(const LossInputs<T>& inputs, Threads<T>& threads) {
  const KernelContext<T>& context = threads.front().context;
  const std::int64_t numbers = 2 * context.modes * context.size * context.stride;
  interleave_modes(context, sum_threads(threads, &ThreadScratch<T>::probe_gradient, numbers),
                   1 / static_cast<T>(context.size * context.size), inputs.probe_gradient);
}

template <class T>
void store_background_gradient(const LossInputs<T>& inputs, Threads<T>& threads) {
  const KernelContext<T>& context = threads.front().context;
  const T* sum =
      sum_threads(threads, &ThreadScratch<T>::background_gradient, context.size * context.stride);
  T* to = inputs.background_gradient;
  for_detector(context, [&](std::int64_t at, std::int64_t pixel) { to[pixel] = sum[at]; });
}

template <class T>
LossResult result_of(const LossInputs<T>& inputs, const Threads<T>& threads) {
  LossResult result;
  for (const ThreadScratch<T>& thread : threads) result.loss += thread.loss;
  result.pixels = static_cast<double>(inputs.groups * inputs.rows * inputs.cols);
  for (std::int64_t group = 0; group < inputs.groups; ++group) {
    double sums[3] = {};
    for (const ThreadScratch<T>& thread : threads)
      for (int i = 0; i < 3; ++i) sums[i] += thread.moments[3 * group + i];
    result.sum_re += sums[0];
    result.sum_im += sums[1];
    result.sum_square += sums[2];
  }
  return result;
}

/// One object that is given lies with the first thread, and has no weights.
template <class T>
Canvases canvases_of(const LossInputs<T>& inputs, int thread) {
  if (!inputs.object) return {};
  return {.object = thread == 0, .weight = false, .gradient = inputs.want_gradient};
}

template <class T>
void load_context(const LossInputs<T>& inputs, KernelContext<T>& context) {
  context.load_mask(inputs.mask);
  context.load_background(inputs.background);
  context.load_probe(inputs.probe);
  context.kind = inputs.kind;
  context.floor = static_cast<T>(inputs.floor);
  context.want_gradient = inputs.want_gradient;
  context.want_position = wants_corner(inputs);
}

}  // namespace

template <class T>
LossResult fused_loss(const LossInputs<T>& inputs, int threads) {
  KernelContext<T> context(inputs.size, inputs.modes, inputs.moved_probe, inputs.transfer);
  load_context(inputs, context);
  Threads<T> all;
  for (int thread = 0; thread < threads; ++thread)
    all.emplace_back(context, inputs.rows, inputs.cols, inputs.groups, canvases_of(inputs, thread));
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    for (int own = thread; own < threads; own += team) all[own].clear();
    if (inputs.groups >= team) {
#pragma omp for schedule(static)
      for (std::int64_t group = 0; group < inputs.groups; ++group)
        do_group(inputs, all, group, thread, 1);
    } else {
      for (std::int64_t group = 0; group < inputs.groups; ++group) {
        const int members = is_single_patch(inputs, group) ? 1 : team;
        if (members > 1 || thread == 0) do_group(inputs, all, group, thread, members);
        wait_for(team);
      }
    }
  }
  if (inputs.want_gradient) store_probe_gradient(inputs, all);
  if (inputs.background_gradient) store_background_gradient(inputs, all);
  return result_of(inputs, all);
}

namespace {

/// each(canvas, the thread's scratch, its number, pattern) for all patterns of one object that is
/// given.
template <class T, class Each>
void for_patterns(const LossInputs<T>& inputs, KernelContext<T>& context, int threads,
                  const Each& each) {
  load_context(inputs, context);
  Threads<T> all;
  for (int thread = 0; thread < threads; ++thread)
    all.emplace_back(context, thread == 0 ? inputs.rows : 0, thread == 0 ? inputs.cols : 0, 1,
                     Canvases{.weight = false, .gradient = false});
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    for (int own = thread; own < threads; own += team) all[own].clear();
    load_object(inputs, all, thread, team);
#pragma omp barrier
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t pattern = 0; pattern < inputs.patterns; ++pattern)
      each(all[0].canvas, all[thread], thread, pattern);
  }
}

template <class T>
std::int64_t tilt_numbers(const KernelContext<T>& context) {
  return 4 * context.modes * context.size * context.stride +
         2 * context.size * context.kernels.strip + context.stride;
}

/// One thread's, in memory of tilt_numbers.
template <class T>
TiltScratch<T> tilt_scratch(const KernelContext<T>& context, double least, Scratch<T>& memory) {
  const std::int64_t strip = context.size * context.kernels.strip;
  const std::int64_t all_modes = 2 * context.modes * context.size * context.stride;
  T* distances = memory.take(context.stride);
  for (std::int64_t i = 0; i < context.size; ++i)
    distances[i] = static_cast<T>(i - context.size / 2);
  return {.turned = {memory.take(all_modes), memory.take(all_modes)},
          .strip = {memory.take(strip), memory.take(strip)},
          .distances = distances,
          .least = static_cast<T>(least)};
}

}  // namespace

template <class T>
void fused_intensity(const LossInputs<T>& inputs, int threads, T* to) {
  KernelContext<T> context(inputs.size, inputs.modes, inputs.moved_probe, inputs.transfer);
  for_patterns(inputs, context, threads,
               [&](const Planes<T>& canvas, ThreadScratch<T>& scratch, int, std::int64_t pattern) {
                 context.kernels.pattern_intensity(context, inputs.positions[pattern], canvas,
                                                   scratch,
                                                   to + pattern * inputs.size * inputs.size);
               });
}

template <class T>
void fused_tilts(const LossInputs<T>& inputs, int threads, double least, T* light, double* sums) {
  KernelContext<T> context(inputs.size, inputs.modes, inputs.moved_probe, nullptr);
  std::deque<Scratch<T>> memory;
  std::vector<TiltScratch<T>> tilts;
  for (int thread = 0; thread < threads; ++thread)
    tilts.push_back(tilt_scratch(context, least, memory.emplace_back(tilt_numbers(context))));
  const std::int64_t pixels = inputs.size * inputs.size;
  for_patterns(
      inputs, context, threads,
      [&](const Planes<T>& canvas, ThreadScratch<T>& scratch, int thread, std::int64_t pattern) {
        context.kernels.pattern_tilt(context, inputs.positions[pattern],
                                     inputs.counts + pattern * pixels, canvas, scratch,
                                     tilts[thread], light + pattern * pixels, sums + 4 * pattern);
      });
}

template LossResult fused_loss(const LossInputs<float>&, int);
template LossResult fused_loss(const LossInputs<double>&, int);
template void fused_intensity(const LossInputs<float>&, int, float*);
template void fused_intensity(const LossInputs<double>&, int, double*);
template void fused_tilts(const LossInputs<float>&, int, double, float*, double*);
template void fused_tilts(const LossInputs<double>&, int, double, double*, double*);

}  // namespace ptyche::cpu
