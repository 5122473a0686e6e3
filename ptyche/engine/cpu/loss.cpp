#include "ptyche/engine/cpu/loss.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <deque>

#include "ptyche/engine/cpu/buffers.h"

namespace ptyche::cpu {
using Moments = std::array<double, 3>;  // sum re, sum im, sum of squares

/// One call with all that it owns.
template <class T>
struct LossRun {
  const LossInputs<T>& inputs;
  const Kernels<T>& kernels;
  const KernelContext<T>& context;
  std::deque<ThreadBuffers<T>> threads;
  std::vector<Moments> moments;  // per group

  ThreadBuffers<T>& buffers(int thread) { return threads[static_cast<std::size_t>(thread)]; }
  std::int64_t patch_numbers() const { return 2 * inputs.size * inputs.size; }
  T dark() const { return static_cast<T>(inputs.merge_floor > 0 ? -1 : inputs.dark_weight); }

  /// The merge weight (N, N) of a pattern with a patch.
  const T* weight_of(std::int64_t pattern, int thread) {
    if (inputs.merge_weight)
      return inputs.merge_weight + inputs.patch_of[pattern] * inputs.weight_step;
    return kernels.moved_weight(context, inputs.positions[pattern], buffers(thread));
  }
};

namespace {

/// The last rows have the row beneath the canvas, too.
template <class T>
void clear(const Canvas<T>& canvas, const RowRange& rows) {
  const std::int64_t last = rows.last + (rows.last == canvas.rows ? 1 : 0);
  for (T* plane : {canvas.re, canvas.im, canvas.weight})
    if (plane) std::fill(plane + rows.first * canvas.stride, plane + last * canvas.stride, T(0));
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

/// Patches -> their mean on the canvas of the group's first thread.
template <class T>
void merge_group(LossRun<T>& run, std::int64_t group, const ThreadGroup& members) {
  const LossInputs<T>& inputs = run.inputs;
  const std::int64_t begin = inputs.first_of_group[group], end = inputs.first_of_group[group + 1];
  const Canvas<T>& canvas = run.buffers(members.first).canvas;
  Moments& moments = run.moments[static_cast<std::size_t>(group)];
  if (is_single_patch(run, group)) {
    const std::int64_t pattern = inputs.pattern_of[begin];
    return run.kernels.single_patch_forward(
        run.context, inputs.positions[pattern],
        inputs.patches + inputs.patch_of[pattern] * run.patch_numbers(),
        run.weight_of(pattern, members.first), run.dark(), canvas, moments.data());
  }
  std::vector<Moments> parts(static_cast<std::size_t>(members.size));
  parallel_for(members, members.size, [&](std::int64_t member, int thread) {
    const RowRange rows = rows_of(member, members.size, canvas.rows);
    clear(canvas, rows);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t pattern = inputs.pattern_of[i], patch = inputs.patch_of[pattern];
      const PatchPosition& position = inputs.positions[pattern];
      if (patch >= 0 && position.row < rows.last && position.row + inputs.size >= rows.first)
        run.kernels.merge_patch(run.context, position, inputs.patches + patch * run.patch_numbers(),
                                run.weight_of(pattern, thread), canvas, rows.first, rows.last,
                                run.buffers(thread));
    }
    run.kernels.normalise(canvas, run.dark(), static_cast<T>(inputs.merge_floor), rows.first,
                          rows.last, parts[static_cast<std::size_t>(member)].data());
  });
  for (const Moments& part : parts)
    for (std::size_t i = 0; i < 3; ++i) moments[i] += part[i];
}

/// Loss of the group's patterns; their gradients on the threads' canvases, summed in the first's.
template <class T>
void predict_group(LossRun<T>& run, std::int64_t group, const ThreadGroup& members) {
  const LossInputs<T>& inputs = run.inputs;
  const std::int64_t first = inputs.first_of_group[group];
  const Canvas<T>& canvas = run.buffers(members.first).canvas;
  const Canvas<T>& sum = run.buffers(members.first).gradient;
  if (inputs.want_gradient)
    parallel_for(members, members.size, [&](std::int64_t, int thread) {
      clear(run.buffers(thread).gradient, {0, canvas.rows});
    });
  parallel_for(members, inputs.first_of_group[group + 1] - first, [&](std::int64_t i, int thread) {
    const std::int64_t pattern = inputs.pattern_of[first + i];
    ThreadBuffers<T>& own = run.buffers(thread);
    run.kernels.pattern_loss(
        run.context, inputs.positions[pattern], inputs.counts + pattern * inputs.size * inputs.size,
        canvas, own.gradient, own,
        inputs.position_gradient ? inputs.position_gradient + 4 * pattern : nullptr);
  });
  if (!inputs.want_gradient) return;
  parallel_for(members, members.size, [&](std::int64_t member, int) {
    const RowRange rows = rows_of(member, members.size, canvas.rows);
    for (int thread = members.first + 1; thread < members.first + members.size; ++thread) {
      const Canvas<T>& other = run.buffers(thread).gradient;
      for (std::int64_t i = rows.first * sum.stride; i < rows.last * sum.stride; ++i) {
        sum.re[i] += other.re[i];
        sum.im[i] += other.im[i];
      }
    }
  });
}

/// The adjoint of merge_group: gradient of the canvas -> of patches and positions.
template <class T>
void merge_group_backward(LossRun<T>& run, std::int64_t group, const ThreadGroup& members) {
  const LossInputs<T>& inputs = run.inputs;
  const ThreadBuffers<T>& leader = run.buffers(members.first);
  const std::int64_t first = inputs.first_of_group[group];
  if (is_single_patch(run, group)) {
    const std::int64_t pattern = inputs.pattern_of[first];
    return run.kernels.single_patch_backward(
        run.context, inputs.positions[pattern], run.weight_of(pattern, members.first), run.dark(),
        leader.gradient, inputs.patch_gradient + inputs.patch_of[pattern] * run.patch_numbers());
  }
  parallel_for(members, members.size, [&](std::int64_t member, int) {
    const RowRange rows = rows_of(member, members.size, leader.canvas.rows);
    run.kernels.normalise_backward(leader.canvas, leader.gradient, rows.first, rows.last);
  });
  Canvas<T> sums = leader.gradient;
  sums.weight = leader.canvas.weight;
  parallel_for(members, inputs.first_of_group[group + 1] - first, [&](std::int64_t i, int thread) {
    const std::int64_t pattern = inputs.pattern_of[first + i];
    const std::int64_t numbers = inputs.patch_of[pattern] * run.patch_numbers();
    if (numbers < 0) return;
    run.kernels.patch_gradient(run.context, inputs.positions[pattern], inputs.patches + numbers,
                               run.weight_of(pattern, thread), sums,
                               inputs.patch_gradient + numbers,
                               inputs.position_gradient + 4 * pattern);
  });
}

/// The object as it is given onto the first thread's canvas, and its gradient from there.
template <class T>
void load_object(LossRun<T>& run, const ThreadGroup& members) {
  Canvas<T> to = run.threads.front().canvas;
  to.weight = nullptr;  // an object that is given has none
  parallel_for(members, members.size, [&](std::int64_t member, int) {
    const RowRange rows = rows_of(member, members.size, to.rows);
    clear(to, rows);
    const T* from = run.inputs.object + 2 * rows.first * to.cols;
    for (std::int64_t r = rows.first; r < rows.last; ++r)
      for (std::int64_t c = 0; c < to.cols; ++c, from += 2) {
        to.re[r * to.stride + c] = from[0];
        to.im[r * to.stride + c] = from[1];
      }
  });
}

template <class T>
void store_object_gradient(LossRun<T>& run, const ThreadGroup& members) {
  const Canvas<T>& from = run.threads.front().gradient;
  parallel_for(members, members.size, [&](std::int64_t member, int) {
    const RowRange rows = rows_of(member, members.size, from.rows);
    T* to = run.inputs.object_gradient + 2 * rows.first * from.cols;
    for (std::int64_t r = rows.first; r < rows.last; ++r)
      for (std::int64_t c = 0; c < from.cols; ++c, to += 2) {
        to[0] = from.re[r * from.stride + c];
        to[1] = from.im[r * from.stride + c];
      }
  });
}

/// Adds all threads' planes to the first thread's.
template <class T>
void sum_threads(LossRun<T>& run, T* ThreadScratch<T>::*planes, std::int64_t numbers) {
  T* sum = run.threads.front().*planes;
  for (std::size_t t = 1; t < run.threads.size(); ++t) {
    const T* other = run.threads[t].*planes;
    for (std::int64_t i = 0; i < numbers; ++i) sum[i] += other[i];
  }
}

template <class T>
void store_probe_gradient(LossRun<T>& run) {
  const KernelContext<T>& context = run.context;
  const std::int64_t plane = context.size * context.stride;
  const ThreadScratch<T>& sum = run.threads.front();
  sum_threads(run, &ThreadScratch<T>::probe_gradient, 2 * context.modes * plane);
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    Planes<T> planes{sum.probe_gradient + 2 * mode * plane,
                     sum.probe_gradient + (2 * mode + 1) * plane};
    if (context.moved_probe) {
      const Planes<T> row_major{sum.waves, sum.waves + plane};
      run.kernels.ifft2_transposed(context.fft, context.stride, planes, row_major,
                                   1 / static_cast<T>(context.size * context.size));
      planes = row_major;
    }
    interleave(planes, context.size, run.kernels.strip,
               run.inputs.probe_gradient + mode * run.patch_numbers());
  }
}

template <class T>
void store_background_gradient(LossRun<T>& run) {
  const KernelContext<T>& context = run.context;
  sum_threads(run, &ThreadScratch<T>::background_gradient, context.size * context.stride);
  const T* sum = run.threads.front().background_gradient;
  T* to = run.inputs.background_gradient;
  for_detector(context, run.kernels.strip,
               [&](std::int64_t at, std::int64_t pixel) { to[pixel] = sum[at]; });
}

template <class T>
LossResult result_of(const LossRun<T>& run) {
  LossResult result;
  for (const ThreadBuffers<T>& thread : run.threads) result.loss += thread.loss;
  result.pixels = static_cast<double>(run.inputs.groups * run.inputs.rows * run.inputs.cols);
  for (const Moments& moments : run.moments) {
    result.sum_re += moments[0];
    result.sum_im += moments[1];
    result.sum_square += moments[2];
  }
  return result;
}

}  // namespace

