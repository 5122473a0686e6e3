// The probe moved in Fourier space, and the gradients that are sums over patterns: what the kernels
// do at one pixel.
#pragma once

#include "ptyche/engine/cuda/problem.h"

namespace ptyche::cuda {

/// Frequency i of a transform of `size` points, cycles per pixel.
PTYCHE_BOTH inline double frequency(std::int64_t i, std::int64_t size) {
  return static_cast<double>(i < (size + 1) / 2 ? i : i - size) / static_cast<double>(size);
}

/// to = scale from. Rows: modes x N.
template <class T>
struct ScaleBody {
  static constexpr int kSums = 0;
  const Complex<T>* from = nullptr;
  Complex<T>* to = nullptr;
  std::int64_t size = 0;
  T scale = 1;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t j, double*) const {
    to[line * size + j] = scale * from[line * size + j];
  }
};

/// Phase factors exp(-2 pi i f d) of the shift theorem. Rows: slots of the chunk x 2 axes.
template <class T>
struct PhaseBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t f, double*) const {
    const Slot<T> slot = problem.slots[chunk.first + line / 2];
    const double shift = line % 2 == 0 ? slot.row_shift : slot.col_shift;
    const double angle = -6.283185307179586477 * frequency(f, problem.size) * shift;
    chunk.phase[line * problem.size + f] = {static_cast<T>(std::cos(angle)),
                                            static_cast<T>(std::sin(angle))};
  }
};

/// The phase factor of slot k at frequency (row, col).
template <class T>
PTYCHE_BOTH inline Complex<T> phase_at(const Chunk<T>& chunk, std::int64_t size, std::int64_t k,
                                       std::int64_t row, std::int64_t col) {
  return chunk.phase[2 * k * size + row] * chunk.phase[(2 * k + 1) * size + col];
}

/// Spectrum of the moved probe. Rows: slots of the chunk x modes x N.
template <class T>
struct MoveBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t col, double*) const {
    const std::int64_t size = problem.size, row = line % size, image = line / size;
    const std::int64_t k = image / problem.modes, mode = image % problem.modes;
    chunk.moved[line * size + col] =
        chunk.spectrum[(mode * size + row) * size + col] * phase_at(chunk, size, k, row, col);
  }
};

/// d loss / d shift of the probe, but for the factor 2 pi; `wave` holds the transform of the moved
/// probe's gradient. Rows: slots of the chunk x N.
template <class T>
struct ShiftSlopeBody {
  static constexpr int kSums = 2;  // by row, by column
  Problem<T> problem;
  Chunk<T> chunk;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t col, double* sums) const {
    const std::int64_t size = problem.size, k = line / size, row = line % size;
    const Complex<T> phase = phase_at(chunk, size, k, row, col);
    T slope = 0;
    for (std::int64_t mode = 0; mode < problem.modes; ++mode) {
      const Complex<T> back =
          conj_times(phase, chunk.wave[((k * problem.modes + mode) * size + row) * size + col]);
      const Complex<T> s = chunk.spectrum[(mode * size + row) * size + col];
      slope += back.re * s.im - back.im * s.re;
    }
    sums[0] += static_cast<double>(slope) * frequency(row, size);
    sums[1] += static_cast<double>(slope) * frequency(col, size);
  }
};

/// A sum over the patterns of a chunk is cut into so many parts, which run side by side.
inline constexpr std::int64_t kSlices = 16;

/// The slots of one slice.
struct Slice {
  std::int64_t first, last;

  PTYCHE_BOTH Slice(std::int64_t slice, std::int64_t count)
      : first(count * slice / kSlices), last(count * (slice + 1) / kSlices) {}
};

/// Gradient of the probe, or of its spectrum, summed over one slice. Rows: kSlices x modes x N.
template <class T>
struct ProbeSliceBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;
  Complex<T>* slices = nullptr;  ///< (kSlices, modes, N, N)

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t col, double*) const {
    const std::int64_t size = problem.size, row = line % size, image = line / size;
    const std::int64_t mode = image % problem.modes;
    const Slice slice(image / problem.modes, chunk.count);
    Complex<T> sum;
    for (std::int64_t k = slice.first; k < slice.last; ++k) {
      const Complex<T> back = chunk.wave[((k * problem.modes + mode) * size + row) * size + col];
      sum += conj_times(problem.moved_probe ? phase_at(chunk, size, k, row, col)
                                            : chunk.seen[(k * size + row) * size + col],
                        back);
    }
    slices[line * size + col] = sum;
  }
};

/// Gradient of the background summed over one slice. Rows: kSlices x N.
template <class T>
struct BackgroundSliceBody {
  static constexpr int kSums = 0;
  Problem<T> problem;
  Chunk<T> chunk;
  T* slices = nullptr;  ///< (kSlices, N, N)

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t col, double*) const {
    const std::int64_t size = problem.size, row = line % size;
    const Slice slice(line / size, chunk.count);
    T sum = 0;
    for (std::int64_t k = slice.first; k < slice.last; ++k)
      sum += chunk.slope[(k * size + row) * size + col];
    slices[line * size + col] = sum;
  }
};

/// Slices added to the total. Rows: of one slice.
template <class V>
struct AddSlicesBody {
  static constexpr int kSums = 0;
  const V* slices = nullptr;
  V* to = nullptr;
  std::int64_t lines = 0, size = 0;

  PTYCHE_BOTH void operator()(std::int64_t line, std::int64_t col, double*) const {
    V sum = to[line * size + col];
    for (std::int64_t slice = 0; slice < kSlices; ++slice)
      sum += slices[(slice * lines + line) * size + col];
    to[line * size + col] = sum;
  }
};

}  // namespace ptyche::cuda
