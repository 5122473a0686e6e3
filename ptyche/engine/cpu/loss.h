// The fused loss on the CPU, what patterns are expected, and how they ask for tilts: kernels put
// together, threads, memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu {

/// Inputs of the loss, and where its gradients go: plain pointers; complex numbers are interleaved
/// pairs. FFT order at the detector.
template <class T>
struct LossInputs {
  std::int64_t size = 0, modes = 0, patterns = 0;
  std::int64_t groups = 0;          ///< canvases; one for a whole object
  std::int64_t rows = 0, cols = 0;  ///< of each canvas
  bool moved_probe = false;         ///< probe_fourier
  LossKind kind = LossKind::poisson;
  double floor = 0;
  double merge_floor = 0, dark_weight = 0;  ///< as MergeOptions; weights at or below it are dark
  bool want_gradient = true;
  bool want_position = true;  ///< by corner; false where the corners are constants

  const T* probe = nullptr;              ///< (modes, N, N, 2)
  const bool* mask = nullptr;            ///< (N, N)
  const T* background = nullptr;         ///< (N, N) or nullptr
  const T* transfer = nullptr;           ///< as KernelContext's
  const T* merge_weight = nullptr;       ///< (N, N); nullptr: of the moved probe, made when wanted
  const T* counts = nullptr;             ///< (patterns, N, N)
  const T* patches = nullptr;            ///< (merged, N, N, 2); nullptr for a whole object
  const T* object = nullptr;             ///< (rows, cols, 2); nullptr where patches are merged
  std::vector<PatchPosition> positions;  ///< (patterns)
  std::vector<std::int64_t> pattern_of, first_of_group;  ///< patterns sorted by group; (groups + 1)
  std::vector<std::int64_t> patch_of;                    ///< (patterns) row of `patches`, or -1

  T* patch_gradient = nullptr;           ///< (merged, N, N, 2)
  T* object_gradient = nullptr;          ///< (rows, cols, 2)
  T* probe_gradient = nullptr;           ///< (modes, N, N, 2)
  T* background_gradient = nullptr;      ///< (N, N)
  double* intensity_gradient = nullptr;  ///< (patterns) by PatchPosition::intensity
  double* position_gradient = nullptr;   ///< (patterns, 4): row, col of the corner; of the shift
};

struct LossResult {
  double loss = 0;
  /// Over all canvas pixels: number, sum of the value (re, im), sum of its square.
  double pixels = 0, sum_re = 0, sum_im = 0, sum_square = 0;
};

/// Threads: over groups where there are enough, else over the patterns of each group. The same
/// thread count gives the same numbers bit for bit. Memory beyond inputs and outputs:
/// O(threads x (canvas + modes N^2)).
template <class T>
LossResult fused_loss(const LossInputs<T>& inputs, int threads);

/// The counts that a whole object foretells, (patterns, N, N) in FFT order; neither counts nor mask
/// of the inputs are looked at. No number depends on the threads.
template <class T>
void fused_intensity(const LossInputs<T>& inputs, int threads, T* to);

/// exit_tilts (engine/tilts.h) of a whole object in the far field: `light` (patterns, N, N), `sums`
/// (patterns, 4) as Kernels::pattern_tilt. No number depends on the threads.
template <class T>
void fused_tilts(const LossInputs<T>& inputs, int threads, double least, T* light, double* sums);

}  // namespace ptyche::cpu
