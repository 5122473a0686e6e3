// One pattern: canvas -> patch -> exit wave -> detector -> loss, and back, strip by strip.
//
// Two FFTs per mode and direction would pass over memory eight times; here the exit wave is formed,
// transformed, compared, transformed back and used up while its strip is in the first cache.
#pragma once

#include "ptyche/physics/cpu/between_pixels.h"
#include "ptyche/physics/cpu/logarithm.h"
#include "ptyche/physics/cpu/square_fft.h"

namespace ptyche::cpu::PTYCHE_ISA {

/// The buffers of one mode.
template <class T>
struct ModeBuffers {
  Strip<T> strip;
  Planes<T> wave, probe, probe_gradient;
};

template <class T>
inline ModeBuffers<T> mode_buffers(const LossTask<T>& task, const ThreadState<T>& state,
                                   std::int64_t mode) {
  const std::int64_t plane = task.stride * task.stride, strip = task.size * kStrip<T>;
  T* moved = state.moved + 2 * mode * plane;
  T* own_re = const_cast<T*>(task.probe_re) + mode * plane;
  T* own_im = const_cast<T*>(task.probe_im) + mode * plane;
  return {{state.strips + 2 * mode * strip, state.strips + (2 * mode + 1) * strip},
          {state.waves + 2 * mode * plane, state.waves + (2 * mode + 1) * plane},
          task.moved_probe ? Planes<T>{moved, moved + plane} : Planes<T>{own_re, own_im},
          {state.probe_gradient + 2 * mode * plane, state.probe_gradient + (2 * mode + 1) * plane}};
}

/// strip = a b (or a conj(b)) for columns first.. of two natural images.
template <class T, bool Conjugate>
inline void multiply_strip(Planes<T> a, Planes<T> b, std::int64_t stride, std::int64_t size,
                           std::int64_t first, Strip<T> strip) {
  for (std::int64_t r = 0; r < size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t at = r * stride + first + column;
      const Vector<T> ar = load(a.re + at), ai = load(a.im + at);
      const Vector<T> br = load(b.re + at), bi = Conjugate ? -load(b.im + at) : load(b.im + at);
      strip.set(r, column, {ar * br - ai * bi, ar * bi + ai * br});
    }
}

/// Patch and counts of one pattern into the thread's planes.
template <class T>
inline void fetch(const LossTask<T>& task, const Place& place, const T* counts,
                  const Canvas<T>& canvas, ThreadState<T>& state) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t r = 0; r < task.size; ++r) {
    see_row(canvas.re, canvas.stride, place, r, task.size, state.patch.re + r * task.stride);
    see_row(canvas.im, canvas.stride, place, r, task.size, state.patch.im + r * task.stride);
  }
  // (row, col) -> turned: row p holds column frequency order[p].
  const std::int64_t whole = task.size / lanes * lanes;
  for (std::int64_t r = 0; r < whole; r += lanes)
    for (std::int64_t c = 0; c < whole; c += lanes) {
      Vector<T> block[lanes];
      for (int i = 0; i < lanes; ++i) block[i] = load(counts + (r + i) * task.size + c);
      transpose<T>(block);
      for (int i = 0; i < lanes; ++i)
        store(state.counts + task.fft.position[c + i] * task.stride + r, block[i]);
    }
  for (std::int64_t r = 0; r < task.size; ++r)
    for (std::int64_t c = r < whole ? whole : 0; c < task.size; ++c)
      state.counts[task.fft.position[c] * task.stride + r] = counts[r * task.size + c];
}

/// Phase factors exp(-2 pi i f d) by row and by column.
template <class T>
inline void fill_phases(const LossTask<T>& task, const Place& place, T* phases) {
  const double shift[2] = {place.row_shift, place.col_shift};
  for (int axis = 0; axis < 2; ++axis)
    for (std::int64_t f = 0; f < task.size; ++f) {
      const double angle =
          -6.283185307179586477 * static_cast<double>(task.frequencies[f]) * shift[axis];
      phases[2 * axis * task.stride + f] = static_cast<T>(__builtin_cos(angle));
      phases[(2 * axis + 1) * task.stride + f] = static_cast<T>(__builtin_sin(angle));
    }
}

