// Canvas -> exit wave -> detector -> loss, and back: what the kernels do at one pixel. The
// transforms between them are cuFFT's. Rows of all grids: slots of the chunk x N.
#pragma once

#include "ptyche/engine/cuda/between_pixels.h"

namespace ptyche::cuda {

/// What a pattern sees of its canvas, times the probe's modes.
template <class T>
struct ExitWaveBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t j, double*) const {
    const std::int64_t size = problem.size, image = size * size;
    const std::int64_t k = line / size, i = line % size, pixel = i * size + j;
    const Slot<T> slot = problem.slots[chunk.first + k];
    const Complex<T> seen = value(Quad<Complex<T>, T>(problem, problem.canvas, slot, i, j));
    chunk.seen[k * image + pixel] = seen;
    for (std::int64_t mode = 0; mode < problem.modes; ++mode) {
      const std::int64_t at = (k * problem.modes + mode) * image + pixel;
      chunk.wave[at] =
          (problem.moved_probe ? chunk.moved[at] : problem.probe[mode * image + pixel]) * seen;
    }
  }
};

/// Waves at the detector -> loss; the waves become the gradient's, d loss / d wave = 2 d loss / d I
/// wave. The transforms are not normalised: I = |wave|^2 / N^2.
template <class T>
struct DetectBody {
  static constexpr int kSums = 1;  // loss
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t j, double* sums) const {
    const std::int64_t size = problem.size, image = size * size;
    const std::int64_t k = line / size, pixel = line % size * size + j;
    Complex<T>* wave = chunk.wave + k * problem.modes * image + pixel;
    const T scale = 1 / static_cast<T>(image);
    const T counts = problem.counts[problem.slots[chunk.first + k].pattern * image + pixel];
    // In float the terms of the Poisson loss would cancel near I = n down to nothing.
    const auto wide = static_cast<double>(intensity(wave, image, scale, pixel));
    double slope_here = 0;
    const double loss = with_formula(problem.kind, [&](auto formula) {
      return formula.template value<NumberMath<double>>(
          wide, static_cast<double>(counts), static_cast<double>(problem.floor), &slope_here);
    });
    // Not a product with 0: what is masked may be NaN.
    const bool counted = problem.mask[pixel];
    if (counted) sums[0] += loss;
    if (!problem.want_gradient) return;
    const T slope = counted ? static_cast<T>(slope_here) : T(0);
    if (chunk.slope) chunk.slope[k * image + pixel] = slope;
    for (std::int64_t mode = 0; mode < problem.modes; ++mode)
      wave[mode * image] = (2 * scale * slope) * wave[mode * image];
  }

 private:
  PTYCHE_BOTH T intensity(const Complex<T>* wave, std::int64_t image, T scale,
                          std::int64_t pixel) const {
    T sum = 0;
    for (std::int64_t mode = 0; mode < problem.modes; ++mode)
      sum += dot(wave[mode * image], wave[mode * image]);
    return sum * scale + (problem.background ? problem.background[pixel] : T(0));
  }
};

/// Gradient of the exit waves -> of what was seen. A moved probe's gradient takes the place of the
/// wave, ready to be transformed.
template <class T>
struct ExitWaveBackwardBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t j, double*) const {
    const std::int64_t size = problem.size, image = size * size;
    const std::int64_t k = line / size, pixel = line % size * size + j;
    const Complex<T> seen = chunk.seen[k * image + pixel];
    Complex<T> sum;
    for (std::int64_t mode = 0; mode < problem.modes; ++mode) {
      const std::int64_t at = (k * problem.modes + mode) * image + pixel;
      const Complex<T> gradient = chunk.wave[at];
      if (problem.moved_probe) {
        sum += conj_times(chunk.moved[at], gradient);
        chunk.wave[at] = conj_times(seen, gradient);
      } else {
        sum += conj_times(problem.probe[mode * image + pixel], gradient);
      }
    }
    chunk.back[k * image + pixel] = sum;
  }
};

/// d loss / d corner of a pattern that is interpolated: its gradient times the canvas's slope.
template <class T>
struct PlaceSlopeBody {
  static constexpr int kSums = 2;  // by row, by column
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t j, double* sums) const {
    const std::int64_t size = problem.size, k = line / size, i = line % size;
    const Slot<T> slot = problem.slots[chunk.first + k];
    const Quad<Complex<T>, T> square(problem, problem.canvas, slot, i, j);
    const Complex<T> gradient = chunk.back[(k * size + i) * size + j];
    sums[0] += static_cast<double>(dot(gradient, by_row(square)));
    sums[1] += static_cast<double>(dot(gradient, by_col(square)));
  }
};

/// Sums by image row -> one number per pattern, added: rows: slots of the chunk, columns: how many
/// numbers a pattern has.
template <class T>
struct CollectBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;
  std::int64_t columns = 1;
  double scale = 1;
  double* to = nullptr;  ///< number c of pattern p at p * stride + c
  std::int64_t stride = 1;

  PTYCHE_BOTH void operator()(std::int64_t k, std::int64_t column, double*) const {
    double sum = 0;
    for (std::int64_t i = 0; i < problem.size; ++i)
      sum += chunk.parts[(k * problem.size + i) * columns + column];
    to[problem.slots[chunk.first + k].pattern * stride + column] += scale * sum;
  }
};

}  // namespace ptyche::cuda