template <class T>
LossResult fused_loss(const LossInputs<T>& inputs, int threads) {
  const Kernels<T>& chosen = kernels<T>();
  OwnedContext<T> context(inputs, chosen);
  context.kind = inputs.kind;
  context.floor = static_cast<T>(inputs.floor);
  context.want_gradient = inputs.want_gradient;
  context.want_position = inputs.want_position && !inputs.moved_probe;
  LossRun<T> run{.inputs = inputs,
                 .kernels = chosen,
                 .context = context,
                 .threads = {},
                 .moments = std::vector<Moments>(static_cast<std::size_t>(inputs.groups))};
  for (int thread = 0; thread < threads; ++thread)
    run.threads.emplace_back(context, inputs.rows, inputs.cols, chosen.strip);
  const ThreadGroup all{0, threads};
  const auto group_loss = [&](std::int64_t group, ThreadGroup members) {
    if (is_single_patch(run, group)) members.size = 1;
    inputs.object ? load_object(run, members) : merge_group(run, group, members);
    predict_group(run, group, members);
    if (!inputs.want_gradient) return;
    inputs.object ? store_object_gradient(run, members) : merge_group_backward(run, group, members);
  };
  if (inputs.groups >= threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t group = 0; group < inputs.groups; ++group)
      group_loss(group, {omp_get_thread_num(), 1});
  } else {
    for (std::int64_t group = 0; group < inputs.groups; ++group) group_loss(group, all);
  }
  if (inputs.want_gradient) store_probe_gradient(run);
  if (inputs.background_gradient) store_background_gradient(run);
  return result_of(run);
}

template LossResult fused_loss(const LossInputs<float>&, int);
template LossResult fused_loss(const LossInputs<double>&, int);

}  // namespace ptyche::cpu
