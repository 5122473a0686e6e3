// From the exit waves, half transformed, to the waves that the detector counts: in the far field
// the other half of the transform, in the near field also a transfer function and a transform back.
// Then the loss: waves of all modes -> expected counts -> loss and its gradient by the waves. And
// back.
#pragma once

#include "ptyche/engine/cpu/fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// Phase factors exp(-2 pi i f d) by row and by column: powers of that of the lowest frequency,
/// and their conjugates.
template <class T>
inline void fill_phases(const KernelContext<T>& context, const PatchPosition& position, T* phases) {
  const double shift[2] = {position.row_shift, position.col_shift};
  const std::int64_t size = context.size;
  for (int axis = 0; axis < 2; ++axis) {
    T *cosine = phases + 2 * axis * context.stride, *sine = cosine + context.stride;
    const double angle = -6.283185307179586477 * shift[axis] / static_cast<double>(size);
    const double c = __builtin_cos(angle), s = __builtin_sin(angle);
    double re = 1, im = 0;
    for (std::int64_t f = 0; 2 * f <= size; ++f) {
      cosine[(size - f) % size] = static_cast<T>(re);
      sine[(size - f) % size] = static_cast<T>(-im);
      if (2 * f < size) {
        cosine[f] = static_cast<T>(re);
        sine[f] = static_cast<T>(im);
      }
      const double next = re * c - im * s;
      im = re * s + im * c;
      re = next;
    }
  }
}

/// The phase factor of row p and columns at.. of a transposed plane.
template <class T>
inline Complex<T> phase_at(const KernelContext<T>& context, const T* phases, std::int64_t p,
                           std::int64_t at) {
  const std::int64_t q = context.fft.order[p];
  const Complex<T> row = {load(phases + at), load(phases + context.stride + at)};
  return mul_twiddle<T, false>(row, phases[2 * context.stride + q], phases[3 * context.stride + q]);
}

/// conj(a) b
template <class T>
inline Complex<T> conjugate_product(Complex<T> a, Complex<T> b) {
  return {a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}

template <class T>
inline Complex<T> product(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// Im(conj(g) s): the slope of Re(conj(g) s exp(-i angle)) by the angle, summed over a row (by_col,
/// times that row's frequency later) and, times the frequencies at.., over everything (by_row).
template <class T>
inline void add_slope(const KernelContext<T>& context, Complex<T> g, Complex<T> s, std::int64_t at,
                      Vector<T>& by_row, Vector<T>& by_col) {
  const Vector<T> slope = g.re * s.im - g.im * s.re;
  by_col += slope;
  by_row += slope * load(context.frequencies + at);
}

/// The planes of mode `mode` in a block of (modes, 2) planes.
template <class T>
inline Planes<T> planes_of(const KernelContext<T>& context, T* block, std::int64_t mode) {
  const std::int64_t plane = context.size * context.stride;
  return {block + 2 * mode * plane, block + (2 * mode + 1) * plane};
}

/// What the spectrum of a wave is multiplied with on its way, row p and columns at.. of a
/// transposed plane: the transfer function and, where the probe was moved for the object, the whole
/// wave's way back.
template <class T>
inline Complex<T> transfer_at(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                              std::int64_t first, std::int64_t p, int column) {
  const Complex<T> transfer = get(strip_of(context.transfer, context.size, first), p, column);
  if (!context.moved_probe) return transfer;
  return conjugate_product(phase_at(context, scratch.phases, p, first + column), transfer);
}

/// Near field: `wave`, transposed half way, -> `seen`, row-major, with N times its amplitude as
/// after one unscaled transform. The spectrum on its way is kept in `spectrum` where that has
/// planes.
template <class T>
inline void propagate_near_field(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                                 Planes<T> wave, Planes<T> seen, Planes<T> spectrum) {
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Planes<T> strip = strip_of(wave, context.size, first);
    forward_fft(strip, context.fft);
    for (std::int64_t p = 0; p < context.size; ++p)
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> x =
            product(get(strip, p, column), transfer_at(context, scratch, first, p, column));
        set(strip, p, column, x);
        if (spectrum.re) set(strip_of(spectrum, context.size, first), p, column, x);
      }
    backward_fft(strip, context.fft);
  }
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Planes<T> strip = strip_of(seen, context.size, first);
    ifft_strip_transposed(context.fft, wave, first, strip);
  }
}

