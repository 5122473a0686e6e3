// One pattern of the difference map and its relatives, whose exit waves are kept from pass to pass.
#pragma once

#include "ptyche/engine/cpu/amplitude_projection.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// First half of the transform of 2 P O - wave (of P O while the waves are fresh).
template <class T>
inline void forward_reflected_waves(const KernelContext<T>& context,
                                    const ThreadScratch<T>& scratch, T* waves) {
  const Strip<T> strip{scratch.strip};
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    const Planes<T> kept = planes_of(context, waves, mode);
    for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
      multiply_strip(probe_of(context, scratch, mode), scratch.patch, context.size, first, strip);
      const std::int64_t begin = first * context.size;
      for (std::int64_t i = 0; i < context.size * kStrip<T>; i += kLanes<T>) {
        store(strip.re + i, 2 * load(strip.re + i) - load(kept.re + begin + i));
        store(strip.im + i, 2 * load(strip.im + i) - load(kept.im + begin + i));
      }
      fft_strip_transposed(context.fft, strip, first, wave_of(context, scratch, mode));
    }
  }
}

/// The waves of the next pass, and what they ask of the object: conj(P) (wave - P O).
template <class T, bool First>
inline Vector<T> update_wave_strip(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                                   Planes<T> probe_planes, std::int64_t first,
                                   const DifferenceMapCoefficients<T>& how, Strip<T> kept,
                                   const PatternUpdate<T>& update) {
  const Strip<T> strip{scratch.strip}, probe = strip_of(probe_planes, context.size, first);
  const Strip<T> patch = strip_of(scratch.patch, context.size, first);
  const T keep = how.fresh ? 0 : how.keep, product_part = how.product + how.keep - keep;
  Vector<T> strongest{};
  for (std::int64_t r = 0; r < context.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> p = probe.get(r, column), y = strip.get(r, column);
      const Complex<T> seen = product(p, patch.get(r, column)), old = kept.get(r, column);
      const Complex<T> wave = {keep * old.re + how.reflected * y.re + product_part * seen.re,
                               keep * old.im + how.reflected * y.im + product_part * seen.im};
      kept.set(r, column, wave);
      const std::int64_t at = r * context.frame + first + column;
      strongest = larger<T>(strongest, add_object_update<T, First>(update, at, p, wave - seen));
    }
  return strongest;
}

template <class T, bool First>
inline void update_wave_mode(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                             std::int64_t mode, const DifferenceMapCoefficients<T>& how, T* waves,
                             PatternUpdate<T>& update) {
  const Planes<T> kept = planes_of(context, waves, mode);
  Vector<T> strongest{};
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    ifft_strip_transposed(context.fft, wave_of(context, scratch, mode), first,
                          Strip<T>{scratch.strip});
    strongest = larger<T>(strongest, update_wave_strip<T, First>(
                                         context, scratch, probe_of(context, scratch, mode), first,
                                         how, strip_of(kept, context.size, first), update));
  }
  update.strongest = lane_max<T>(strongest);
}

/// Brings the waves (modes, 2) planes of one pattern to the next pass, see
/// DifferenceMapCoefficients, and fills the object's part of its update.
template <class T>
void difference_map_step(const KernelContext<T>& context, const PatchPosition& position,
                         const T* amplitudes, const Canvas<T>& object,
                         const DifferenceMapCoefficients<T>& how, T* waves,
                         ThreadScratch<T>& scratch, PatternUpdate<T>& update) {
  load_patch(context, position, object, scratch);
  if (how.fresh)
    forward_exit_waves(context, scratch, [](std::int64_t) {});
  else
    forward_reflected_waves(context, scratch, waves);
  update.misfit = project<T, false>(context, scratch, amplitudes, how.trust);
  update_wave_mode<T, true>(context, scratch, 0, how, waves, update);
  for (std::int64_t mode = 1; mode < context.modes; ++mode)
    update_wave_mode<T, false>(context, scratch, mode, how, waves, update);
}

/// A strip of conj(O) (wave - P O): added to the sum, or with Moved left in the thread's strip.
template <class T, bool Moved>
inline void sum_strip(const KernelContext<T>& context, const ThreadScratch<T>& scratch,
                      Planes<T> probe_planes, std::int64_t first, Strip<T> kept, Strip<T> sum) {
  const Strip<T> strip{scratch.strip}, probe = strip_of(probe_planes, context.size, first);
  const Strip<T> patch = strip_of(scratch.patch, context.size, first);
  for (std::int64_t r = 0; r < context.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Complex<T> o = patch.get(r, column);
      const Complex<T> x = kept.get(r, column) - product(probe.get(r, column), o);
      const Complex<T> change = conjugate_product(o, x);
      if constexpr (Moved)
        strip.set(r, column, change);
      else
        sum.set(r, column, sum.get(r, column) + change);
    }
}

/// Adds to the sums what the kept waves of one pattern ask of the probe.
template <class T>
void sum_probe(const KernelContext<T>& context, const PatchPosition& position,
               const Canvas<T>& object, T* waves, ThreadScratch<T>& scratch,
               const ProbeSums<T>& sums) {
  load_patch(context, position, object, scratch);
  for (std::int64_t i = 0; i < context.size * context.stride; i += kLanes<T>) {
    const Vector<T> re = load(scratch.patch.re + i), im = load(scratch.patch.im + i);
    store(sums.power + i, load(sums.power + i) + re * re + im * im);
  }
  for (std::int64_t mode = 0; mode < context.modes; ++mode) {
    const Planes<T> kept = planes_of(context, waves, mode),
                    sum = planes_of(context, sums.change, mode);
    for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
      const Strip<T> from = strip_of(kept, context.size, first),
                     to = strip_of(sum, context.size, first);
      if (!context.moved_probe) {
        sum_strip<T, false>(context, scratch, probe_of(context, scratch, mode), first, from, to);
        continue;
      }
      sum_strip<T, true>(context, scratch, probe_of(context, scratch, mode), first, from, to);
      fft_strip_transposed(context.fft, Strip<T>{scratch.strip}, first,
                           wave_of(context, scratch, mode));
    }
    if (context.moved_probe)
      fourier_shift_adjoint<T, true>(context, scratch, wave_of(context, scratch, mode), sum);
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
