// What a projection solver keeps between passes: object, probe, amplitudes, exit waves, scratch.
#pragma once

#include <vector>

#include "ptyche/engine/cpu/loss_memory.h"
#include "ptyche/engine/cpu/projection_task.h"

namespace ptyche::cpu {

/// Added to the modelled amplitude in the ratio of amplitudes, sqrt(counts).
inline constexpr double kProjectionFloor = 1e-6;

/// The state of a solver in the kernels' layouts. Patterns whose shares are merged before anybody
/// sees the result are a batch; each has its own Share, so that neither the number of threads nor
/// who does what shows in a result.
template <class T>
struct ProjectionMemory {
  /// From a call with size, modes, patterns, rows, cols, moved_probe, mask, transfer, object, probe
  /// and places; there is no background before take_background, no amplitude before take_counts.
  ProjectionMemory(const LossCall<T>& call, bool keep_waves, std::int64_t batch, int threads);
  ProjectionMemory(const ProjectionMemory&) = delete;
  ProjectionMemory& operator=(const ProjectionMemory&) = delete;

  /// Counts (count, N, N) in FFT order of patterns first..
  void take_counts(std::int64_t first, std::int64_t count, const T* counts);
  /// Object (rows, cols, 2) and probe (modes, N, N, 2), interleaved, into the state and out of it.
  void take_object(const T* from);
  void take_probe(const T* from);
  /// (N, N) counts in FFT order; nullptr = none
  void take_background(const T* from);
  void give_object(T* to) const;
  void give_probe(T* to);

  std::int64_t plane() const { return task.size * task.stride; }
  /// Numbers of all modes' planes: of a probe, and of the exit waves of one pattern.
  std::int64_t mode_numbers() const { return 2 * task.modes * plane(); }
  int thread_count() const { return static_cast<int>(threads.size()); }

  const Kernels<T>& kernels;
  SharedTables<T> tables;
  LossTask<T> task;  ///< as in the tables, but for the probe
  std::vector<Place> places;
  Scratch<T> memory, pattern_memory;
  T* probe = nullptr;  ///< (modes, 2) planes, natural, or turned for moved_probe
  std::vector<Planes<T>> probe_planes;
  T* amplitudes = nullptr;     ///< (patterns) planes at the detector
  T* waves = nullptr;          ///< (patterns, modes, 2) natural planes
  std::vector<double> misfit;  ///< (patterns) of the last pass, for those that ask
  std::vector<double> noise;   ///< (patterns) the misfit that photon noise alone leaves
  Canvas<T> object, sums;      ///< sums over patterns: re, im, weight
  T* background = nullptr;     ///< at the detector; task.background points here where there is one
  std::vector<ThreadState<T>> threads;
  std::vector<Share<T>> shares;  ///< (batch)

 private:
  void take_canvases(const LossCall<T>& call);
  void take_thread(int strip);
  void take_share();
};

extern template struct ProjectionMemory<float>;

}  // namespace ptyche::cpu