/// The phase factor of row p and columns at.. of a turned plane.
template <class T>
inline Complex<T> phase_at(const LossTask<T>& task, const T* phases, std::int64_t p,
                           std::int64_t at) {
  const std::int64_t q = task.fft.order[p];
  const Complex<T> row = {load(phases + at), load(phases + task.stride + at)};
  return turn<T, false>(row, phases[2 * task.stride + q], phases[3 * task.stride + q]);
}

template <class T>
inline Complex<T> multiply(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// The probe's modes, moved by the place's shift, into their planes.
template <class T>
inline void move_probe(const LossTask<T>& task, const Place& place, ThreadState<T>& state) {
  fill_phases(task, place, state.phases);
  const std::int64_t plane = task.stride * task.stride;
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    const T *re = task.spectrum_re + mode * plane, *im = task.spectrum_im + mode * plane;
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      for (std::int64_t p = 0; p < task.size; ++p)
        for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
          const std::int64_t at = first + column, i = p * task.stride + at;
          own.strip.set(
              p, column,
              multiply<T>({load(re + i), load(im + i)}, phase_at(task, state.phases, p, at)));
        }
      backward_fft(own.strip, task.fft);
      store_columns(own.strip.re, task.size, first, own.wave.re, task.stride, T(1));
      store_columns(own.strip.im, task.size, first, own.wave.im, task.stride, T(1));
    }
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      load_turned(own.wave.re, task.stride, task.fft, first, own.strip.re);
      load_turned(own.wave.im, task.stride, task.fft, first, own.strip.im);
      backward_fft(own.strip, task.fft);
      store_columns(own.strip.re, task.size, first, own.probe.re, task.stride, T(1));
      store_columns(own.strip.im, task.size, first, own.probe.im, task.stride, T(1));
    }
  }
}

/// Loss and its derivative by the intensity.
template <class T, LossKind Kind>
inline void compare(Vector<T> intensity, Vector<T> counts, T floor, Vector<T>& loss,
                    Vector<T>& slope) {
  const Vector<T> difference = intensity - counts;
  if constexpr (Kind == LossKind::poisson) {
    loss = poisson_terms(difference, counts, floor);
    slope = 1 - counts / (intensity + floor);
  } else {
    const Vector<T> amplitude = root<T>(intensity + floor),
                    misfit = amplitude - root<T>(counts + floor);
    if constexpr (Kind == LossKind::amplitude_square) {
      loss = misfit * misfit;
      slope = misfit / amplitude;
    } else {
      const Vector<T> one = broadcast<T>(1), none = broadcast<T>(0);
      const Vector<T> sign = misfit > 0 ? one : (misfit < 0 ? -one : none);
      loss = misfit * sign;
      slope = static_cast<T>(0.5) * sign / amplitude;
    }
  }
}

/// At the detector, for the strip of frequencies first..: waves of all modes -> loss; the waves
/// become the gradient's, d loss / d wave = 2 d loss / d I wave.
template <class T, LossKind Kind>
inline void detect_strip(const LossTask<T>& task, ThreadState<T>& state, std::int64_t first) {
  const T scale = 1 / static_cast<T>(task.size * task.size);
  const std::int64_t strip = task.size * kStrip<T>;
  Vector<T> loss_sum{};
  for (std::int64_t p = 0; p < task.size; ++p)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t in_strip = p * kStrip<T> + column, at = p * task.stride + first + column;
      Vector<T> intensity{};
      for (std::int64_t mode = 0; mode < task.modes; ++mode) {
        const T* wave = state.strips + 2 * mode * strip + in_strip;
        const Vector<T> re = load(wave), im = load(wave + strip);
        intensity += re * re + im * im;
      }
      intensity = intensity * scale + load(task.background + at);
      const Vector<T> mask = load(task.mask + at);
      Vector<T> loss, slope;
      compare<T, Kind>(intensity, load(state.counts + at), task.floor, loss, slope);
      loss_sum += loss * mask;
      slope *= mask;
      T* background = state.background_gradient + at;
      store(background, load(background) + slope);
      const Vector<T> factor = 2 * scale * slope;
      for (std::int64_t mode = 0; mode < task.modes; ++mode) {
        T* wave = state.strips + 2 * mode * strip + in_strip;
        store(wave, load(wave) * factor);
        store(wave + strip, load(wave + strip) * factor);
      }
    }
  state.loss += lane_sum<T>(loss_sum);
}

