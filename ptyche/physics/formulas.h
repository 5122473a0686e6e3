// The formulas that all engines share, written once: misfits of counts and their slopes, weights
// between pixels, the mean of a merge.
//
// They are templates over what a number is: one number (CUDA, tests), a register of numbers (CPU
// kernels), a tensor (reference engine). `Math` names that type, Math::Value, and has its
// functions:
//   root(x)                                   square root
//   magnitude(x)                              absolute value
//   sign(x)                                   -1, 0 or 1
//   log_quotient(excess, expected, raised)    log(raised / expected), expected - raised = excess;
//                                             accurate near 0 where the type can be
// No header of LibTorch here, and nothing of the standard library but C functions: kernels include
// this file once per instruction set.
#pragma once

#include <math.h>

#ifdef __CUDACC__
#define PTYCHE_FORMULA __host__ __device__ inline
#else
#define PTYCHE_FORMULA [[gnu::always_inline]] inline
#endif

namespace ptyche {

/// Sum of what is measured that a loss is divided by in training.
enum class LossUnit { photons, amplitudes };

// A loss is a misfit of an expected intensity I with counts n, both >= 0, in one pixel; `value`
// writes its derivative by I to `slope` unless that is null. `floor`, kFloor counts by default, is
// added to both, so that the slope stays finite where nothing is expected; added to I alone it
// would pull every pixel towards I = n - floor. At I = n value and slope are 0, elsewhere the value
// is positive.
//   kUnit       see LossUnit
//   kCurvature  the loss near its minimum over the squared change of the amplitude; 0 = it has none

/// I - (n + floor) log(I + floor) less its value at I = n: half the deviance (Thibault &
/// Guizar-Sicairos, New J. Phys. 14, 063004 (2012), eq. 3). Its slope is at least -n / floor, and 0
/// in the mean over noise at the true I.
struct PoissonMisfit {
  static constexpr double kFloor = 0.01;
  static constexpr LossUnit kUnit = LossUnit::photons;
  static constexpr double kCurvature = 2;

  template <class Math, class V, class F>
  PTYCHE_FORMULA static V value(const V& intensity, const V& counts, F floor, V* slope = nullptr) {
    const V excess = intensity - counts, expected = intensity + floor, raised = counts + floor;
    if (slope) *slope = excess / expected;
    return excess + raised * Math::log_quotient(excess, expected, raised);
  }
};

/// (sqrt(I + floor) - sqrt(n + floor))^2: for bright pixels a Gaussian likelihood of the
/// amplitudes, whose noise is 1/2 whatever the counts (Godard et al., Opt. Express 20, 25914
/// (2012)).
struct SquaredAmplitudeMisfit {
  static constexpr double kFloor = 0.01;
  static constexpr LossUnit kUnit = LossUnit::amplitudes;
  static constexpr double kCurvature = 1;

  template <class Math, class V, class F>
  PTYCHE_FORMULA static V value(const V& intensity, const V& counts, F floor, V* slope = nullptr) {
    const V amplitude = Math::root(V(intensity + floor));
    const V misfit = amplitude - Math::root(V(counts + floor));
    if (slope) *slope = misfit / amplitude;
    return misfit * misfit;
  }
};

/// |sqrt(I + floor) - sqrt(n + floor)|, the mean absolute error of PtychoPINN; its kink at I = n
/// has slope 0, the mean of both sides.
struct AbsoluteAmplitudeMisfit {
  static constexpr double kFloor = 0.01;
  static constexpr LossUnit kUnit = LossUnit::amplitudes;
  static constexpr double kCurvature = 0;

  template <class Math, class V, class F>
  PTYCHE_FORMULA static V value(const V& intensity, const V& counts, F floor, V* slope = nullptr) {
    const V amplitude = Math::root(V(intensity + floor));
    const V misfit = amplitude - Math::root(V(counts + floor));
    if (slope) *slope = Math::sign(misfit) / (amplitude + amplitude);
    return Math::magnitude(misfit);
  }
};

/// All losses: LossKind's name, the name that users type, the formula. A new one is a struct above
/// and its line here.
#define PTYCHE_LOSSES(LOSS)                                   \
  LOSS(poisson, "poisson", PoissonMisfit)                     \
  LOSS(amplitude_square, "amplitude", SquaredAmplitudeMisfit) \
  LOSS(amplitude_absolute, "amplitude_absolute", AbsoluteAmplitudeMisfit)

/// Which distance between expected and measured counts is minimised.
enum class LossKind {
#define PTYCHE_LOSS(kind, name, Formula) kind,
  PTYCHE_LOSSES(PTYCHE_LOSS)
#undef PTYCHE_LOSS
};

/// use(formula), the formula of a kind.
template <class Use>
PTYCHE_FORMULA auto with_formula(LossKind kind, const Use& use) {
  switch (kind) {
#define PTYCHE_LOSS(kind, name, Formula) \
  case LossKind::kind:                   \
    return use(Formula{});
    PTYCHE_LOSSES(PTYCHE_LOSS)
#undef PTYCHE_LOSS
  }
  return use(PoissonMisfit{});
}

/// Math of plain numbers: float, double.
template <class T>
struct NumberMath {
  PTYCHE_FORMULA static T root(T x) { return sqrt(x); }
  PTYCHE_FORMULA static T magnitude(T x) { return x < 0 ? -x : x; }
  PTYCHE_FORMULA static T sign(T x) { return x > 0 ? T(1) : (x < 0 ? T(-1) : T(0)); }
  PTYCHE_FORMULA static T log_quotient(T excess, T expected, T) {
    return static_cast<T>(log1p(-static_cast<double>(excess / expected)));
  }
};

/// Weights of the pixel under a point, the one to its right, the one below, and the one below that
/// to the right; the point lies (row, col) beyond the first one's middle, both in [0, 1).
template <class V>
struct BilinearWeights {
  V here, right, below, below_right;
};

template <class V>
PTYCHE_FORMULA BilinearWeights<V> bilinear_weights(const V& row, const V& col) {
  return {(1 - row) * (1 - col), (1 - row) * col, row * (1 - col), row * col};
}

/// The factor from the weighted sum of patches to their mean: 1 / (weight + floor) where the weight
/// is above `dark`, else 0 (and the mean is 1).
template <class T>
PTYCHE_FORMULA T mean_factor(T weight, T dark, T floor) {
  return weight > dark ? 1 / (weight + floor) : T(0);
}

}  // namespace ptyche
