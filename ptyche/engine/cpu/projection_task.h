// What the kernels of the projection solvers read and write beside a LossTask.
#pragma once

#include "ptyche/engine/cpu/loss_task.h"

namespace ptyche::cpu {

/// What one pattern has to say about object and probe; merged with that of others afterwards, so
/// that patterns can be worked on at the same time.
template <class T>
struct Share {
  Planes<T> object;    ///< framed: sum over modes of conj(probe) x change of the exit wave
  T* power = nullptr;  ///< framed: sum over modes of |probe|^2
  T* probe = nullptr;  ///< (modes, 2) planes: change of the probe, natural or turned as it is kept
  T strongest = 0;     ///< largest `power`
  double misfit = 0;   ///< sum over counted pixels of (sqrt(I) - sqrt(n))^2
};

/// ePIE and rPIE.
template <class T>
struct PieStep {
  bool refine_probe = false;
  T probe_regularisation = 1;  ///< alpha of (1 - alpha) |O|^2 + alpha max |O|^2
};

/// Difference map and relatives: with F the projection onto the measured amplitudes,
/// wave <- keep wave + reflected F(2 P O - wave) + product P O.
template <class T>
struct Reflection {
  T keep = 1, reflected = 1, product = -1;
  T trust = 1;         ///< share of the way to the measured amplitudes that F goes, 0..1
  bool fresh = false;  ///< the stored waves are not yet set: they are P O
};

/// One step of an object, from sums over patterns: with w the summed power,
/// object += step sum / ((1 - alpha) w + alpha max(strongest, w)).
template <class T>
struct ObjectStep {
  T step = 1, regularisation = 1, strongest = 0;
};

/// Sums for the overlap step of the probe, over patterns; planes as in Share.
template <class T>
struct ProbeSums {
  T* change = nullptr;  ///< (modes, 2) planes
  T* power = nullptr;   ///< natural: |patch|^2
};

}  // namespace ptyche::cpu
