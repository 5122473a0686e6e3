// What one pattern says about its patch when no other pattern is asked.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "ptyche/engine/engine.h"

namespace ptyche {

struct SinglePatternOptions {
  std::vector<std::int64_t> steps = {16};  ///< after which the objects are given, ascending, >= 1
  double regularisation = 0.1;             ///< alpha of the object step, 0 < alpha <= 1
  Engine engine = Engine::fused;
};

/// Starting from a flat object of 1, repeats rPIE object steps (Maiden, Johnson & Li, Optica 4, 736
/// (2017), eq. 9) on each pattern alone, with its probe kept:
/// O += sum_m conj(P_m) (F^-1 [psi_m (A - |psi|) / (|psi| + f)]) / ((1 - alpha) |P|^2 +
/// alpha max |P|^2), where psi_m = F [P_m O], |psi|^2 and |P|^2 are sums over modes, and f keeps
/// dark pixels of the model out of the quotient. No pattern sees another one.
///   probes      (k, modes, N, N) complex64 or complex128, each pattern's own
///   amplitudes  (k, N, N) real, sqrt(counts), FFT order; taken in the probes' precision
///   mask        (N, N) bool, FFT order, true = counted
/// Returns (k, steps, N, N) in the probes' precision; not differentiable. Throws InvalidInput
/// naming the shapes where they do not match, for options out of range, or for what the fused
/// engine does not cover.
at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& amplitudes,
                                  const at::Tensor& mask, const SinglePatternOptions& options);

/// Added to the modelled amplitude in the quotient, sqrt(photon).
inline constexpr double kSinglePatternFloor = 1e-3;

}  // namespace ptyche
