#include "ptyche/engine/cpu/loss.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "ptyche/engine/cpu/buffers.h"

namespace ptyche::cpu {
using Moments = std::array<double, 3>;  // sum re, sum im, sum of squares

/// One call with all that it owns. Its functions are run by every thread: `members` threads work on
/// one canvas together, that of the first one, or each works alone on its own.
template <class T>
struct LossRun {
  const LossInputs<T>& inputs;
  const KernelContext<T>& context;
  std::deque<ThreadScratch<T>> threads;
  std::vector<Moments> moments;  // (groups, threads)

  ThreadScratch<T>& own(int thread) { return threads[static_cast<std::size_t>(thread)]; }
  ThreadScratch<T>& leader(int thread, int members) { return own(members == 1 ? thread : 0); }
  std::int64_t patch_numbers() const { return 2 * inputs.size * inputs.size; }
  T dark() const { return static_cast<T>(inputs.merge_floor > 0 ? -1 : inputs.dark_weight); }

  /// The merge weight (N, N) of a pattern with a patch.
  const T* weight_of(std::int64_t pattern, int thread) {
    if (inputs.merge_weight)
      return inputs.merge_weight + inputs.patch_of[pattern] * inputs.weight_step;
    return context.kernels.moved_weight(context, inputs.positions[pattern], own(thread));
  }
};

namespace {

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
void clear(const Canvas<T>& canvas, std::int64_t first, std::int64_t last) {
  if (last == canvas.rows) ++last;
  for (T* plane : {canvas.re, canvas.im, canvas.weight})
    if (plane) std::fill(plane + first * canvas.stride, plane + last * canvas.stride, T(0));
}

/// The merge of one patch at a whole pixel is that patch where the probe lights it.
template <class T>
bool is_single_patch(const LossRun<T>& run, std::int64_t group) {
  const LossInputs<T>& inputs = run.inputs;
  const std::int64_t first = inputs.first_of_group[group];
  if (inputs.first_of_group[group + 1] != first + 1) return false;
  const std::int64_t pattern = inputs.pattern_of[first];
  const PatchPosition& position = inputs.positions[pattern];
  return inputs.patch_of[pattern] >= 0 && inputs.merge_floor == 0 && !run.context.want_position &&
         position.row_fraction == 0 && position.col_fraction == 0;
}

/// Patches -> their mean on the canvas; a group of a single patch is one thread's.
template <class T>
void merge_group(LossRun<T>& run, std::int64_t group, int thread, int members) {
  const LossInputs<T>& inputs = run.inputs;
  const KernelContext<T>& context = run.context;
  const std::int64_t begin = inputs.first_of_group[group], end = inputs.first_of_group[group + 1];
  const Canvas<T>& canvas = run.leader(thread, members).canvas;
  double* moments = run.moments[static_cast<std::size_t>(group) * run.threads.size() +
                                (members == 1 ? 0 : thread)]
                        .data();
  if (is_single_patch(run, group)) {
    const std::int64_t pattern = inputs.pattern_of[begin];
    return context.kernels.single_patch_forward(
        context, inputs.positions[pattern],
        inputs.patches + inputs.patch_of[pattern] * run.patch_numbers(),
        run.weight_of(pattern, thread), run.dark(), canvas, moments);
  }
  const auto [first_row, last_row] = share_of(canvas.rows, thread, members);
  clear(canvas, first_row, last_row);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t pattern = inputs.pattern_of[i], patch = inputs.patch_of[pattern];
    const PatchPosition& position = inputs.positions[pattern];
    if (patch >= 0 && position.row < last_row && position.row + inputs.size >= first_row)
      context.kernels.merge_patch(context, position, inputs.patches + patch * run.patch_numbers(),
                                  run.weight_of(pattern, thread), canvas, first_row, last_row,
                                  run.own(thread));
  }
  context.kernels.normalise(canvas, run.dark(), static_cast<T>(inputs.merge_floor), first_row,
                            last_row, moments);
}

/// Adds a share of the rows of all members' gradients to the first one's.
template <class T>
void sum_gradients(LossRun<T>& run, int thread, int members) {
  const Canvas<T>& sum = run.own(0).gradient;
  const auto [first_row, last_row] = share_of(sum.rows, thread, members);
  for (int member = 1; member < members; ++member) {
    const Canvas<T>& other = run.own(member).gradient;
    for (std::int64_t i = first_row * sum.stride; i < last_row * sum.stride; ++i) {
      sum.re[i] += other.re[i];
      sum.im[i] += other.im[i];
    }
  }
}

/// Loss of the group's patterns; their gradients on the threads' canvases, summed in the first's.
template <class T>
void predict_group(LossRun<T>& run, std::int64_t group, int thread, int members) {
  const LossInputs<T>& inputs = run.inputs;
  const std::int64_t first = inputs.first_of_group[group];
  const Canvas<T>& canvas = run.leader(thread, members).canvas;
  ThreadScratch<T>& own = run.own(thread);
  if (inputs.want_gradient) clear(own.gradient, 0, canvas.rows);
  const auto [begin, end] = share_of(inputs.first_of_group[group + 1] - first, thread, members);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t pattern = inputs.pattern_of[first + i];
    run.context.kernels.pattern_loss(
        run.context, inputs.positions[pattern], inputs.counts + pattern * inputs.size * inputs.size,
        canvas, own.gradient, own,
        inputs.position_gradient ? inputs.position_gradient + 4 * pattern : nullptr);
  }
  if (!inputs.want_gradient || members == 1) return;
  wait_for(members);
  sum_gradients(run, thread, members);
}