template <class T>
inline void detect(const LossTask<T>& task, ThreadState<T>& state, std::int64_t first) {
  switch (task.kind) {
    case LossKind::poisson:
      return detect_strip<T, LossKind::poisson>(task, state, first);
    case LossKind::amplitude_square:
      return detect_strip<T, LossKind::amplitude_square>(task, state, first);
    case LossKind::amplitude_absolute:
      return detect_strip<T, LossKind::amplitude_absolute>(task, state, first);
  }
}

/// Exit waves, first half of their transform: natural planes -> `wave`, turned half way.
template <class T>
inline void send(const LossTask<T>& task, const ThreadState<T>& state) {
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      multiply_strip<T, false>(own.probe, state.patch, task.stride, task.size, first, own.strip);
      forward_fft(own.strip, task.fft);
      store_turned(own.strip.re, task.fft, first, own.wave.re, task.stride);
      store_turned(own.strip.im, task.fft, first, own.wave.im, task.stride);
    }
  }
}

/// Second half of the transform, loss, and the first half of the way back.
template <class T>
inline void meet(const LossTask<T>& task, ThreadState<T>& state) {
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    for (std::int64_t mode = 0; mode < task.modes; ++mode) {
      const ModeBuffers<T> own = mode_buffers(task, state, mode);
      load_columns(own.wave.re, task.stride, task.size, first, own.strip.re);
      load_columns(own.wave.im, task.stride, task.size, first, own.strip.im);
      forward_fft(own.strip, task.fft);
    }
    detect(task, state, first);
    if (!task.want_gradient) continue;
    for (std::int64_t mode = 0; mode < task.modes; ++mode) {
      const ModeBuffers<T> own = mode_buffers(task, state, mode);
      backward_fft(own.strip, task.fft);
      store_columns(own.strip.re, task.size, first, own.wave.re, task.stride, T(1));
      store_columns(own.strip.im, task.size, first, own.wave.im, task.stride, T(1));
    }
  }
}

/// conj(probe) strip added to the patch's gradient (written if `fresh`).
template <class T>
inline void add_patch_gradient(const LossTask<T>& task, const ThreadState<T>& state,
                               const ModeBuffers<T>& own, std::int64_t first, bool fresh) {
  for (std::int64_t r = 0; r < task.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t at = r * task.stride + first + column;
      const Complex<T> x = own.strip.get(r, column);
      const Vector<T> pr = load(own.probe.re + at), pi = load(own.probe.im + at);
      const Vector<T> re = pr * x.re + pi * x.im, im = pr * x.im - pi * x.re;
      T *to_re = state.patch_gradient.re + at, *to_im = state.patch_gradient.im + at;
      store(to_re, fresh ? re : load(to_re) + re);
      store(to_im, fresh ? im : load(to_im) + im);
    }
}

/// strip = conj(patch) strip, the gradient of the probe as this pattern saw it.
template <class T>
inline void to_probe_gradient(const LossTask<T>& task, const ThreadState<T>& state, Strip<T> strip,
                              std::int64_t first) {
  for (std::int64_t r = 0; r < task.size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t at = r * task.stride + first + column;
      const Complex<T> x = strip.get(r, column);
      const Vector<T> re = load(state.patch.re + at), im = load(state.patch.im + at);
      strip.set(r, column, {re * x.re + im * x.im, re * x.im - im * x.re});
    }
}

/// Adds a strip to columns first.. of a pair of planes.
template <class T>
inline void add_strip(Strip<T> strip, std::int64_t size, std::int64_t first, Planes<T> to,
                      std::int64_t stride) {
  for (std::int64_t r = 0; r < size; ++r)
    for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
      const std::int64_t at = r * stride + first + column;
      const Complex<T> x = strip.get(r, column);
      store(to.re + at, load(to.re + at) + x.re);
      store(to.im + at, load(to.im + at) + x.im);
    }
}

