// What the kernels read and write, plain pointers shared by all instruction sets, and the table of
// the kernels themselves. Kernels (the headers that live in a namespace PTYCHE_ISA) see no
// container and no inline function of the standard library: the linker could keep the copy with the
// wrong instructions.
//
// Images inside are pairs of planes (re, im). A plane is N rows of `stride` columns (N rounded up
// to whole strips, the rest is 0) and mostly striped: cut into strips of kStrip columns, each strip
// contiguous, row after row, so that what an FFT down the columns touches lies together. Two
// orders of rows and columns occur:
// clang-format off
//   row-major   (row, col), real space
//   transposed  (p, q_row), Fourier space as the second pass of the FFT leaves it: columns first,
//               row p holds frequency order[p] of the columns
// clang-format on
// What lies at the detector (its pixels in FFT order) is transposed, in the near field row-major.
#pragma once

#include <cstdint>

#include "ptyche/physics/formulas.h"

namespace ptyche::cpu {

/// Prime factors of N above this are refused; every even N up to 1024 is below it.
inline constexpr std::int64_t kLargestRadix = 509;
/// A prime factor costs its own length per point; above this LibTorch's transforms are cheaper.
inline constexpr std::int64_t kLargestCheapRadix = 61;

template <class T>
struct FftStage {
  std::int64_t radix = 0;
  const T* twiddles = nullptr;  ///< (length / radix, radix - 1) pairs cos, -sin
  const T* roots = nullptr;     ///< (radix) pairs cos, -sin
};

template <class T>
struct FftTables {
  std::int64_t size = 0;
  int stages = 0;
  FftStage<T> stage[24];
  const std::int64_t* order = nullptr;     ///< (size) frequency at row p after forward_fft
  const std::int64_t* position = nullptr;  ///< (size) row of frequency f
};

/// Whether the size has no prime factor above kLargestRadix.
bool has_fft(std::int64_t size);
/// Whether the size has no prime factor above kLargestCheapRadix.
bool has_cheap_fft(std::int64_t size);

/// Mixed-radix decimation in frequency (Cooley & Tukey, Math. Comput. 19, 297 (1965); Van Loan,
/// Computational Frameworks for the FFT, ch. 2). Stage by stage a block of length L splits into
/// `radix` blocks; what stands in row p at the end is frequency order[p]. Of a size >= 2 with
/// has_fft; made at first use and kept.
template <class T>
const FftTables<T>& fft_tables(std::int64_t size);

/// An image. Of a canvas, an object that patterns see: rows x cols, row r begins at r * stride; the
/// sizes of an image of N x N are the context's and left out.
template <class T>
struct Planes {
  T *re = nullptr, *im = nullptr;
  T* weight = nullptr;  ///< of a canvas: sum of the merge weights, later 1 over it
  std::int64_t rows = 0, cols = 0, stride = 0;
};

/// Where one pattern lies on its canvas and how it sees it.
struct PatchPosition {
  std::int64_t row = 0, col = 0;              ///< pixel of the canvas under the patch's (0, 0)
  double row_fraction = 0, col_fraction = 0;  ///< bilinear: added to row, col; 0 <= f < 1
  double row_shift = 0, col_shift = 0;        ///< probe_fourier: the probe moves by it
  double intensity = 1;                       ///< what is expected is multiplied by it
};

/// Zeros at both ends of the rows of a framed plane (a row-major plane that is not striped: row r
/// begins at r * frame, rows -1 and N are zero); spare numbers at the end of a canvas's rows.
inline constexpr std::int64_t kFrame = 16;

template <class T>
class Scratch;
template <class T>
struct Kernels;

/// What all patterns of a scan or a batch have in common, in the kernels' layouts, with its memory;
/// complex numbers come and go as interleaved pairs. FFT order at the detector.
template <class T>
struct KernelContext {
  /// `transfer` (N, N, 2): near field, of the spectrum, moves the detector's middle to (0, 0) as
  /// well; nullptr = far field.
  KernelContext(std::int64_t size, std::int64_t modes, bool moved_probe, const T* transfer);
  ~KernelContext();
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;

  void load_mask(const bool* from);     ///< (N, N)
  void load_background(const T* from);  ///< (N, N) counts, nullptr = none
  void load_probe(const T* from);       ///< (modes, N, N, 2)

  const Kernels<T>& kernels;
  FftTables<T> fft;
  std::int64_t size = 0, stride = 0, frame = 0, modes = 0;
  LossKind kind = LossKind::poisson;
  T floor = 0;                ///< counts added inside logarithm or root
  bool moved_probe = false;   ///< probe_fourier
  bool want_gradient = true;  ///< else the loss only
  bool want_position = true;  ///< by corner too, where patches lie between pixels
  T* probe = nullptr;         ///< (modes, 2) planes: row-major, or for moved_probe its transposed
                              ///< DFT / N^2
  const T* frequencies = nullptr;  ///< (stride) cycles per pixel of FFT order, for moved_probe
  const T* mask = nullptr;         ///< at the detector, 0 or 1
  const T* background = nullptr;   ///< at the detector, counts
  Planes<T> transfer;  ///< near field: transposed transfer function / N; none in the far field