/// The adjoint of propagate_near_field; `seen` is destroyed. Where the spectrum was kept, adds the
/// slope of the wave's way back by the shift (row, col) to slope[0..1].
template <class T>
inline void propagate_near_field_adjoint(const KernelContext<T>& context,
                                         const ThreadScratch<T>& scratch, Planes<T> seen,
                                         Planes<T> wave, Planes<T> spectrum, double* slope) {
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Planes<T> strip = strip_of(seen, context.size, first);
    fft_strip_transposed(context.fft, strip, first, wave);
  }
  double by_row = 0, by_col = 0;
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    const Planes<T> strip = strip_of(wave, context.size, first);
    forward_fft(strip, context.fft);
    Vector<T> row_sum{};
    for (std::int64_t p = 0; p < context.size; ++p) {
      Vector<T> slopes{};
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const Complex<T> g = get(strip, p, column);
        if (spectrum.re)
          add_slope(context, g, get(strip_of(spectrum, context.size, first), p, column),
                    first + column, row_sum, slopes);
        set(strip, p, column,
            conjugate_product(transfer_at(context, scratch, first, p, column), g));
      }
      if (spectrum.re)
        by_col +=
            lane_sum<T>(slopes) * static_cast<double>(context.frequencies[context.fft.order[p]]);
    }
    backward_fft(strip, context.fft);
    by_row += lane_sum<T>(row_sum);
  }
  if (!spectrum.re) return;
  slope[0] -= 6.283185307179586477 * by_row;
  slope[1] -= 6.283185307179586477 * by_col;
}

/// compare(waves, first) for each strip first.. of the waves (modes, 2) planes as the
/// detector sees them: transposed, or row-major in the near field. With `back`, what it leaves
/// there goes half the way back into scratch.waves; `slope`, unless null, gets what
/// propagate_near_field_adjoint adds.
template <class T, class Compare>
inline void at_detector(const KernelContext<T>& context, const ThreadScratch<T>& scratch, bool back,
                        double* slope, const Compare& compare) {
  const bool near = context.transfer.re != nullptr;
  T* seen = near ? scratch.seen : scratch.waves;
  const auto kept = [&](std::int64_t mode) {
    return scratch.spectrum && slope ? planes_of(context, scratch.spectrum, mode) : Planes<T>{};
  };
  for (std::int64_t mode = 0; near && mode < context.modes; ++mode)
    propagate_near_field(context, scratch, planes_of(context, scratch.waves, mode),
                         planes_of(context, seen, mode), kept(mode));
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    for (std::int64_t mode = 0; !near && mode < context.modes; ++mode)
      forward_fft(strip_of(planes_of(context, seen, mode), context.size, first), context.fft);
    compare(seen, first);
    for (std::int64_t mode = 0; back && !near && mode < context.modes; ++mode)
      backward_fft(strip_of(planes_of(context, seen, mode), context.size, first), context.fft);
  }
  for (std::int64_t mode = 0; back && near && mode < context.modes; ++mode)
    propagate_near_field_adjoint(context, scratch, planes_of(context, seen, mode),
                                 planes_of(context, scratch.waves, mode), kept(mode), slope);
}

/// log(quotient) = exponent log 2 + z + tail: z = quotient - 1 where that is within
/// [sqrt(1/2) - 1, sqrt(2) - 1], tail = log(1 + z) - z.
struct LogParts {
  Simd<float>::Index exponent;
  Vector<float> z, tail;

  [[gnu::always_inline]] Vector<float> logarithm() const {
    constexpr float log2 = 0.693147181F;
    return __builtin_convertvector(exponent, Vector<float>) * log2 + z + tail;
  }
};

/// Of a quotient and of how far it is from 1, taken itself near 1, not as the rounded difference:
/// the Poisson loss's terms cancel there. log(1 + z) = z - z^2 / 2 + z^3 q(z), q fitted on
/// [sqrt(1/2) - 1, sqrt(2) - 1] so that what follows z is right to 3e-6 of z^2 / 2.
[[gnu::always_inline]] inline LogParts log_parts(Vector<float> quotient, Vector<float> from_one) {
  using V = Vector<float>;
  using I = Simd<float>::Index;
  constexpr float q[] = {0.333344668F,  -0.249871194F, 0.199124828F,
                         -0.170527816F, 0.161305308F,  -0.106660314F};
  const I bits = reinterpret_cast<I>(quotient);
  const I exponent = (bits - 0x3f3504f3) >> 23;
  const V mantissa = reinterpret_cast<V>(bits - (exponent << 23)) - 1.0F;
  const V z = exponent == 0 ? from_one : mantissa, square = z * z;
  const V even = (q[4] * square + q[2]) * square + q[0];
  const V odd = (q[5] * square + q[3]) * square + q[1];
  const V series = odd * z + even;
  return {exponent, z, square * (z * series - 0.5F)};
}

[[gnu::always_inline]] inline Vector<float> log_one_minus(Vector<float> share) {
  return log_parts(1.0F - share, -share).logarithm();
}

[[gnu::always_inline]] inline Vector<double> log_one_minus(Vector<double> share) {
  Vector<double> logarithm;
  for (int i = 0; i < kLanes<double>; ++i) logarithm[i] = __builtin_log1p(-share[i]);
  return logarithm;
}

template <class T>
[[gnu::always_inline]] inline Vector<T> root(Vector<T> x) {
  Vector<T> y;
  for (int i = 0; i < kLanes<T>; ++i)
    y[i] = sizeof(T) == 4 ? __builtin_sqrtf(x[i]) : __builtin_sqrt(x[i]);
  return y;
}

