// What the kernels of the fused loss read and write: plain pointers, shared by all instruction
// sets.
//
// Images inside are pairs of planes (re, im). A plane is N rows of `stride` columns (N rounded up
// to whole strips, the rest is 0) and mostly striped: cut into strips of kStrip columns, each strip
// contiguous, row after row, so that what an FFT down the columns touches lies together. Two
// orders of rows and columns occur:
//   natural  (row, col), real space
//   turned   (p, q_row), Fourier space as the second pass of the FFT leaves it: columns first, row
//   p
//            holds frequency order[p] of the columns
// What lies at the detector (its pixels in FFT order) is turned, in the near field natural.
#pragma once

#include "ptyche/engine/cpu/fft_tables.h"
#include "ptyche/physics/formulas.h"

namespace ptyche::cpu {

template <class T>
struct Planes {
  T *re = nullptr, *im = nullptr;
};

/// An object that patterns see: rows x cols, row r begins at r * stride.
template <class T>
struct Canvas {
  T *re = nullptr, *im = nullptr;
  T* weight = nullptr;  ///< sum of the merge weights, later 1 over it
  std::int64_t rows = 0, cols = 0, stride = 0;
};

/// Where one pattern lies on its canvas and how it sees it.
struct Place {
  std::int64_t row = 0, col = 0;              ///< pixel of the canvas under the patch's (0, 0)
  double row_fraction = 0, col_fraction = 0;  ///< bilinear: added to row, col; 0 <= f < 1
  double row_shift = 0, col_shift = 0;        ///< probe_fourier: the probe moves by it
};

/// Zeros at both ends of the rows of a framed plane (a natural plane that is not striped: row r
/// begins at r * frame, rows -1 and N are zero); spare numbers at the end of a canvas's rows.
inline constexpr std::int64_t kFrame = 16;

/// What is the same for every pattern of a call.
template <class T>
struct LossTask {
  FftTables<T> fft;
  std::int64_t size = 0, stride = 0, frame = 0, modes = 0;
  LossKind kind = LossKind::poisson;
  T floor = 0;                          ///< counts added inside logarithm or root
  bool moved_probe = false;             ///< probe_fourier
  bool want_gradient = true;            ///< else the loss only
  bool want_place = true;               ///< by corner too, where patches lie between pixels
  const Planes<T>* probe = nullptr;     ///< (modes) natural, unless moved_probe
  const Planes<T>* spectrum = nullptr;  ///< (modes) turned DFT of the probe / N^2, for moved_probe
  const T* frequencies = nullptr;       ///< (stride) cycles per pixel of FFT order, for moved_probe
  const T* mask = nullptr;              ///< at the detector, 0 or 1
  const T* background = nullptr;        ///< at the detector, counts
  Planes<T> transfer;  ///< near field: turned transfer function / N; none in the far field
};

/// A row of a weighted patch, zeros before and after.
template <class T>
struct MergeRow {
  T *re = nullptr, *im = nullptr, *weight = nullptr;
};

/// What one thread owns: scratch of O(modes N^2), and sums over the patterns it has done.
template <class T>
struct ThreadState {
  Planes<T> strip;
  T* waves = nullptr;     ///< (modes, 2) planes
  T* moved = nullptr;     ///< (modes, 2) planes, for moved_probe
  T* seen = nullptr;      ///< (modes, 2) planes at the detector, for the near field
  T* spectrum = nullptr;  ///< (modes, 2) planes turned, for the near field's slope by a shift
  Planes<T> patch;
  MergeRow<T> merge_row[2];          ///< of the patch that is being merged
  T* weight = nullptr;               ///< (N, N), of a moved probe
  T* carry = nullptr;                ///< vectors between strips, landing.h
  T* counts = nullptr;               ///< at the detector: of a strip, or of all pixels
  T* phases = nullptr;               ///< (4, stride) cos and sin by row and by column
  T* probe_gradient = nullptr;       ///< (modes, 2) planes natural, or turned for moved_probe
  T* background_gradient = nullptr;  ///< at the detector
  double loss = 0;
};

template <class T>
struct Share;
template <class T>
struct PieStep;
template <class T>
struct Reflection;
template <class T>
struct ObjectStep;
template <class T>
struct ProbeSums;

/// The kernels of one instruction set.
template <class T>
struct Kernels {
  const char* name = nullptr;
  int strip = 0;  ///< columns of a strip

  /// DFT of natural planes times `scale` -> turned planes; `from` is destroyed.
  void (*to_turned)(const FftTables<T>&, std::int64_t stride, Planes<T> from, Planes<T> to,
                    T scale) = nullptr;
  /// The adjoint of to_turned: turned -> natural.
  void (*to_natural)(const FftTables<T>&, std::int64_t stride, Planes<T> from, Planes<T> to,
                     T scale) = nullptr;

