// Projection solvers on the kernels of the CPU: what they keep between passes (object, probe,
// amplitudes, exit waves), and the passes of ePIE, rPIE, the difference map and its relatives.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "ptyche/engine/cpu/buffers.h"
#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu {

/// Added to the modelled amplitude in the ratio of amplitudes, sqrt(counts).
inline constexpr double kProjectionFloor = 1e-6;

/// Counts as a scan has them, zero frequency in the middle, whole numbers of one byte (uint8) or
/// two (int16): those of pattern k are number rows[k].
struct CountsOfScan {
  const std::uint8_t* bytes = nullptr;
  const std::int16_t* shorts = nullptr;
  const std::int64_t* rows = nullptr;
};

/// What all patterns of a scan have in common, plain pointers; complex numbers are interleaved
/// pairs. FFT order at the detector.
template <class T>
struct Geometry {
  std::int64_t size = 0, modes = 0, patterns = 0;
  std::int64_t rows = 0, cols = 0;  ///< of the object
  bool moved_probe = false;         ///< probe_fourier
  CountsOfScan counts;              ///< whose roots are taken in each pass; none = load_counts
  const T* probe = nullptr;         ///< (modes, N, N, 2)
  const bool* mask = nullptr;       ///< (N, N)
  const T* transfer = nullptr;      ///< as KernelContext's
};

/// The state of a solver in the kernels' layouts. Patterns whose updates are merged before anybody
/// sees the result are a batch; each has its own PatternUpdate, so that neither the number of
/// threads nor who does what shows in a result.
template <class T>
struct ProjectionMemory {
  /// object (rows, cols, 2). There is no amplitude before load_counts, no background before
  /// load_background, and all positions are 0 until they are set.
  ProjectionMemory(const Geometry<T>& geometry, const T* object, bool keep_waves,
                   std::int64_t batch, int threads);
  ProjectionMemory(const ProjectionMemory&) = delete;
  ProjectionMemory& operator=(const ProjectionMemory&) = delete;

  /// Counts (count, N, N) in FFT order of patterns first.., where the geometry has none.
  void load_counts(std::int64_t first, std::int64_t count, const T* counts);
  /// Object (rows, cols, 2) and probe (modes, N, N, 2), interleaved, into the state and out of it.
  void load_object(const T* from);
  void load_probe(const T* from) { context.load_probe(from); }
  /// (N, N) counts in FFT order; nullptr = none
  void load_background(const T* from) { context.load_background(from); }
  void store_object(T* to) const;
  void store_probe(T* to);

  /// Those of a pattern, put into the thread's scratch where the scan's counts are at hand.
  const T* amplitudes_of(std::int64_t pattern, const ThreadScratch<T>& own) const;

  std::int64_t plane() const { return context.size * context.stride; }
  /// Numbers of all modes' planes: of a probe, and of the exit waves of one pattern.
  std::int64_t mode_numbers() const { return 2 * context.modes * plane(); }
  int thread_count() const { return static_cast<int>(threads.size()); }

  const Kernels<T>& kernels;
  KernelContext<T> context;              ///< with the probe
  std::vector<PatchPosition> positions;  ///< (patterns)
  Scratch<T> memory, pattern_memory;
  T* amplitudes = nullptr;     ///< (patterns) planes at the detector, or instead of them:
  CountsOfScan counts;         ///< their squares, Geometry's
  T* waves = nullptr;          ///< (patterns, modes, 2) row-major planes
  std::vector<double> misfit;  ///< (patterns) of the last pass, for those that ask
  std::vector<double> noise;   ///< (patterns) the misfit that photon noise alone leaves
  Planes<T> object;
  Planes<T> sums;  ///< re, im, weight, over all patterns; only where waves are kept
  std::deque<ThreadScratch<T>> threads;
  /// (threads) The same over a batch, of a block of rows.
  std::vector<Planes<T>> row_sums;
  std::vector<PatternUpdate<T>> updates;  ///< (batch)

 private:
  void take_canvases(const Geometry<T>& geometry, bool keep_waves);
  void take_update();
};

/// Patterns whose updates are merged, unless a caller asks for another number: enough for a few
/// threads, and the image after as many passes is that of one after the other (docs/solvers.md).
inline constexpr std::int64_t kPieBatch = 8;

struct PieOptions {
  double object_step = 1, object_regularisation = 0.3;
  double probe_step = 0, probe_regularisation = 1;  ///< probe_step 0 = probe kept
};

/// Updates object and probe by the patterns `order`, as many at a time as the state has updates.
/// The updates of a batch are merged: objects with the summed power of the probes, so that patterns
/// that do not overlap move it as if they came one after the other, and the same pixel is never
/// moved farther than least squares would; the probe's changes are added, and no step is longer
/// than their mean. A batch of one is the sequential algorithm. The result does not depend on the
/// number of threads. Returns the sum over patterns and counted pixels of (sqrt(I) - sqrt(n))^2,
/// each before its own update.
double pie_sweep(ProjectionMemory<float>& state, std::span<const std::int64_t> order,
                 const PieOptions& options);

struct DifferenceMapOptions {
  DifferenceMapCoefficients<float> how;  ///< `trust` is set for each pattern
  bool refine_probe = true;
  /// Go no farther towards the amplitudes than to where photon noise alone could be the difference
  /// (judged by the pattern's misfit in the pass before): else the difference map, whose
  /// constraints noise makes impossible to meet, leaves the image that it has found.
  bool within_noise = false;
  /// Least share of the largest summed power that a pixel's step is divided by, > 0: slows what
  /// hardly any light reaches, and moves nothing that agrees.
  double regularisation = 1e-3;
};

/// One pass: the exit waves of all patterns (DifferenceMapCoefficients), then the object, then the
/// probe that fits them best in least squares. The result does not depend on the number of threads.
/// Returns the sum over patterns and counted pixels of (sqrt(I) - sqrt(n))^2 of the waves that were
/// projected.
double difference_map_sweep(ProjectionMemory<float>& state, const DifferenceMapOptions& options);

// The same pass in parts, where each of several processes has some of the patterns: the waves, with
// what they ask of the object; then, with the new object, what they ask of the probe. The object is
// the sum of changes over (1 - r) w + r max w, w being the sum of weights and r the regularisation;
// the probe likewise.

/// Brings the waves to the next ones. Adds nothing to the object: `change` (rows, cols, 2) and
/// `weight` (rows, cols) get its sums. Returns the misfit as difference_map_sweep does.
double overlap_waves(ProjectionMemory<float>& state, const DifferenceMapOptions& options,
                     float* change, float* weight);
/// The probe's sums, `change` (modes, N, N, 2) and `power` (N, N).
void overlap_probe_sums(ProjectionMemory<float>& state, float* change, float* power);

}  // namespace ptyche::cpu