/// The adjoint of merge_group: gradient of the canvas -> of patches and positions.
template <class T>
void merge_group_backward(LossRun<T>& run, std::int64_t group, int thread, int members) {
  const LossInputs<T>& inputs = run.inputs;
  const KernelContext<T>& context = run.context;
  const ThreadScratch<T>& leader = run.leader(thread, members);
  const std::int64_t first = inputs.first_of_group[group];
  if (is_single_patch(run, group)) {
    const std::int64_t pattern = inputs.pattern_of[first];
    return context.kernels.single_patch_backward(
        context, inputs.positions[pattern], run.weight_of(pattern, thread), run.dark(),
        leader.gradient, inputs.patch_gradient + inputs.patch_of[pattern] * run.patch_numbers());
  }
  const auto [first_row, last_row] = share_of(leader.canvas.rows, thread, members);
  context.kernels.normalise_backward(leader.canvas, leader.gradient, first_row, last_row);
  wait_for(members);
  Canvas<T> sums = leader.gradient;
  sums.weight = leader.canvas.weight;
  const auto [begin, end] = share_of(inputs.first_of_group[group + 1] - first, thread, members);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t pattern = inputs.pattern_of[first + i];
    const std::int64_t numbers = inputs.patch_of[pattern] * run.patch_numbers();
    if (numbers < 0) continue;
    context.kernels.patch_gradient(context, inputs.positions[pattern], inputs.patches + numbers,
                                   run.weight_of(pattern, thread), sums,
                                   inputs.patch_gradient + numbers,
                                   inputs.position_gradient + 4 * pattern);
  }
}

/// The object as it is given onto the first thread's canvas, and its gradient from there.
template <class T>
void load_object(LossRun<T>& run, int thread, int members) {
  Canvas<T> to = run.own(0).canvas;
  to.weight = nullptr;  // an object that is given has none
  const auto [first_row, last_row] = share_of(to.rows, thread, members);
  clear(to, first_row, last_row);
  const T* from = run.inputs.object + 2 * first_row * to.cols;
  for (std::int64_t r = first_row; r < last_row; ++r)
    for (std::int64_t c = 0; c < to.cols; ++c, from += 2) {
      to.re[r * to.stride + c] = from[0];
      to.im[r * to.stride + c] = from[1];
    }
}

template <class T>
void store_object_gradient(LossRun<T>& run, int thread, int members) {
  const Canvas<T>& from = run.own(0).gradient;
  const auto [first_row, last_row] = share_of(from.rows, thread, members);
  T* to = run.inputs.object_gradient + 2 * first_row * from.cols;
  for (std::int64_t r = first_row; r < last_row; ++r)
    for (std::int64_t c = 0; c < from.cols; ++c, to += 2) {
      to[0] = from.re[r * from.stride + c];
      to[1] = from.im[r * from.stride + c];
    }
}

