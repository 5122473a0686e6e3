// What the CUDA kernels of the fused loss read and write: plain pointers into device memory.
//
// Everything is in row-major order: images (row, col), the detector in FFT order. Patterns are
// visited by slot: sorted by group, so that a range of slots belongs to a range of canvases.
#pragma once

#include "ptyche/engine/cuda/portable.h"
#include "ptyche/physics/formulas.h"

namespace ptyche::cuda {

/// One pattern, where it lies on its canvas and how it sees it (cpu::PatchPosition, with its
/// numbers).
template <class T>
struct Slot {
  std::int64_t pattern = 0;  ///< row of counts
  std::int64_t patch = -1;   ///< row of patches, -1 = predicted only
  std::int64_t canvas = 0;
  std::int64_t row = 0, col = 0;         ///< pixel of the canvas under the patch's (0, 0)
  T row_fraction = 0, col_fraction = 0;  ///< bilinear: added to row, col
  double row_shift = 0, col_shift = 0;   ///< probe_fourier: the probe moves by it
};

/// Side of the square tiles of a canvas, pixels.
inline constexpr std::int64_t kTile = 32;

/// For every tile of every canvas the slots that touch it, ascending: a canvas pixel gathers from
/// them, in an order that is the same in every run, where a scatter would need atomic additions.
struct Tiles {
  std::int64_t down = 0, across = 0;    ///< tiles of one canvas
  const std::int64_t* first = nullptr;  ///< (canvases x down x across + 1) into `slots`
  const std::int32_t* slots = nullptr;
};

/// One call. Sizes as cpu::LossInputs; complex numbers are pairs.
template <class T>
struct Problem {
  std::int64_t size = 0, modes = 0, patterns = 0;
  std::int64_t canvases = 0, rows = 0, cols = 0;
  LossKind kind = LossKind::poisson;
  T floor = 0;                ///< counts added inside logarithm or root
  T dark_weight = 0;          ///< pixels whose weights sum to no more are 1
  T merge_floor = 0;          ///< added to the sum of the weights
  bool moved_probe = false;   ///< probe_fourier
  bool want_gradient = true;  ///< else the loss only
  bool merged = true;         ///< the canvases are merged from patches, else they are given

  const Complex<T>* probe = nullptr;    ///< (modes, N, N)
  const T* merge_weight = nullptr;      ///< (N, N), or (merged patterns, N, N) with
  std::int64_t weight_step = 0;         ///< N^2, else 0
  const T* counts = nullptr;            ///< (patterns, N, N)
  const bool* mask = nullptr;           ///< (N, N)
  const T* background = nullptr;        ///< (N, N) or nullptr
  const Complex<T>* patches = nullptr;  ///< (merged patterns, N, N)
  const Slot<T>* slots = nullptr;       ///< (patterns)
  Tiles tiles;

  Complex<T>* canvas = nullptr;           ///< (canvases, rows, cols): merged, or the object given
  Complex<T>* canvas_gradient = nullptr;  ///< the same; for a whole object its gradient
  T* inverse = nullptr;                   ///< the same, real: 1 over the sum of the weights

  double* loss = nullptr;               ///< (patterns)
  double* moments = nullptr;            ///< (canvases x rows, 3) sum of re, of im, of squares
  double* position_gradient = nullptr;  ///< (patterns, 4): row, col of the corner; of the shift
  Complex<T>* patch_gradient = nullptr;
  Complex<T>* probe_gradient = nullptr;
  T* background_gradient = nullptr;  ///< or nullptr
};

/// The slots first..first + count - 1, and the scratch for them.
template <class T>
struct Chunk {
  std::int64_t first = 0, count = 0;
  Complex<T>* wave = nullptr;   ///< (count, modes, N, N)
  Complex<T>* moved = nullptr;  ///< (count, modes, N, N) moved probe, for moved_probe
  Complex<T>* phase = nullptr;  ///< (count, 2, N) of the move, by row and by column
  Complex<T>* seen = nullptr;   ///< (count, N, N) of the canvas
  Complex<T>* back = nullptr;   ///< (count, N, N) gradient of `seen`
  T* slope = nullptr;           ///< (count, N, N) d loss / d intensity, where a background is
  double* parts = nullptr;      ///< (count, N, 2) sums by image row

  const Complex<T>* spectrum = nullptr;  ///< (modes, N, N) DFT of the probe / N^2, for moved_probe
};

}  // namespace ptyche::cuda
