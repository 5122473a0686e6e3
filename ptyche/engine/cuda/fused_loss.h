// The fused loss as a sequence of kernels and transforms, chunk by chunk.
//
// Written over a machine, so that a test runs the same sequence on the CPU. A machine has
//   take<V>(n)                       n numbers of its memory, until the machine's next call
//   clear(p, n)                      n numbers of its memory to 0
//   upload(to, from, n), download    n numbers between host memory and its own
//   sweep(rows, columns, body, sums) body(row, column, its sums) for every one; the sums over the
//                                    columns of each row go to sums (rows, kSums)
//   transform(images, size, n, forward)  2D DFT of n images in place, exp(-i) or its adjoint,
//   not
//                                    normalised
// and does these things in the order of the calls.
#pragma once

#include <algorithm>

#include "ptyche/engine/cuda/merge_bodies.h"
#include "ptyche/engine/cuda/pattern_bodies.h"
#include "ptyche/engine/cuda/probe_bodies.h"

namespace ptyche::cuda {

/// Scratch for the patterns of one chunk, bytes; as many patterns as fit, at least one, are done
/// together. Beyond it: inputs, outputs, canvases, and what cuFFT needs.
inline constexpr std::int64_t kChunkBytes = std::int64_t{512} << 20;

/// Scratch of one pattern, bytes: O(modes N^2).
template <class T>
std::int64_t pattern_bytes(const Problem<T>& problem) {
  const std::int64_t images = problem.modes * (problem.moved_probe ? 2 : 1) + 2;
  const auto real = static_cast<std::int64_t>(sizeof(T));
  return problem.size * (problem.size * (2 * images + 1) * real + 16) + 4 * problem.size * real;
}

template <class T, class Machine>
struct Run {
  const Problem<T>& problem;
  Machine& machine;
  Chunk<T> chunk;
  std::int64_t chunk_size = 0;
  Complex<T>* probe_slices = nullptr;
  T* background_slices = nullptr;

