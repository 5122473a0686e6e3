// How far the pattern of an exit wave asks that wave to be tilted: along either axis the change of
// the expected amplitudes by a tilt, and what the counted ones say to it, in one pass over memory.
#pragma once

#include "ptyche/engine/cpu/pattern.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// to = wave times the distance from the middle, of rows (axis 0) or columns (axis 1), for columns
/// first.. of a row-major image.
template <class T>
inline void times_distance(Planes<T> wave, const T* distances, std::int64_t size,
                           std::int64_t first, int axis, Planes<T> to) {
  for (std::int64_t r = 0; r < size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const Vector<T> distance =
          axis == 0 ? broadcast<T>(distances[r]) : load(distances + first + column);
      const Complex<T> x = get(wave, r, column);
      set(to, r, column, {x.re * distance, x.im * distance});
    }
}

/// The light of a strip, columns first.. of (N, N), added to what earlier modes have there.
template <class T>
inline void add_light(Planes<T> wave, std::int64_t size, std::int64_t first, bool is_first_mode,
                      T* light) {
  const std::int64_t left = size - first, columns = left < kStrip<T> ? left : kStrip<T>;
  for (std::int64_t r = 0; r < size; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      const T re = wave.re[r * kStrip<T> + c], im = wave.im[r * kStrip<T> + c];
      T& to = light[r * size + first + c];
      to = (is_first_mode ? 0 : to) + re * re + im * im;
    }
}

/// Sums over a strip at the detector: of the misfit times the change, and of the change squared.
template <class T>
struct TiltSums {
  Vector<T> asked[2] = {}, power[2] = {};
};

/// By the strip first.. of the exit waves and of the turned ones, whose counts are in
/// scratch.counts. A tilt makes i r psi of psi, which moves |Psi|^2 by 2 Re(Psi* i F(r psi)).
template <class T>
inline TiltSums<T> tilts_of_strip(const KernelContext<T>& context, std::int64_t first, T factor,
                                  const ThreadScratch<T>& scratch, const TiltScratch<T>& tilt) {
  const std::int64_t plane = context.size * context.stride, modes = context.modes;
  const std::int64_t begin = first * context.size, end = begin + kStrip<T> * context.size;
  const T scale = factor / static_cast<T>(context.size * context.size), least = tilt.least;
  const T *waves = scratch.waves, *counts = scratch.counts, *mask = context.mask;
  const T *turned[2] = {tilt.turned[0], tilt.turned[1]}, *background = context.background;
  TiltSums<T> sums;
  for (std::int64_t at = begin; at < end; at += kLanes<T>) {
    Vector<T> expected = light_at(waves + at, plane, modes, scale);
    if (background) expected += factor * load(background + at);
    const Vector<T> floor = broadcast<T>(least);
    const Vector<T> amplitude = root<T>(expected > floor ? expected : floor);
    const auto counted = load(mask + at) > 0;
    const Vector<T> misfit = where<T>(counted, root<T>(load(counts + (at - begin))) - amplitude);
    const Vector<T> per_wave = where<T>(counted, scale / amplitude);
    for (int axis = 0; axis < 2; ++axis) {
      Vector<T> along{};
      for (std::int64_t mode = 0; mode < modes; ++mode) {
        const std::int64_t re = at + 2 * mode * plane, im = re + plane;
        along +=
            load(waves + im) * load(turned[axis] + re) - load(waves + re) * load(turned[axis] + im);
      }
      const Vector<T> change = along * per_wave;
      sums.asked[axis] += misfit * change;
      sums.power[axis] += change * change;
    }
  }
  return sums;
}

/// See Kernels::pattern_tilt.
template <class T>
void pattern_tilt(const KernelContext<T>& context, const PatchPosition& position, const T* counts,
                  const Planes<T>& canvas, ThreadScratch<T>& scratch, const TiltScratch<T>& tilt,
                  T* light, double* sums) {
  const std::int64_t size = context.size;
  if (context.moved_probe) fourier_shift_probe(context, position, scratch);
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    gather_strip(context, canvas, position, first, scratch.patch);
    for (std::int64_t mode = 0; mode < context.modes; ++mode) {
      const Planes<T> wave = scratch.strip;
      multiply_strip(probe_of(context, scratch, mode), scratch.patch, size, first, wave);
      add_light(wave, size, first, mode == 0, light);
      for (int axis = 0; axis < 2; ++axis) {
        times_distance(wave, tilt.distances, size, first, axis, tilt.strip);
        fft_strip_transposed(context.fft, tilt.strip, first,
                             planes_of(context, tilt.turned[axis], mode));
      }
      fft_strip_transposed(context.fft, wave, first, wave_of(context, scratch, mode));
    }
  }
  T* const blocks[] = {scratch.waves, tilt.turned[0], tilt.turned[1]};
  for (int i = 0; i < 4; ++i) sums[i] = 0;
  for (std::int64_t first = 0; first < context.stride; first += kStrip<T>) {
    for (std::int64_t mode = 0; mode < context.modes; ++mode)
      for (T* block : blocks)
        forward_fft(strip_of(planes_of(context, block, mode), size, first), context.fft);
    load_counts(context, counts, first, scratch.counts);
    const TiltSums<T> strip =
        tilts_of_strip(context, first, static_cast<T>(position.intensity), scratch, tilt);
    for (int axis = 0; axis < 2; ++axis) {
      sums[axis] += lane_sum<T>(strip.asked[axis]);
      sums[2 + axis] += lane_sum<T>(strip.power[axis]);
    }
  }
}

}  // namespace ptyche::cpu::PTYCHE_ISA
