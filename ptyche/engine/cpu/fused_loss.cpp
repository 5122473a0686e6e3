#include "ptyche/engine/cpu/fused_loss.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <deque>

#include "ptyche/engine/cpu/loss_memory.h"
#include "ptyche/engine/cpu/team.h"

namespace ptyche::cpu {
namespace {

template <class T>
struct Run {
  const LossCall<T>& call;
  const Kernels<T>& kernels;
  const LossTask<T>& task;
  std::deque<ThreadMemory<T>> threads;
  std::vector<std::array<double, 3>> moments;  // per group: sum re, sum im, sum of squares

  std::int64_t patch_pixels() const { return 2 * call.size * call.size; }
  T dark() const { return static_cast<T>(call.merge_floor > 0 ? -1 : call.dark_weight); }

  /// The merge weight (N, N) of a pattern with a patch.
  const T* weight_of(std::int64_t pattern, int thread) {
    if (call.merge_weight) return call.merge_weight + call.patch_of[pattern] * call.weight_step;
    return kernels.moved_weight(task, call.places[pattern],
                                threads[static_cast<std::size_t>(thread)].state);
  }
};

/// The last band has the row beneath the canvas, too.
template <class T>
void clear(const Canvas<T>& canvas, const Band& band) {
  const std::int64_t last = band.last + (band.last == canvas.rows ? 1 : 0);
  for (T* plane : {canvas.re, canvas.im, canvas.weight})
    if (plane) std::fill(plane + band.first * canvas.stride, plane + last * canvas.stride, T(0));
}

template <class T>
void merge_group(Run<T>& run, std::int64_t group, const Team& team) {
  const Canvas<T>& canvas = run.threads[static_cast<std::size_t>(team.first)].canvas;
  std::vector<std::array<double, 3>> parts(static_cast<std::size_t>(team.size));
  share(team, team.size, [&](std::int64_t member, int thread) {
    const Band band = band_of(member, team.size, canvas.rows);
    clear(canvas, band);
    for (std::int64_t i = run.call.first_of_group[group]; i < run.call.first_of_group[group + 1];
         ++i) {
      const std::int64_t pattern = run.call.pattern_of[i], patch = run.call.patch_of[pattern];
      const std::int64_t row = run.call.places[pattern].row;
      if (patch >= 0 && row < band.last && row + run.call.size >= band.first)
        run.kernels.merge_patch(run.task, run.call.places[pattern],
                                run.call.patches + patch * run.patch_pixels(),
                                run.weight_of(pattern, thread), canvas, band.first, band.last,
                                run.threads[static_cast<std::size_t>(thread)].state);
    }
    run.kernels.divide(canvas, run.dark(), static_cast<T>(run.call.merge_floor), band.first,
                       band.last, parts[static_cast<std::size_t>(member)].data());
  });
  for (const auto& part : parts)
    for (std::size_t i = 0; i < 3; ++i) run.moments[static_cast<std::size_t>(group)][i] += part[i];
}

/// Loss of the group's patterns; their gradients on the threads' canvases, summed in the first's.
template <class T>
void predict_group(Run<T>& run, std::int64_t group, const Team& team) {
  const Canvas<T>& canvas = run.threads[static_cast<std::size_t>(team.first)].canvas;
  const std::int64_t first = run.call.first_of_group[group];
  const Canvas<T>& sum = run.threads[static_cast<std::size_t>(team.first)].gradient;
  if (run.call.want_gradient)
    share(team, team.size, [&](std::int64_t, int thread) {
      clear(run.threads[static_cast<std::size_t>(thread)].gradient, {0, canvas.rows});
    });
  share(team, run.call.first_of_group[group + 1] - first, [&](std::int64_t i, int thread) {
    const std::int64_t pattern = run.call.pattern_of[first + i];
    ThreadMemory<T>& own = run.threads[static_cast<std::size_t>(thread)];
    run.kernels.pattern(run.task, run.call.places[pattern],
                        run.call.counts + pattern * run.call.size * run.call.size, canvas,
                        own.gradient, own.state,
                        run.call.place_gradient ? run.call.place_gradient + 4 * pattern : nullptr);
  });
  if (!run.call.want_gradient) return;
  share(team, team.size, [&](std::int64_t member, int) {
    const Band band = band_of(member, team.size, canvas.rows);
    for (int thread = team.first + 1; thread < team.first + team.size; ++thread) {
      const Canvas<T>& other = run.threads[static_cast<std::size_t>(thread)].gradient;
      for (std::int64_t i = band.first * sum.stride; i < band.last * sum.stride; ++i) {
        sum.re[i] += other.re[i];
        sum.im[i] += other.im[i];
      }
    }
  });
}

template <class T>
void unmerge_group(Run<T>& run, std::int64_t group, const Team& team) {
  const ThreadMemory<T>& chief = run.threads[static_cast<std::size_t>(team.first)];
  const std::int64_t first = run.call.first_of_group[group];
  share(team, team.size, [&](std::int64_t member, int) {
    const Band band = band_of(member, team.size, chief.canvas.rows);
    run.kernels.undivide(chief.canvas, chief.gradient, band.first, band.last);
  });
  Canvas<T> sums = chief.gradient;
  sums.weight = chief.canvas.weight;
  share(team, run.call.first_of_group[group + 1] - first, [&](std::int64_t i, int thread) {
    const std::int64_t pattern = run.call.pattern_of[first + i], patch = run.call.patch_of[pattern];
    if (patch < 0) return;
    run.kernels.patch_gradient(
        run.task, run.call.places[pattern], run.call.patches + patch * run.patch_pixels(),
        run.weight_of(pattern, thread), sums, run.call.patch_gradient + patch * run.patch_pixels(),
        run.call.place_gradient + 4 * pattern);
  });
}

/// The merge of one patch at a whole pixel is that patch where the probe lights it.
template <class T>
bool is_alone(const Run<T>& run, std::int64_t group) {
  const std::int64_t first = run.call.first_of_group[group];
  if (run.call.first_of_group[group + 1] != first + 1) return false;
  const std::int64_t pattern = run.call.pattern_of[first];
  const Place& place = run.call.places[pattern];
  return run.call.patch_of[pattern] >= 0 && run.call.merge_floor == 0 && !run.task.want_place &&
         place.row_fraction == 0 && place.col_fraction == 0;
}

template <class T>
void do_alone(Run<T>& run, std::int64_t group, int thread) {
  const ThreadMemory<T>& own = run.threads[static_cast<std::size_t>(thread)];
  const std::int64_t pattern = run.call.pattern_of[run.call.first_of_group[group]];
  const std::int64_t numbers = run.call.patch_of[pattern] * run.patch_pixels();
  const Place& place = run.call.places[pattern];
  const T* weight = run.weight_of(pattern, thread);
  run.kernels.place_alone(run.task, place, run.call.patches + numbers, weight, run.dark(),
                          own.canvas, run.moments[static_cast<std::size_t>(group)].data());
  predict_group(run, group, {thread, 1});
  if (run.call.want_gradient)
    run.kernels.take_alone(run.task, place, weight, run.dark(), own.gradient,
                           run.call.patch_gradient + numbers);
}

template <class T>
void do_group(Run<T>& run, std::int64_t group, const Team& team) {
  if (is_alone(run, group)) return do_alone(run, group, team.first);
  merge_group(run, group, team);
  predict_group(run, group, team);
  if (run.call.want_gradient) unmerge_group(run, group, team);
}

template <class T>
void take_rows(const T* object, const Canvas<T>& to, const Band& band) {
  clear(to, band);
  for (std::int64_t r = band.first; r < band.last; ++r)
    for (std::int64_t c = 0; c < to.cols; ++c) {
      to.re[r * to.stride + c] = object[2 * (r * to.cols + c)];
      to.im[r * to.stride + c] = object[2 * (r * to.cols + c) + 1];
    }
}

template <class T>
void give_rows(const Canvas<T>& from, T* object, const Band& band) {
  for (std::int64_t r = band.first; r < band.last; ++r)
    for (std::int64_t c = 0; c < from.cols; ++c) {
      object[2 * (r * from.cols + c)] = from.re[r * from.stride + c];
      object[2 * (r * from.cols + c) + 1] = from.im[r * from.stride + c];
    }
}

template <class T>
void do_object(Run<T>& run, const Team& team) {
  const ThreadMemory<T>& chief = run.threads[0];
  Canvas<T> canvas = chief.canvas;
  canvas.weight = nullptr;  // an object that is given has none
  share(team, team.size, [&](std::int64_t member, int) {
    take_rows(run.call.object, canvas, band_of(member, team.size, canvas.rows));
  });
  predict_group(run, 0, team);
  if (!run.call.want_gradient) return;
  share(team, team.size, [&](std::int64_t member, int) {
    give_rows(chief.gradient, run.call.object_gradient, band_of(member, team.size, canvas.rows));
  });
}

/// Striped planes -> (N, N) interleaved.
template <class T>
void put_together(Planes<T> planes, std::int64_t size, int strip, T* to) {
  for_striped(size, strip, [&](std::int64_t at, std::int64_t row, std::int64_t col) {
    to[2 * (row * size + col)] = planes.re[at];
    to[2 * (row * size + col) + 1] = planes.im[at];
  });
}

/// Adds all threads' planes to the first thread's.
template <class T>
void sum_threads(Run<T>& run, T* ThreadState<T>::*planes, std::int64_t numbers) {
  T* sum = run.threads.front().state.*planes;
  for (std::size_t t = 1; t < run.threads.size(); ++t) {
    const T* other = run.threads[t].state.*planes;
    for (std::int64_t i = 0; i < numbers; ++i) sum[i] += other[i];
  }
}

template <class T>
void collect_probe_gradient(Run<T>& run) {
  const LossTask<T>& task = run.task;
  const std::int64_t plane = task.size * task.stride;
  const ThreadState<T>& sum = run.threads.front().state;
  sum_threads(run, &ThreadState<T>::probe_gradient, 2 * task.modes * plane);
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    Planes<T> planes{sum.probe_gradient + 2 * mode * plane,
                     sum.probe_gradient + (2 * mode + 1) * plane};
    if (task.moved_probe) {
      const Planes<T> natural{sum.waves, sum.waves + plane};
      run.kernels.to_natural(task.fft, task.stride, planes, natural,
                             1 / static_cast<T>(task.size * task.size));
      planes = natural;
    }
    put_together(planes, task.size, run.kernels.strip,
                 run.call.probe_gradient + mode * run.patch_pixels());
  }
}

template <class T>
void collect_background_gradient(Run<T>& run) {
  const LossTask<T>& task = run.task;
  sum_threads(run, &ThreadState<T>::background_gradient, task.size * task.stride);
  const T* sum = run.threads.front().state.background_gradient;
  T* to = run.call.background_gradient;
  for_detector(task, run.kernels.strip,
               [&](std::int64_t at, std::int64_t pixel) { to[pixel] = sum[at]; });
}

template <class T>
void do_all(Run<T>& run) {
  const auto threads = static_cast<int>(run.threads.size());
  if (run.call.object) {
    do_object(run, {0, threads});
  } else if (run.call.groups >= threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t group = 0; group < run.call.groups; ++group)
      do_group(run, group, {omp_get_thread_num(), 1});
  } else {
    for (std::int64_t group = 0; group < run.call.groups; ++group)
      do_group(run, group, {0, threads});
  }
}

}  // namespace

template <class T>
LossResult fused_loss(const LossCall<T>& call, int threads) {
  const Kernels<T>& chosen = kernels<T>();
  const SharedTables<T> tables(call, chosen);
  Run<T> run{.call = call,
             .kernels = chosen,
             .task = tables.task,
             .threads = {},
             .moments = std::vector<std::array<double, 3>>(static_cast<std::size_t>(call.groups))};
  for (int thread = 0; thread < threads; ++thread)
    run.threads.emplace_back(run.task, call, chosen.strip);
  do_all(run);
  LossResult result;
  for (const ThreadMemory<T>& thread : run.threads) result.loss += thread.state.loss;
  result.pixels = static_cast<double>(call.groups * call.rows * call.cols);
  for (const auto& moments : run.moments) {
    result.sum_re += moments[0];
    result.sum_im += moments[1];
    result.sum_square += moments[2];
  }
  if (call.want_gradient) collect_probe_gradient(run);
  if (call.background_gradient) collect_background_gradient(run);
  return result;
}

template LossResult fused_loss(const LossCall<float>&, int);
template LossResult fused_loss(const LossCall<double>&, int);

}  // namespace ptyche::cpu
