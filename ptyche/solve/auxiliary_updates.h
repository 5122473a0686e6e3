// What every solver refines in the same way beside object and probe (positions, background), and
// the limits that the options set to object and probe.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ptyche/data/scan.h"
#include "ptyche/solve/adam.h"
#include "ptyche/solve/problem.h"

namespace ptyche {

/// Options of a solver that goes through the patterns by batches, for its own steps or for those of
/// background and positions only.
struct BatchOptions {
  std::optional<double> batch = {};  ///< patterns to one gradient, >= 1; nothing: see batch_of
  GradientOptions gradient = {};
  double position_step = 0.03;  ///< px per pass, 0..10
};

/// Patterns to one gradient where the options name no number: 16, and in a large scan as many as
/// make `steps` gradients a pass, so that a pattern costs there what it costs in a small one (each
/// step moves the whole canvas) and a pixel sees as many steps.
std::int64_t batch_of(const BatchOptions& options, const SolverProblem& problem,
                      std::int64_t steps);
/// The `steps` of `ml`, and of background and positions beside the projections.
inline constexpr std::int64_t kStepsPerPass = 64;

/// position_step only where positions are refined. The help is that of `batch`.
std::vector<Field> fields(BatchOptions& options, const SolverOptions& common,
                          const std::string& batch_help);
/// Of a solver whose own steps use none of them: all of them, or none where neither positions nor
/// background are refined.
std::vector<Field> auxiliary_fields(BatchOptions& options, const SolverOptions& common);

/// Background: a step of Adam per batch. Intensities, where the state has some: the best ones for
/// the batch (next_intensities), their mean 1 after each pass. Positions: the gradients of a pass
/// are gathered and make one position_step at its end; nothing moves before a tenth of the chain's
/// passes, at most 5, is done, for at first the image is wrong and not the positions.
class AuxiliaryUpdates {
 public:
  explicit AuxiliaryUpdates(const BatchOptions& options) : options_(options) {}

  void after_batch(const SolverProblem& problem, SolverState& state, const at::Tensor& batch,
                   const SolverGradient& gradient, double factor);
  void after_pass(const SolverProblem& problem, SolverState& state, const Pass& pass,
                  double factor);
  /// Both, by one pass over all patterns, for solvers that follow no gradient themselves; nothing
  /// where the options free none and the state has no intensities.
  void after_projections(const SolverProblem& problem, SolverState& state, const Pass& pass);
  void save(Hdf5File& file, const std::string& group) const;
  void load(const Hdf5File& file, const std::string& group, const SolverState& state);

  /// Where ranks make the steps of a pass together: what each of them goes on from, and what it has
  /// gathered, (n, 2) for the patterns of its problem.
  ComplexAdam& background() { return background_; }
  at::Tensor& position_gradient() { return position_gradient_; }

 private:
  BatchOptions options_;
  ComplexAdam background_;
  at::Tensor position_gradient_, mean_position_gradient_;  // (n, 2), of the pass so far; of earlier
};

/// What the options demand of object and probe: a largest amplitude, a support of the probe.
void constrain(const SolverProblem& problem, SolverState& state);

/// The part of `corrections` (n, 2) that a freedom allows, given positions (n, 2): `jitter` takes
/// out the shift and the 2 x 2 matrix that fit it best over the grid, `affine` the shift, `none`
/// all of it.
at::Tensor allowed_corrections(const at::Tensor& corrections, const at::Tensor& positions,
                               PositionFreedom freedom);

/// Corrections of all patterns of a scan, (frames, 2), from those of the used ones: theirs, and for
/// the others what the used grid as a whole does, by least squares of a shift and a 2 x 2 matrix.
at::Tensor corrections_of_all(const Scan& scan, const at::Tensor& used,
                              const at::Tensor& corrections);

/// Second derivative of half the deviance by a position, about: 2 sum |dP/dr|^2 over the modes of a
/// probe (modes, N, N), by Parseval. What the object shares with the probe makes the true one less.
double position_curvature(const at::Tensor& probe);

/// Steps of the position corrections, (n, 2), after a pass over all patterns.
///   gradient    (n, 2) float64, of the loss by each position, gathered since the last step
///   mean        (n, 2), running mean of earlier gradients; undefined at first; written
///   positions   (n, 2), where the patterns lie
///   curvature   position_curvature in the gradient's units
///   limit_px    no coordinate moves farther, but for the common shift that is taken out, > 0
/// Each pattern's own part follows Newton's direction, so many times longer that its root mean
/// square is half the limit, but at most kLargestGain times: what neither object nor pattern tells
/// (a patch without features) stays where it is. What the grid does as a whole adds up over all
/// patterns and is followed kGridGain times Newton's length, for the object that has formed under
/// the wrong grid resists it.
at::Tensor position_step(const at::Tensor& gradient, at::Tensor& mean, const at::Tensor& positions,
                         double curvature, double limit_px, PositionFreedom freedom);

inline constexpr double kLargestGain = 100, kGridGain = 1000;

}  // namespace ptyche