/// Second half of the gradient of a moved probe: `wave` holds its transform half way. Adds it to
/// the turned probe gradient and its slope to gradient[0], [1] (row, col of the shift).
template <class T>
inline void add_moved_gradient(const LossTask<T>& task, const ThreadState<T>& state,
                               std::int64_t mode, double* gradient) {
  const ModeBuffers<T> own = mode_buffers(task, state, mode);
  const std::int64_t plane = task.stride * task.stride;
  const T *sr = task.spectrum_re + mode * plane, *si = task.spectrum_im + mode * plane;
  double by_row = 0, by_col = 0;
  for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
    load_columns(own.wave.re, task.stride, task.size, first, own.strip.re);
    load_columns(own.wave.im, task.stride, task.size, first, own.strip.im);
    forward_fft(own.strip, task.fft);
    Vector<T> row_sum{};
    for (std::int64_t p = 0; p < task.size; ++p) {
      Vector<T> slopes{};
      for (int column = 0; column < kStrip<T>; column += kLanes<T>) {
        const std::int64_t at = first + column, i = p * task.stride + at;
        const Complex<T> g = own.strip.get(p, column), w = phase_at(task, state.phases, p, at);
        const Vector<T> re = g.re * w.re + g.im * w.im, im = g.im * w.re - g.re * w.im;
        store(own.probe_gradient.re + i, load(own.probe_gradient.re + i) + re);
        store(own.probe_gradient.im + i, load(own.probe_gradient.im + i) + im);
        const Vector<T> slope = re * load(si + i) - im * load(sr + i);
        slopes += slope;
        row_sum += slope * load(task.frequencies + at);
      }
      by_col += lane_sum<T>(slopes) * static_cast<double>(task.frequencies[task.fft.order[p]]);
    }
    by_row += lane_sum<T>(row_sum);
  }
  gradient[0] += 6.283185307179586477 * by_row;
  gradient[1] += 6.283185307179586477 * by_col;
}

/// Second half of the way back, and its use for patch and probe.
template <class T>
inline void receive(const LossTask<T>& task, ThreadState<T>& state, double* place_gradient) {
  for (std::int64_t mode = 0; mode < task.modes; ++mode) {
    const ModeBuffers<T> own = mode_buffers(task, state, mode);
    for (std::int64_t first = 0; first < task.stride; first += kStrip<T>) {
      load_turned(own.wave.re, task.stride, task.fft, first, own.strip.re);
      load_turned(own.wave.im, task.stride, task.fft, first, own.strip.im);
      backward_fft(own.strip, task.fft);
      add_patch_gradient(task, state, own, first, mode == 0);
      to_probe_gradient(task, state, own.strip, first);
      if (!task.moved_probe) {
        add_strip(own.strip, task.size, first, own.probe_gradient, task.stride);
        continue;
      }
      forward_fft(own.strip, task.fft);
      store_turned(own.strip.re, task.fft, first, own.wave.re, task.stride);
      store_turned(own.strip.im, task.fft, first, own.wave.im, task.stride);
    }
    if (task.moved_probe) add_moved_gradient(task, state, mode, place_gradient + 2);
  }
}

/// The patch's gradient back onto the canvas, and the slope by position.
template <class T>
inline void give_back(const LossTask<T>& task, const Place& place, const Canvas<T>& canvas,
                      const Canvas<T>& gradient, const ThreadState<T>& state,
                      double* place_gradient) {
  for (std::int64_t r = 0; r < task.size; ++r) {
    const T* re = state.patch_gradient.re + r * task.stride;
    const T* im = state.patch_gradient.im + r * task.stride;
    const std::int64_t rows = gradient.rows;
    spread_row(re, gradient.re, gradient.stride, place, r, task.size, state.row_buffer, 0, rows);
    spread_row(im, gradient.im, gradient.stride, place, r, task.size, state.row_buffer, 0, rows);
    if (task.moved_probe) continue;
    row_slopes(re, canvas.re, canvas.stride, place, r, task.size, place_gradient);
    row_slopes(im, canvas.im, canvas.stride, place, r, task.size, place_gradient);
  }
}

template <class T>
void pattern(const LossTask<T>& task, const Place& place, const T* counts, const Canvas<T>& canvas,
             const Canvas<T>& gradient, ThreadState<T>& state, double* place_gradient) {
  fetch(task, place, counts, canvas, state);
  if (task.moved_probe) move_probe(task, place, state);
  send(task, state);
  meet(task, state);
  if (!task.want_gradient) return;
  for (int i = 0; i < 4; ++i) place_gradient[i] = 0;
  receive(task, state, place_gradient);
  give_back(task, place, canvas, gradient, state, place_gradient);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