template <class T>
void do_group(LossRun<T>& run, std::int64_t group, int thread, int members) {
  const bool object = run.inputs.object != nullptr;
  object ? load_object(run, thread, members) : merge_group(run, group, thread, members);
  wait_for(members);
  predict_group(run, group, thread, members);
  if (!run.inputs.want_gradient) return;
  wait_for(members);
  object ? store_object_gradient(run, thread, members)
         : merge_group_backward(run, group, thread, members);
}

/// Adds all threads' planes to the first thread's.
template <class T>
T* sum_threads(LossRun<T>& run, T* ThreadScratch<T>::*planes, std::int64_t numbers) {
  T* sum = run.threads.front().*planes;
  for (std::size_t t = 1; t < run.threads.size(); ++t) {
    const T* other = run.threads[t].*planes;
    for (std::int64_t i = 0; i < numbers; ++i) sum[i] += other[i];
  }
  return sum;
}

template <class T>
void store_probe_gradient(LossRun<T>& run) {
  const KernelContext<T>& context = run.context;
  const std::int64_t numbers = 2 * context.modes * context.size * context.stride;
  interleave_modes(context, sum_threads(run, &ThreadScratch<T>::probe_gradient, numbers),
                   1 / static_cast<T>(context.size * context.size), run.inputs.probe_gradient);
}

template <class T>
void store_background_gradient(LossRun<T>& run) {
  const KernelContext<T>& context = run.context;
  const T* sum =
      sum_threads(run, &ThreadScratch<T>::background_gradient, context.size * context.stride);
  T* to = run.inputs.background_gradient;
  for_detector(context, [&](std::int64_t at, std::int64_t pixel) { to[pixel] = sum[at]; });
}

template <class T>
LossResult result_of(const LossRun<T>& run) {
  LossResult result;
  for (const ThreadScratch<T>& thread : run.threads) result.loss += thread.loss;
  result.pixels = static_cast<double>(run.inputs.groups * run.inputs.rows * run.inputs.cols);
  for (std::size_t first = 0; first < run.moments.size(); first += run.threads.size()) {
    Moments group{};
    for (std::size_t thread = 0; thread < run.threads.size(); ++thread)
      for (std::size_t i = 0; i < 3; ++i) group[i] += run.moments[first + thread][i];
    result.sum_re += group[0];
    result.sum_im += group[1];
    result.sum_square += group[2];
  }
  return result;
}

template <class T>
void load_context(const LossInputs<T>& inputs, KernelContext<T>& context) {
  context.load_mask(inputs.mask);
  context.load_background(inputs.background);
  context.load_probe(inputs.probe);
  context.kind = inputs.kind;
  context.floor = static_cast<T>(inputs.floor);
  context.want_gradient = inputs.want_gradient;
  context.want_position = inputs.want_position && !inputs.moved_probe;
}

}  // namespace

template <class T>
LossResult fused_loss(const LossInputs<T>& inputs, int threads) {
  KernelContext<T> context(inputs.size, inputs.modes, inputs.moved_probe, inputs.transfer);
  load_context(inputs, context);
  LossRun<T> run{inputs, context, {}, std::vector<Moments>(inputs.groups * threads)};
  for (int thread = 0; thread < threads; ++thread)
    run.threads.emplace_back(context, inputs.rows, inputs.cols);
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    if (inputs.groups >= team) {
#pragma omp for schedule(static)
      for (std::int64_t group = 0; group < inputs.groups; ++group) do_group(run, group, thread, 1);
    } else {
      for (std::int64_t group = 0; group < inputs.groups; ++group) {
        const int members = is_single_patch(run, group) ? 1 : team;
        if (members > 1 || thread == 0) do_group(run, group, thread, members);
        wait_for(team);
      }
    }
  }
  if (inputs.want_gradient) store_probe_gradient(run);
  if (inputs.background_gradient) store_background_gradient(run);
  return result_of(run);
}

template LossResult fused_loss(const LossInputs<float>&, int);
template LossResult fused_loss(const LossInputs<double>&, int);

}  // namespace ptyche::cpu
