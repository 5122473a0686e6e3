// The buffers of one call of the fused loss.
#pragma once

#include <algorithm>
#include <vector>

#include "ptyche/engine/cpu/fft_plan.h"
#include "ptyche/engine/cpu/fused_loss.h"
#include "ptyche/engine/cpu/scratch.h"

namespace ptyche::cpu {

/// Tables in the kernels' layouts, shared by all threads.
template <class T>
struct SharedTables {
  SharedTables(const LossCall<T>& call, const Kernels<T>& kernels);

  const FftPlan<T>& plan;
  Scratch<T> memory;
  std::vector<Planes<T>> probe;
  LossTask<T> task;
};

/// What one thread owns.
template <class T>
struct ThreadMemory {
  ThreadMemory(const LossTask<T>& task, const LossCall<T>& call, int strip);

  Scratch<T> memory, canvas_memory;
  ThreadState<T> state;
  Canvas<T> canvas;    ///< merged object, not cleared; the threads of a team use the first one's
  Canvas<T> gradient;  ///< each thread's own, not cleared
};

/// Place of (row, col) in a striped plane.
inline std::int64_t striped_index(std::int64_t size, int strip, std::int64_t row,
                                  std::int64_t col) {
  return col / strip * strip * size + row * strip + col % strip;
}

/// visit(place in the plane, row, col) for the (size, size) pixels of a striped plane.
template <class Visit>
void for_striped(std::int64_t size, int strip, const Visit& visit) {
  for (std::int64_t first = 0; first < size; first += strip) {
    const std::int64_t columns = std::min<std::int64_t>(strip, size - first);
    for (std::int64_t row = 0; row < size; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        visit(first * size + row * strip + column, row, first + column);
  }
}

/// visit(place in a plane at the detector, number of its pixel in FFT order).
template <class T, class Visit>
void for_detector(const LossTask<T>& task, int strip, const Visit& visit) {
  for_striped(task.size, strip, [&](std::int64_t at, std::int64_t p, std::int64_t q) {
    visit(at, task.transfer.re ? p * task.size + q : q * task.size + task.fft.order[p]);
  });
}

extern template struct SharedTables<float>;
extern template struct SharedTables<double>;
extern template struct ThreadMemory<float>;
extern template struct ThreadMemory<double>;

}  // namespace ptyche::cpu
