// The buffers of one call of the fused loss.
#pragma once

#include <vector>

#include "ptyche/physics/cpu/fft_plan.h"
#include "ptyche/physics/cpu/fused_loss.h"
#include "ptyche/physics/cpu/scratch.h"

namespace ptyche::cpu {

/// Tables in the kernels' layouts, shared by all threads.
template <class T>
struct SharedTables {
  SharedTables(const LossCall<T>& call, const Kernels<T>& kernels);

  FftPlan<T> plan;
  Scratch<T> memory;
  LossTask<T> task;
};

/// What one thread owns.
template <class T>
struct ThreadMemory {
  ThreadMemory(const LossTask<T>& task, const LossCall<T>& call, int strip);

  Scratch<T> memory;
  ThreadState<T> state;
  Canvas<T> canvas;    ///< merged object; the threads of a team use the first one's
  Canvas<T> gradient;  ///< each thread's own
};

/// Turned plane -> (N, N) in FFT order, added.
template <class T>
void add_turned(const LossTask<T>& task, const T* plane, T* to);

extern template struct SharedTables<float>;
extern template struct SharedTables<double>;
extern template struct ThreadMemory<float>;
extern template struct ThreadMemory<double>;
extern template void add_turned(const LossTask<float>&, const float*, float*);
extern template void add_turned(const LossTask<double>&, const double*, double*);

}  // namespace ptyche::cpu
