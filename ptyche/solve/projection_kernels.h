// What solvers that project onto the measured amplitudes have in common: the way from their tensors
// into the layouts of the fused kernels and back, or, on another device than the CPU, to the
// reference engine, or, where several ranks hold the counts, to each of them.
#pragma once

#include <memory>

#include "ptyche/engine/projections.h"
#include "ptyche/engine/reference/projections.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/shared_projections.h"

namespace ptyche {

/// Throws InvalidInput that names the need where amplitudes, unless the scan's counts stand for
/// them, and with keep_waves the exit waves, of so many patterns do not fit into the memory that is
/// free now.
void require_projection_memory(std::int64_t patterns, std::int64_t size, std::int64_t modes,
                               bool keep_waves, bool keep_amplitudes = true);

/// The engine's state of one solver, kept from pass to pass with the amplitudes that it holds.
class ProjectionKernels {
 public:
  /// batch: patterns whose updates are merged, see ProjectionMemory.
  ProjectionKernels(bool keep_waves, std::int64_t batch) : keep_waves_(keep_waves), batch_(batch) {}

  /// Takes object, probe, background and positions from the state. The memory, and with it the exit
  /// waves, is new (`fresh`) at the first call and where an array has got another shape. Throws
  /// InvalidInput naming a pattern whose patch leaves the object, and, before it asks for it, the
  /// memory that is needed where the machine does not have it.
  void load(const SolverProblem& problem, const SolverState& state);
  bool fresh() const { return fresh_; }

  /// The sweeps of engine/projections.h on what was loaded.
  double pie_sweep(std::span<const std::int64_t> order, const cpu::PieOptions& options);
  double difference_map_sweep(const cpu::DifferenceMapOptions& options);

  /// difference_map_sweep in parts (engine/projections.h), of what one of several processes has.
  OverlapSums overlap_waves(const cpu::DifferenceMapOptions& options);
  OverlapSums probe_sums();

  /// Writes object and probe into the state.
  void store(SolverState& state);

  /// The kept exit waves as they lie in the engine's memory, (patterns, numbers) float32, and the
  /// misfit of each pattern in the last pass, (patterns) float64; and back.
  std::int64_t wave_numbers() const;  ///< how many there are, about
  at::Tensor waves() const;
  at::Tensor misfit() const;
  void load_waves(const at::Tensor& waves, const at::Tensor& misfit);

 private:
  void renew(const SolverProblem& problem, const SolverState& state);
  void load_there(const SolverProblem& problem, const SolverState& state);
  double sweep_here(std::span<const std::int64_t> order, const cpu::PieOptions& options);

  bool keep_waves_, fresh_ = false;
  std::int64_t batch_;
  std::unique_ptr<cpu::ProjectionMemory<float>> memory_;
  at::Tensor counts_, rows_;  // that it takes roots of anew, and where each pattern lies in them
  std::unique_ptr<reference::Projections> there_;  // in place of it, on another device
  std::unique_ptr<SharedProjections> shared_;      // in place of it, where ranks hold the counts
};

}  // namespace ptyche