 private:
  Scratch<T>* memory_;
  T *mask_memory_, *background_memory_;
};

/// A row of a weighted patch, zeros before and after.
template <class T>
struct MergeRow {
  T *re = nullptr, *im = nullptr, *weight = nullptr;
};

/// Which canvases a thread has.
struct Canvases {
  bool object = true, weight = true, gradient = true;
};

/// What one thread owns, with its memory: scratch of O(modes N^2), and sums over the patterns it
/// has done.
template <class T>
struct ThreadScratch {
  /// With canvases of rows x cols pixels, which are not cleared, for `groups` groups; 0 = none.
  explicit ThreadScratch(const KernelContext<T>& context, std::int64_t rows = 0,
                         std::int64_t cols = 0, std::int64_t groups = 0, Canvases wanted = {});
  ~ThreadScratch();
  /// Zeroes all but the canvases; called first, by the thread whose it is: its caches hold it then.
  void clear();
  ThreadScratch(const ThreadScratch&) = delete;
  ThreadScratch& operator=(const ThreadScratch&) = delete;

  const KernelContext<T>& context;
  Planes<T> strip;
  T* waves = nullptr;  ///< (modes, 2) planes
  T* probe = nullptr;  ///< (modes, 2) planes row-major, as the pattern sees it: the context's, or
                       ///< moved
  T* seen = nullptr;   ///< (modes, 2) planes at the detector, for the near field
  T* spectrum = nullptr;  ///< (modes, 2) planes transposed, for the near field's slope by a shift
  Planes<T> patch;
  MergeRow<T> merge_row[2];          ///< of the patch that is being merged
  T* weight = nullptr;               ///< (N, N), of a moved probe
  T* carry = nullptr;                ///< vectors between strips, see BilinearScatter
  T* counts = nullptr;               ///< at the detector: of a strip, or of all pixels
  T* in_order = nullptr;             ///< counts (N, N) in FFT order, on their way there
  T* phases = nullptr;               ///< (4, stride) cos and sin by row and by column
  T* probe_gradient = nullptr;       ///< (modes, 2) planes row-major, or transposed for moved_probe
  T* background_gradient = nullptr;  ///< at the detector
  double loss = 0;
  double intensity_slope = 0;  ///< of the loss, by the last pattern's PatchPosition::intensity
  Planes<T> canvas;            ///< merged object; threads that share one use the first one's
  Planes<T> gradient;          ///< each thread's own
  double* moments = nullptr;   ///< (groups, 3) of what it merged: sums re, im, squares

 private:
  Scratch<T>*memory_, *canvas_memory_ = nullptr;
  Scratch<double>* moments_memory_ = nullptr;
};

/// What one pattern has to say about object and probe; merged with that of others afterwards, so
/// that patterns can be worked on at the same time.
template <class T>
struct PatternUpdate {
  Planes<T> object;             ///< framed: sum over modes of conj(probe) x change of the exit wave
  T* power = nullptr;           ///< framed: sum over modes of |probe|^2
  bool power_is_known = false;  ///< it is another pattern's, which sees the same probe
  T* probe =
      nullptr;  ///< (modes, 2) planes: change of the probe, row-major or transposed as it is kept
  T strongest = 0;    ///< largest `power`, 0 where it is known
  double misfit = 0;  ///< sum over counted pixels of (sqrt(I) - sqrt(n))^2
};

/// ePIE and rPIE.
template <class T>
struct PieStep {
  bool refine_probe = false;
  T probe_regularisation = 1;  ///< alpha of (1 - alpha) |O|^2 + alpha max |O|^2
};

/// Difference map and relatives: with F the projection onto the measured amplitudes,
/// wave <- keep wave + reflected F(2 P O - wave) + product P O.
template <class T>
struct DifferenceMapCoefficients {
  T keep = 1, reflected = 1, product = -1;
  T trust = 1;         ///< share of the way to the measured amplitudes that F goes, 0..1
  bool fresh = false;  ///< the stored waves are not yet set: they are P O
};

/// One step of an object, from sums over patterns: with w the summed power,
/// object += step sum / ((1 - alpha) w + alpha max(strongest, w)).
template <class T>
struct ObjectStep {
  T step = 1, regularisation = 1, strongest = 0;
};

/// Sums for the overlap step of the probe, over patterns; planes as in PatternUpdate.
template <class T>
struct ProbeSums {
  T* change = nullptr;  ///< (modes, 2) planes
  T* power = nullptr;   ///< row-major: |patch|^2
};

/// What pattern_tilt needs of a thread's memory beside ThreadScratch.
template <class T>
struct TiltScratch {
  T* turned[2] = {};             ///< (modes, 2) planes each, of exit waves times rows, columns
  Planes<T> strip;               ///< one strip
  const T* distances = nullptr;  ///< (stride) from pixel N / 2, any number behind N
  T least = 0;                   ///< counts; what is expected counts as no less
};

/// The kernels of one instruction set.
template <class T>
struct Kernels {
  const char* name = nullptr;
  int strip = 0;  ///< columns of a strip

