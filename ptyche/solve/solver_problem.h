// The scan as solvers see it, what they change, and the gradient that they all follow.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/physics/propagation.h"
#include "ptyche/solve/solver_options.h"

namespace ptyche {

/// What stays the same. n = number of used patterns.
///   frames     (n) int64, their numbers in the scan
///   positions  (n, 2) float64, the given ones, scan's pixel frame
///   mask       (N, N) bool, FFT order
///   photons    sum of their counts in the unmasked pixels
struct SolverProblem {
  Scan scan;
  at::Tensor frames, positions, mask;
  double photons = 0;
  SolverOptions options;
  Propagation propagation;   ///< of the scan's geometry
  std::int64_t room_px = 0;  ///< how far a position may move; the canvas is wider by it

  /// Mean counts of an unmasked pixel.
  double mean_counts() const;
  std::int64_t patterns() const { return frames.size(0); }
  std::int64_t pattern_size() const { return scan.pattern_size(); }
};

/// With room for the moves that a start brings along. Throws InvalidInput for options out of range,
/// fewer than one used pattern, and a mask that hides all light.
SolverProblem make_problem(const Scan& scan, const SolverOptions& options,
                           const std::optional<Reconstruction>& start = {});

/// What the start's positions add to the used patterns', (n, 2) float64; undefined where it has
/// another number of patterns.
at::Tensor moves_between(const Scan& scan, const at::Tensor& frames, const Reconstruction& start);

/// What changes.
///   object           (rows, cols) complex64 on the canvas whose pixel (0, 0) is `origin`
///   probe            (modes, N, N) complex64, sqrt(photon)
///   background_root  (N, N) float32 sqrt(counts), FFT order; its square cannot be negative
///   moves            (n, 2) float64 px, refined less given position
struct SolverState {
  at::Tensor object, probe, background_root, moves;
  std::int64_t origin_row = 0, origin_col = 0;

  SolverState clone() const;
};

/// One number and one array per array of the state: the loss of a batch, summed over its patterns
/// and pixels, and its gradient (dL/dRe + i dL/dIm where complex). Without a background
/// `background_root` is undefined; `moves` (k, 2) is that of the batch's patterns, 0 where
/// positions are kept.
struct SolverGradient {
  double loss = 0;
  at::Tensor object, probe, background_root, moves;
};

/// batch  (k) int64, places in problem.frames. `own` is the likelihood unless the options name one.
/// Throws InvalidInput naming a pattern whose patch leaves the canvas.
SolverGradient gradient(const SolverProblem& problem, const SolverState& state,
                        const at::Tensor& batch, LossKind own = LossKind::poisson);

/// Where the (0, 0) of the patches of a batch lie on the canvas, between pixels: (k, 2) float64.
at::Tensor corners_of(const SolverProblem& problem, const SolverState& state,
                      const at::Tensor& batch);

/// Throws InvalidInput naming the first pattern of the batch of which not all pixels from `first`
/// to `last`, (k, 2) int64 rows and columns, lie on the canvas.
void require_on_canvas(const SolverProblem& problem, const SolverState& state,
                       const at::Tensor& batch, const at::Tensor& first, const at::Tensor& last);

/// Canvas pixel under the patch's (0, 0), whole, of each pattern of a batch: (k, 2) int64. Throws
/// InvalidInput naming a pattern whose patch leaves the canvas.
at::Tensor whole_corners(const SolverProblem& problem, const SolverState& state,
                         const at::Tensor& batch);

}  // namespace ptyche