/// Math of formulas.h on registers.
template <class T>
struct VectorMath {
  using V = Vector<T>;
  PTYCHE_FORMULA static V root(V x) { return PTYCHE_ISA::root<T>(x); }
  PTYCHE_FORMULA static V sign(V x) {
    const V one = broadcast<T>(1), none = broadcast<T>(0);
    return x > 0 ? one : (x < 0 ? -one : none);
  }
  PTYCHE_FORMULA static V magnitude(V x) { return x * sign(x); }
  PTYCHE_FORMULA static V log_quotient(V excess, V expected, V) {
    return log_one_minus(excess / expected);
  }
};

/// x where `yes` (all bits set, or none), else 0. Not a product: what is masked may be NaN; and no
/// choice, into which the compiler would take the quotient that x is, and divide twice.
template <class T, class Lanes>
inline Vector<T> where(Lanes yes, Vector<T> x) {
  return reinterpret_cast<Vector<T>>(reinterpret_cast<Lanes>(x) & yes);
}

template <class T>
inline Vector<T> power_at(const T* re, std::int64_t plane) {
  const Vector<T> real = load(re), imaginary = load(re + plane);
  return real * real + imaginary * imaginary;
}

/// The light of all modes, times `scale`; `wave` is the first one's real part at a pixel.
template <class T>
inline Vector<T> light_at(const T* wave, std::int64_t plane, std::int64_t modes, T scale) {
  Vector<T> light = scale * power_at(wave, plane);
  for (std::int64_t mode = 1; mode < modes; ++mode)
    light += scale * power_at(wave + 2 * mode * plane, plane);
  return light;
}

/// For the strip first.. of the waves as detector_loss has them: the counts that are expected, into
/// `to` (N, strip).
template <class T>
inline void expected_strip(const KernelContext<T>& context, const T* waves, std::int64_t first,
                           T factor, T* to) {
  const std::int64_t plane = context.size * context.stride;
  const std::int64_t begin = first * context.size, end = begin + kStrip<T> * context.size;
  const T scale = factor / static_cast<T>(context.size * context.size);
  for (std::int64_t at = begin; at < end; at += kLanes<T>) {
    Vector<T> expected = light_at(waves + at, plane, context.modes, scale);
    if (context.background) expected += factor * load(context.background + at);
    store(to + (at - begin), expected);
  }
}

/// detector_loss of one formula, for one mode or any number. All that the loop looks at is a local:
/// the compiler cannot know that no wave is written over a member or a captured number.
template <class T, class Formula, bool kOneMode>
inline void formula_loss(const KernelContext<T>& context, T* waves, std::int64_t first, T factor,
                         Formula formula, ThreadScratch<T>& scratch) {
  const std::int64_t plane = context.size * context.stride, modes = kOneMode ? 1 : context.modes;
  const std::int64_t begin = first * context.size, end = begin + kStrip<T> * context.size;
  const T scale = factor / static_cast<T>(context.size * context.size), floor = context.floor;
  const T *counts = scratch.counts, *mask = context.mask, *background = context.background;
  T* background_gradient = scratch.background_gradient;
  Vector<T> loss_sum{}, factor_sum{};
  for (std::int64_t at = begin; at < end; at += kLanes<T>) {
    T* wave = waves + at;
    Vector<T> expected = light_at(wave, plane, modes, scale), slope;
    if (background) expected += factor * load(background + at);
    const Vector<T> loss =
        formula.template value<VectorMath<T>>(expected, load(counts + (at - begin)), floor, &slope);
    const auto counted = load(mask + at) > 0;
    loss_sum += where<T>(counted, loss);
    factor_sum += where<T>(counted, slope * expected);
    slope = where<T>(counted, slope);
    if (background) {
      T* to = background_gradient + at;
      store(to, load(to) + factor * slope);
    }
    const Vector<T> change = 2 * scale * slope;
    for (std::int64_t mode = 0; mode < modes; ++mode) {
      T *re = wave + 2 * mode * plane, *im = re + plane;
      store(re, load(re) * change);
      store(im, load(im) * change);
    }
  }
  scratch.loss += lane_sum<T>(loss_sum);
  scratch.intensity_slope += lane_sum<T>(factor_sum) / static_cast<double>(factor);
}

/// For the strip first.. of the waves (modes, 2) planes at the detector, whose counts are in
/// scratch.counts: adds the loss to scratch.loss, its slope by the pattern's factor to
/// scratch.intensity_slope and d loss / d intensity to the background's gradient; the waves become
/// the gradient's, d loss / d wave = 2 d loss / d intensity wave. `factor`, above 0, multiplies
/// what is expected, background included.
template <class T>
inline void detector_loss(const KernelContext<T>& context, T* waves, std::int64_t first, T factor,
                          ThreadScratch<T>& scratch) {
  with_formula(context.kind, [&](auto formula) {
    using Formula = decltype(formula);
    context.modes == 1
        ? formula_loss<T, Formula, true>(context, waves, first, factor, formula, scratch)
        : formula_loss<T, Formula, false>(context, waves, first, factor, formula, scratch);
  });
}

}  // namespace ptyche::cpu::PTYCHE_ISA