  /// DFT of row-major planes times `scale` -> transposed planes; `from` is destroyed.
  void (*fft2_transposed)(const FftTables<T>&, std::int64_t stride, Planes<T> from, Planes<T> to,
                          T scale) = nullptr;
  /// The adjoint of fft2_transposed: transposed -> row-major.
  void (*ifft2_transposed)(const FftTables<T>&, std::int64_t stride, Planes<T> from, Planes<T> to,
                           T scale) = nullptr;

  /// Loss and gradients of one pattern: adds to the scratch (loss, probe, background) and to
  /// `gradient` (the canvas), writes the gradient of row, col [0..1] or of the shift [2..3].
  void (*pattern_loss)(const KernelContext<T>&, const PatchPosition&, const T* counts,
                       const Planes<T>& canvas, const Planes<T>& gradient, ThreadScratch<T>&,
                       double* position_gradient) = nullptr;

  /// The counts (N, N) in FFT order that are expected of one pattern.
  void (*pattern_intensity)(const KernelContext<T>&, const PatchPosition&, const Planes<T>& canvas,
                            ThreadScratch<T>&, T* to) = nullptr;

  /// Far field: how a tilt of the exit wave along rows and along columns changes the expected
  /// amplitudes A. `sums` gets sum (sqrt(n) - A) dA [0..1] and sum dA^2 [2..3], `light` (N, N) the
  /// exit wave's own light.
  void (*pattern_tilt)(const KernelContext<T>&, const PatchPosition&, const T* counts,
                       const Planes<T>& canvas, ThreadScratch<T>&, const TiltScratch<T>&, T* light,
                       double* sums) = nullptr;

  /// Sums over the pixels whose mask is 1, not 0: |sqrt m - sqrt n|, sqrt n, the deviance
  /// 2 [n log(n / m) - n + m] and n, of counts n >= 0 where m is expected, at least `least` > 0 in
  /// the deviance and no less than 0 elsewhere.
  void (*fit_sums)(const T* counts, const T* expected, const T* mask, std::int64_t pixels, T least,
                   double* sums) = nullptr;

  /// The merge weight (N, N) of a patch under the probe moved to its position; the thread's until
  /// the next call.
  const T* (*moved_weight)(const KernelContext<T>&, const PatchPosition&,
                           ThreadScratch<T>&) = nullptr;
  /// Adds a patch (N, N) interleaved complex times its weight (N, N), and the weight, to canvas
  /// rows first..last - 1.
  void (*merge_patch)(const KernelContext<T>&, const PatchPosition&, const T* patch,
                      const T* weight, const Planes<T>& canvas, std::int64_t first,
                      std::int64_t last, const ThreadScratch<T>&) = nullptr;
  /// Rows first..last - 1 of a canvas from sums to means: pixels with a weight above `dark` are
  /// divided by weight + floor, the others 1. Adds sum re, im and squares to moments[0..2].
  void (*normalise)(const Planes<T>&, T dark, T floor, std::int64_t first, std::int64_t last,
                    double* moments) = nullptr;
  /// Gradient of means -> gradient of sums; the canvas's `weight` becomes that of the weights.
  void (*normalise_backward)(const Planes<T>& canvas, const Planes<T>& gradient, std::int64_t first,
                             std::int64_t last) = nullptr;
  /// Gradient of a patch (N, N) interleaved, and what the merge adds to the gradient of its
  /// position, from a canvas that holds d loss / d sum in re, im and the part of the weights in
  /// `weight`.
  void (*patch_gradient)(const KernelContext<T>&, const PatchPosition&, const T* patch,
                         const T* weight, const Planes<T>& canvas, T* gradient,
                         double* position_gradient) = nullptr;

  /// What merge_patch and normalise make, under a patch that is alone on its canvas at a whole
  /// pixel.
  void (*single_patch_forward)(const KernelContext<T>&, const PatchPosition&, const T* patch,
                               const T* weight, T dark, const Planes<T>& canvas,
                               double* moments) = nullptr;
  /// What normalise_backward and patch_gradient make of its gradient.
  void (*single_patch_backward)(const KernelContext<T>&, const PatchPosition&, const T* weight,
                                T dark, const Planes<T>& gradient, T* patch_gradient) = nullptr;

