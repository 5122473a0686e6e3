// The scan as solvers see it, the state that they change, the gradient that they follow, and the
// way between a state and a reconstruction.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/engine/engine.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"
#include "ptyche/solve/solver.h"
#include "ptyche/solve/variables.h"

namespace ptyche {

class Shares;

/// What stays the same. n = number of used patterns. The arrays, and those of the state, are on
/// the device of the options; `scan` stays with the host.
///   measured   the scan with its counts on that device
///   frames     (n) int64, their numbers in the scan
///   positions  (n, 2) float64, the given ones, scan's pixel frame
///   mask       (N, N) bool, FFT order
///   totals     (n) float64, counts of each in the unmasked pixels; photons, their sum
struct SolverProblem {
  Scan scan, measured;
  at::Tensor frames, positions, mask, totals;
  double photons = 0;
  SolverOptions options;
  Propagation propagation;   ///< of the scan's geometry
  std::int64_t room_px = 0;  ///< how far a position may move; the canvas is wider by it
  std::shared_ptr<const Shares> shares = {};  ///< where several ranks hold the counts (shares.h)

  /// Mean counts of an unmasked pixel.
  double mean_counts() const;
  std::int64_t patterns() const { return frames.size(0); }
  std::int64_t pattern_size() const { return scan.pattern_size(); }
  at::Device device() const { return mask.device(); }
};

/// Its arrays with the host, where the result is put together.
SolverProblem on_host(const SolverProblem& problem);

/// Indices of all patterns, (n) int64.
at::Tensor all_patterns(const SolverProblem& problem);

/// With room for the position corrections that a start brings along. Throws InvalidInput for
/// options out of range, fewer than one used pattern, and a mask that hides all light.
SolverProblem make_problem(const Scan& scan, const SolverOptions& options,
                           const std::optional<Reconstruction>& start = {});

/// The state before the first pass, on the problem's device: a flat object and the scan's probe, or
/// `start`: its object where the canvases overlap, its probe, and, if its patterns are the scan's,
/// its positions and background. Throws InvalidInput if its patterns have another size, its object
/// or probe is not finite or its probe has no light.
SolverState start_state(const SolverProblem& problem, const std::optional<Reconstruction>& start);

/// The result, with the host: orthogonal modes whose photons are those of the scan's probe, 1 + 0i
/// where no used pattern lights the object, refined positions of the used patterns; all others
/// follow the grid as a whole (corrections_of_all).
Reconstruction finished(const SolverProblem& problem, const SolverState& state,
                        const std::vector<double>& losses);

/// How the loss of a batch is computed.
struct GradientOptions {
  Engine engine = Engine::fused;
  LossKind likelihood = LossKind::poisson;  ///< of the counts: poisson or amplitude_square
};
std::vector<Field> fields(GradientOptions& options);

/// The part of the canvas that some patches touch.
struct ObjectWindow {
  std::int64_t row = 0, col = 0, rows = 0, cols = 0;

  /// Of (..., rows, cols).
  at::Tensor of(const at::Tensor& canvas) const {
    return canvas.narrow(-2, row, rows).narrow(-1, col, cols);
  }
};
/// With a pixel more where a patch lies between pixels, and `margin` more on each side.
///   batch  (k) int64, indices into problem.frames
ObjectWindow window_of(const SolverProblem& problem, const SolverState& state,
                       const at::Tensor& batch, std::int64_t margin = 0);
/// The state as the patterns of a window see it.
SolverState state_in(const ObjectWindow& window, const SolverState& state);

/// Patterns of a batch that lie close to each other, so few that their counts are made float at
/// once, and what they see: what is done for them costs the same on a canvas of any size.
struct BatchPiece {
  at::Tensor where;     ///< (k) int64, their places in the batch
  at::Tensor patterns;  ///< (k) int64, indices into problem.frames
  ObjectWindow window;
  SolverState seen;  ///< the state in the window
};

/// visit(piece) for all pieces of a batch (n) int64, all of it as one that sees the whole canvas
/// where it has no more patterns than a piece; counts that lie on disk are read ahead meanwhile.
/// Throws InvalidInput naming a pattern whose patch leaves the canvas, where there are several
/// pieces.
void for_pieces(const SolverProblem& problem, const SolverState& state, const at::Tensor& batch,
                const std::function<void(const BatchPiece&)>& visit);

/// Puts `some` (m, ...) in the places `where` (m) of `all` (count, ...), zeros where that is not
/// there yet; does nothing where `some` is undefined.
void put_in(at::Tensor& all, std::int64_t count, const at::Tensor& where, const at::Tensor& some);
/// Of no pattern: arrays with one entry a pattern have none.
SolverGradient zero_gradient(const SolverState& state);
/// Adds that of a part of `count` patterns, of those at `where` (k) of them, who see `window`, to
/// zero_gradient or to what was added to it.
void add_part(SolverGradient& sum, const SolverGradient& part, const ObjectWindow& window,
              const at::Tensor& where, std::int64_t count);

/// batch  (k) int64, indices into problem.frames
/// Where several ranks hold the counts, each computes its part of the batch. Throws InvalidInput
/// naming a pattern whose patch leaves the canvas.
SolverGradient gradient(const SolverProblem& problem, const SolverState& state,
                        const at::Tensor& batch, const GradientOptions& options = {});

/// The used patterns in random order, in batches of at most `size`: each (k) int64.
std::vector<at::Tensor> shuffled_batches(const SolverProblem& problem, std::int64_t size,
                                         const Pass& pass);

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