  std::int64_t image() const { return problem.size * problem.size; }
  std::int64_t lines() const { return chunk.count * problem.size; }
  void transform(Complex<T>* waves, bool forward) {
    machine.transform(waves, problem.size, chunk.count * problem.modes, forward);
  }
};

template <class T, class Machine>
void take_scratch(Run<T, Machine>& run) {
  const Problem<T>& problem = run.problem;
  Machine& machine = run.machine;
  const std::int64_t count = run.chunk_size, images = count * run.image();
  Chunk<T>& chunk = run.chunk;
  chunk.wave = machine.template take<Complex<T>>(images * problem.modes);
  chunk.seen = machine.template take<Complex<T>>(images);
  chunk.parts = machine.template take<double>(2 * count * problem.size);
  if (problem.moved_probe) {
    chunk.moved = machine.template take<Complex<T>>(images * problem.modes);
    chunk.phase = machine.template take<Complex<T>>(2 * count * problem.size);
  }
  if (!problem.want_gradient) return;
  chunk.back = machine.template take<Complex<T>>(images);
  run.probe_slices = machine.template take<Complex<T>>(kSlices * problem.modes * run.image());
  if (!problem.background_gradient) return;
  chunk.slope = machine.template take<T>(images);
  run.background_slices = machine.template take<T>(kSlices * run.image());
}

/// DFT of the probe / N^2, from which every pattern's moved probe is made.
template <class T, class Machine>
const Complex<T>* probe_spectrum(const Problem<T>& problem, Machine& machine) {
  const std::int64_t size = problem.size, image = size * size;
  auto* spectrum = machine.template take<Complex<T>>(problem.modes * image);
  machine.sweep(problem.modes * size, size,
                ScaleBody<T>{problem.probe, spectrum, size, 1 / static_cast<T>(image)});
  machine.transform(spectrum, size, problem.modes, true);
  return spectrum;
}

template <class T, class Machine>
void clear_outputs(const Problem<T>& problem, Machine& machine) {
  machine.clear(problem.loss, problem.patterns);
  if (!problem.want_gradient) return;
  const std::int64_t image = problem.size * problem.size;
  machine.clear(problem.position_gradient, 4 * problem.patterns);
  machine.clear(problem.probe_gradient, problem.modes * image);
  machine.clear(problem.canvas_gradient, problem.canvases * problem.rows * problem.cols);
  if (problem.background_gradient) machine.clear(problem.background_gradient, image);
}

/// Sums by image row, `columns` a pattern -> numbers `first`.. of `stride` numbers per pattern.
template <class T, class Machine>
void collect(Run<T, Machine>& run, std::int64_t columns, double scale, double* to,
             std::int64_t stride) {
  run.machine.sweep(run.chunk.count, columns,
                    CollectBody<T>{run.problem, run.chunk, columns, scale, to, stride});
}

/// Canvases -> loss of every pattern; the waves hold what goes back.
template <class T, class Machine>
void forward_exit_waves(Run<T, Machine>& run) {
  const Problem<T>& problem = run.problem;
  if (problem.moved_probe) {
    run.machine.sweep(2 * run.chunk.count, problem.size, PhaseBody<T>{problem, run.chunk});
    run.machine.sweep(run.lines() * problem.modes, problem.size, MoveBody<T>{problem, run.chunk});
    run.transform(run.chunk.moved, false);
  }
  run.machine.sweep(run.lines(), problem.size, ExitWaveBody<T>{problem, run.chunk});
  run.transform(run.chunk.wave, true);
  run.machine.sweep(run.lines(), problem.size, DetectBody<T>{problem, run.chunk}, run.chunk.parts);
  collect(run, 1, 1.0, problem.loss, 1);
}

/// Gradients of probe (of its spectrum, where it is moved) and background.
template <class T, class Machine>
void add_shared_gradients(Run<T, Machine>& run) {
  const Problem<T>& problem = run.problem;
  const std::int64_t size = problem.size, lines = problem.modes * size;
  run.machine.sweep(kSlices * lines, size, ProbeSliceBody<T>{problem, run.chunk, run.probe_slices});
  run.machine.sweep(
      lines, size,
      AddSlicesBody<Complex<T>>{run.probe_slices, problem.probe_gradient, lines, size});
  if (!problem.background_gradient) return;
  run.machine.sweep(kSlices * size, size,
                    BackgroundSliceBody<T>{problem, run.chunk, run.background_slices});
  run.machine.sweep(
      size, size, AddSlicesBody<T>{run.background_slices, problem.background_gradient, size, size});
}

/// What the waves hold -> gradients of canvases, positions, probe and background. The slots'
/// canvases are first_canvas..last_canvas.
template <class T, class Machine>
void backward_exit_waves(Run<T, Machine>& run, std::int64_t first_canvas,
                         std::int64_t last_canvas) {
  const Problem<T>& problem = run.problem;
  run.transform(run.chunk.wave, false);
  run.machine.sweep(run.lines(), problem.size, ExitWaveBackwardBody<T>{problem, run.chunk});
  if (problem.moved_probe) {
    run.transform(run.chunk.wave, true);
    run.machine.sweep(run.lines(), problem.size, ShiftSlopeBody<T>{problem, run.chunk},
                      run.chunk.parts);
    collect(run, 2, 6.283185307179586477, problem.position_gradient + 2, 4);
  } else {
    run.machine.sweep(run.lines(), problem.size, PlaceSlopeBody<T>{problem, run.chunk},
                      run.chunk.parts);
    collect(run, 2, 1.0, problem.position_gradient, 4);
  }
  add_shared_gradients(run);
  run.machine.sweep((last_canvas - first_canvas + 1) * problem.rows, problem.cols,
                    ScatterBody<T>{problem, run.chunk, first_canvas * problem.rows});
}

/// Gradients of the patches that were merged, from that of the canvases.
template <class T, class Machine>
void merge_backward(Run<T, Machine>& run) {
  const Problem<T>& problem = run.problem;
  run.machine.sweep(problem.canvases * problem.rows, problem.cols,
                    NormaliseBackwardBody<T>{problem});
  for (std::int64_t first = 0; first < problem.patterns; first += run.chunk_size) {
    run.chunk.first = first;
    run.chunk.count = std::min(run.chunk_size, problem.patterns - first);
    run.machine.sweep(run.lines(), problem.size, PatchGradientBody<T>{problem, run.chunk},
                      run.chunk.parts);
    collect(run, 2, 1.0, problem.position_gradient, 4);
  }
}

/// Loss, moments and gradients of a problem whose pointers lie in the machine's memory.
///   canvas_of    (patterns) on the host: the canvas of each slot
///   chunk_bytes  see kChunkBytes
template <class T, class Machine>
void fused_loss(const Problem<T>& problem, Machine& machine, const std::int64_t* canvas_of,
                std::int64_t chunk_bytes = kChunkBytes) {
  Run<T, Machine> run{problem, machine, {}, 0, nullptr, nullptr};
  run.chunk_size = std::clamp<std::int64_t>(chunk_bytes / pattern_bytes(problem), 1,
                                            std::max<std::int64_t>(problem.patterns, 1));
  take_scratch(run);
  clear_outputs(problem, machine);
  if (problem.moved_probe) run.chunk.spectrum = probe_spectrum(problem, machine);
  if (problem.merged)
    machine.sweep(problem.canvases * problem.rows, problem.cols, MergeBody<T>{problem},
                  problem.moments);
  for (std::int64_t first = 0; first < problem.patterns; first += run.chunk_size) {
    run.chunk.first = first;
    run.chunk.count = std::min(run.chunk_size, problem.patterns - first);
    forward_exit_waves(run);
    if (problem.want_gradient)
      backward_exit_waves(run, canvas_of[first], canvas_of[first + run.chunk.count - 1]);
  }
  if (!problem.want_gradient) return;
  if (problem.merged) merge_backward(run);
  if (!problem.moved_probe) return;
  machine.transform(problem.probe_gradient, problem.size, problem.modes, false);
  machine.sweep(problem.modes * problem.size, problem.size,
                ScaleBody<T>{problem.probe_gradient, problem.probe_gradient, problem.size,
                             1 / static_cast<T>(problem.size * problem.size)});
}

}  // namespace ptyche::cuda