  // The projection solvers. `amplitudes` is a plane at the detector.

  /// Counts (N, N) in FFT order -> their square roots, at the detector.
  void (*load_amplitudes)(const KernelContext<T>&, const T* counts, T* to) = nullptr;
  /// Counts (N, N) with the zero frequency in the middle -> in FFT order.
  void (*order_bytes)(const KernelContext<T>&, const std::uint8_t* counts, T* to) = nullptr;
  void (*order_shorts)(const KernelContext<T>&, const std::int16_t* counts, T* to) = nullptr;
  /// ePIE and rPIE: the update of one pattern.
  void (*pie)(const KernelContext<T>&, const PatchPosition&, const T* amplitudes,
              const Planes<T>& object, const PieStep<T>&, ThreadScratch<T>&,
              PatternUpdate<T>&) = nullptr;
  /// Difference map and relatives: the kept waves (modes, 2) row-major planes of one pattern to the
  /// next pass, and its update, of the object only.
  void (*difference_map_step)(const KernelContext<T>&, const PatchPosition&, const T* amplitudes,
                              const Planes<T>& object, const DifferenceMapCoefficients<T>&,
                              T* waves, ThreadScratch<T>&, PatternUpdate<T>&) = nullptr;
  /// Adds what the kept waves of one pattern ask of the probe.
  void (*sum_probe)(const KernelContext<T>&, const PatchPosition&, const Planes<T>& object,
                    T* waves, ThreadScratch<T>&, const ProbeSums<T>&) = nullptr;
  /// Adds an update to rows first..last - 1 of the canvas of sums.
  void (*add_update)(const KernelContext<T>&, const PatchPosition&, const PatternUpdate<T>&,
                     const Planes<T>& sums, std::int64_t first, std::int64_t last) = nullptr;
  /// Moves object rows first..last - 1, columns col.. by the sums, which become 0.
  void (*step_object)(const Planes<T>& object, const Planes<T>& sums, const ObjectStep<T>&,
                      std::int64_t first, std::int64_t last, std::int64_t col,
                      std::int64_t count) = nullptr;
  /// to[i] += factor from[i], whole vectors.
  void (*add_scaled)(T* to, const T* from, T factor, std::int64_t count) = nullptr;

  /// Object steps of one pattern on scratch.patch: `factor` is a row-major plane, what is added for
  /// every unit of conj(probe) x change.
  void (*single_pattern_step)(const KernelContext<T>&, const T* amplitudes, const T* factor,
                              std::int64_t times, ThreadScratch<T>&) = nullptr;
};

/// The bits of a bfloat16.
enum class Bfloat16 : std::uint16_t {};

/// One image of a batch in the layers of a network: features lie together, pixel after pixel, and
/// what belongs to a feature is repeated up to a number that whole registers divide.
struct NormImage {
  std::int64_t numbers = 0;  ///< pixels x features
  std::int64_t period = 0;   ///< least common multiple of features and lanes
};

/// Group normalisation and GELU (norm_gelu.h); S is float or Bfloat16, the numbers in memory.
template <class S>
struct NormKernels {
  std::int64_t lanes = 0;  ///< numbers in a register
  void (*norm_sums)(const NormImage&, const S* x, const float* shift, double* sums) = nullptr;
  void (*norm_gelu)(const NormImage&, const S* x, const float* scale, const float* offset,
                    S* y) = nullptr;
  void (*norm_gelu_bytes)(const NormImage&, const S* x, const float* scale, const float* offset,
                          float per_unit, float zero, std::uint8_t* y) = nullptr;
  void (*gelu_backward)(const NormImage&, const S* x, const S* dy, const float* scale,
                        const float* offset, const float* shift, float* slope,
                        double* sums) = nullptr;
  void (*norm_backward)(const NormImage&, const S* x, const float* slope, const float* by_slope,
                        const float* by_x, const float* rest, S* dx) = nullptr;
};

/// The widest instruction set that this CPU has; PTYCHE_ISA=plain|avx2|avx512 chooses a narrower
/// one (for tests).
template <class T>
const Kernels<T>& kernels();

template <class S>
const NormKernels<S>& norm_kernels();

/// The tables of all instruction sets that this build holds.
extern const Kernels<float> kernels_plain_float, kernels_avx2_float, kernels_avx512_float;
extern const Kernels<double> kernels_plain_double, kernels_avx2_double, kernels_avx512_double;

extern const NormKernels<float> norm_plain_float, norm_avx2_float, norm_avx512_float;
extern const NormKernels<Bfloat16> norm_plain_bfloat16, norm_avx2_bfloat16, norm_avx512_bfloat16;

}  // namespace ptyche::cpu
