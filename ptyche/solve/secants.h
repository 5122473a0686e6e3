// What the passes of L-BFGS have told of the loss's curvatures: steps of the variables and the
// changes of the slope that they made.
#pragma once

#include <ATen/ATen.h>

#include <deque>
#include <functional>

namespace ptyche {

/// One step and what it changed. Of more than 2^19 variables in numbers of 16 bits: the steps of
/// some passes are most of what the solver keeps, and as good so; but they make more of rounding
/// (docs/scale.md), so that the image of a small scan would depend on the number of threads.
struct Secant {
  /// Of a step and a change (v) float32.
  Secant(const at::Tensor& whole_step, const at::Tensor& whole_change);

  at::Tensor step, change;  ///< (v) float32 or bfloat16, of the variables and of the slope
  double curvature;         ///< their product
};

/// The newest last. Where memory is short they lie on disk (core/memory.h), from which each
/// direction reads all of them twice.
class Secants {
 public:
  /// Both (v) float32, which nobody changes afterwards. Not kept where the loss curves the wrong
  /// way along the step, or hardly; the oldest beyond kMost goes.
  void add(const at::Tensor& step, const at::Tensor& change);
  /// One that `add` once took.
  void restore(const at::Tensor& step, const at::Tensor& change);
  void clear() { secants_.clear(); }
  const std::deque<Secant>& all() const { return secants_; }
  static constexpr std::size_t kMost = 10;

  /// An estimate of (Hessian)^-1 slope by the two-loop recursion (Nocedal & Wright, Numerical
  /// Optimization, 2nd ed., algorithm 7.4). Between its loops `precondition` changes a line (v) to
  /// what a matrix makes of it that is like (Hessian)^-1 but for a factor, which the newest secant
  /// tells; half of that line where there are none.
  ///   slope  (v) float32; throws InvalidInput for another type
  at::Tensor direction(const at::Tensor& slope,
                       const std::function<void(at::Tensor&)>& precondition) const;

 private:
  std::deque<Secant> secants_;
};

}  // namespace ptyche