  /// Loss and gradients of one pattern: adds to `state` (loss, probe, background) and to
  /// `gradient` (the canvas), writes the gradient of row, col [0..1] or of the shift [2..3].
  void (*pattern)(const LossTask<T>&, const Place&, const T* counts, const Canvas<T>& canvas,
                  const Canvas<T>& gradient, ThreadState<T>&, double* place_gradient) = nullptr;

  /// The merge weight (N, N) of a patch under the probe moved to its place; the thread's until the
  /// next call.
  const T* (*moved_weight)(const LossTask<T>&, const Place&, ThreadState<T>&) = nullptr;
  /// Adds a patch (N, N) interleaved complex times its weight (N, N), and the weight, to canvas
  /// rows first..last - 1.
  void (*merge_patch)(const LossTask<T>&, const Place&, const T* patch, const T* weight,
                      const Canvas<T>& canvas, std::int64_t first, std::int64_t last,
                      const ThreadState<T>&) = nullptr;
  /// Rows first..last - 1 of a canvas from sums to means: pixels with a weight above `dark` are
  /// divided by weight + floor, the others 1. Adds sum re, im and squares to moments[0..2].
  void (*divide)(const Canvas<T>&, T dark, T floor, std::int64_t first, std::int64_t last,
                 double* moments) = nullptr;
  /// Gradient of means -> gradient of sums; the canvas's `weight` becomes that of the weights.
  void (*undivide)(const Canvas<T>& canvas, const Canvas<T>& gradient, std::int64_t first,
                   std::int64_t last) = nullptr;
  /// Gradient of a patch (N, N) interleaved, and what the merge adds to the gradient of its place,
  /// from a canvas that holds d loss / d sum in re, im and the part of the weights in `weight`.
  void (*patch_gradient)(const LossTask<T>&, const Place&, const T* patch, const T* weight,
                         const Canvas<T>& canvas, T* gradient, double* place_gradient) = nullptr;

  /// What merge_patch and divide make, under a patch that is alone on its canvas at a whole pixel.
  void (*place_alone)(const LossTask<T>&, const Place&, const T* patch, const T* weight, T dark,
                      const Canvas<T>& canvas, double* moments) = nullptr;
  /// What undivide and patch_gradient make of its gradient.
  void (*take_alone)(const LossTask<T>&, const Place&, const T* weight, T dark,
                     const Canvas<T>& gradient, T* patch_gradient) = nullptr;

  // The projection solvers (projection_task.h). `amplitudes` is a plane at the detector.

  /// Counts (N, N) in FFT order -> their square roots, at the detector.
  void (*take_amplitudes)(const LossTask<T>&, const T* counts, T* to) = nullptr;
  /// ePIE and rPIE: the share of one pattern.
  void (*pie)(const LossTask<T>&, const Place&, const T* amplitudes, const Canvas<T>& object,
              const PieStep<T>&, ThreadState<T>&, Share<T>&) = nullptr;
  /// Difference map and relatives: the kept waves (modes, 2) natural planes of one pattern to the
  /// next pass, and its share, of the object only.
  void (*reflect)(const LossTask<T>&, const Place&, const T* amplitudes, const Canvas<T>& object,
                  const Reflection<T>&, T* waves, ThreadState<T>&, Share<T>&) = nullptr;
  /// Adds what the kept waves of one pattern ask of the probe.
  void (*sum_probe)(const LossTask<T>&, const Place&, const Canvas<T>& object, T* waves,
                    ThreadState<T>&, const ProbeSums<T>&) = nullptr;
  /// Adds a share to rows first..last - 1 of the canvas of sums.
  void (*add_share)(const LossTask<T>&, const Place&, const Share<T>&, const Canvas<T>& sums,
                    std::int64_t first, std::int64_t last) = nullptr;
  /// Moves object rows first..last - 1, columns col.. by the sums, which become 0.
  void (*step_object)(const Canvas<T>& object, const Canvas<T>& sums, const ObjectStep<T>&,
                      std::int64_t first, std::int64_t last, std::int64_t col,
                      std::int64_t count) = nullptr;
  /// to[i] += factor from[i], whole vectors.
  void (*add_scaled)(T* to, const T* from, T factor, std::int64_t count) = nullptr;

  /// Object steps of one pattern on state.patch: `factor` is a natural plane, what is added for
  /// every unit of conj(probe) x change.
  void (*step_alone)(const LossTask<T>&, const T* amplitudes, const T* factor, std::int64_t times,
                     ThreadState<T>&) = nullptr;
};

/// The widest instruction set that this CPU has; PTYCHE_ISA=plain|avx2|avx512 chooses a narrower
/// one (for tests).
template <class T>
const Kernels<T>& kernels();

extern template const Kernels<float>& kernels();
extern template const Kernels<double>& kernels();

}  // namespace ptyche::cpu
