// Everything that solvers fit, one description for each array: copies, moves to a device, windows,
// gradients of parts, checkpoints and the packed vector of whole-pass solvers are loops over it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"

namespace ptyche {

struct SolverProblem;

/// One array for each variable; undefined where it is not fitted. The same arrays hold what there
/// is one of for each variable: a gradient, a curvature.
struct FittedArrays {
  at::Tensor object;                ///< (slices, rows, cols) complex64
  at::Tensor probe;                 ///< (variants, modes, N, N) complex64, sqrt(photon)
  at::Tensor position_corrections;  ///< (n, 2) float64 px, refined less given position
  at::Tensor background_root;       ///< (N, N) float32 sqrt(counts), FFT order
  at::Tensor intensities;           ///< (n) float64 of the beam over its mean; undefined = 1

  std::int64_t rows() const { return object.size(1); }
  std::int64_t cols() const { return object.size(2); }
  std::int64_t modes() const { return probe.size(1); }
  /// The object of one slice, (rows, cols), for what does not work on more of them.
  at::Tensor plane() const { return object.select(0, 0); }
  /// The probe of all patterns, or their common part: (modes, N, N).
  at::Tensor main_probe() const { return probe.select(0, 0); }
};

/// What changes while solvers run. n = number of used patterns.
struct SolverState : FittedArrays {
  std::int64_t origin_row = 0, origin_col = 0;  ///< of the object's pixel (0, 0), scan's frame

  SolverState clone() const;
  SolverState to(at::Device device) const;
};

/// The loss of some patterns, summed over them and their pixels, and its gradient (dL/dRe +
/// i dL/dIm where complex) by each array of the state: of arrays with one entry a pattern, by those
/// of these patterns. 0 for positions that are kept.
struct SolverGradient : FittedArrays {
  double loss = 0;
};

/// How an array is cut where some patterns, or a part of the canvas, are looked at, and how the
/// gradients of parts make that of all.
enum class Axes {
  canvas,    ///< the last two are the canvas; parts are added where they lie
  common,    ///< the same for all patterns; parts are added
  patterns,  ///< the first is that of the patterns; parts are put in their places
};

struct Variable {
  const char* name;  ///< of its dataset in checkpoints
  at::Tensor FittedArrays::*array;
  Axes axes;

  /// In a checkpoint, where a state like `state` has none: nothing = every state has one.
  std::vector<std::int64_t> (*shape)(const SolverState& state) = nullptr;
  at::ScalarType type = at::kFloat;
  double least = -kLargestNumber;  ///< of its numbers
  bool within_room = false;        ///< no number is farther from 0 than SolverProblem::room_px
  bool freed_later = false;        ///< a run may begin to fit it at any pass

  // What solvers that make whole passes move: free coordinates, of which any are allowed.

  /// Their numbers, of the array's shape, and back; nothing = the array itself.
  at::Tensor (*free)(const at::Tensor& array) = nullptr;
  at::Tensor (*from_free)(const at::Tensor& coordinates) = nullptr;
  /// The gradient by them, without what the options hold; nothing = the array's.
  at::Tensor (*slope)(const SolverProblem& problem, const SolverState& state,
                      const at::Tensor& gradient) = nullptr;
  /// Second derivative of the loss by each of them, about, > 0. `prior` is that of the prior on the
  /// object.
  at::Tensor (*curvature)(const SolverProblem& problem, const SolverState& state, double prior);
};

/// All of them, in the order in which they are packed.
const std::vector<Variable>& variables();

/// visit(variable) for those that the arrays have.
template <typename Visit>
void for_fitted(const FittedArrays& arrays, const Visit& visit) {
  for (const Variable& variable : variables())
    if ((arrays.*variable.array).defined()) visit(variable);
}

/// Of arrays with one entry a pattern, those of the patterns (k) int64; all others as they are.
FittedArrays of_patterns(const FittedArrays& arrays, const at::Tensor& patterns);

/// Under `group` of a checkpoint: the arrays of a state that is like `first`, in ranges as the
/// problem has them, with at most `modes` probe modes. Throws InvalidInput naming the dataset.
void write_state(Hdf5File& file, const std::string& group, const SolverState& state,
                 double room_px);
SolverState read_state(const Hdf5File& file, const std::string& group, const SolverState& first,
                       double room_px, std::int64_t modes);

/// The free coordinates of all arrays of a state, one after the other: (v) float32.
at::Tensor packed(const SolverState& state);
/// The gradient by them, without what the options hold; of arrays that the state has.
at::Tensor packed_slope(const SolverProblem& problem, const SolverState& state,
                        const SolverGradient& gradient);
/// Second derivatives of the loss by them.
at::Tensor packed_curvature(const SolverProblem& problem, const SolverState& state, double prior);
/// How many there are.
std::int64_t packed_numbers(const SolverState& state);
/// The state of free coordinates (v), for the rest as `like`; views of them where nothing changes.
SolverState unpacked(const at::Tensor& coordinates, const SolverState& like);

}  // namespace ptyche
