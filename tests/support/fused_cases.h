// Random calls of the fused loss, and what the reference engine says about them.
#pragma once

#include <vector>

#include "ptyche/engine/fused_call.h"

namespace ptyche {

struct FusedCase {
  std::int64_t size = 16, modes = 1;
  std::vector<std::int64_t> group_sizes = {4};  ///< empty: seven patterns on one whole object
  Interpolation interpolation = Interpolation::bilinear;
  LossKind kind = LossKind::poisson;
  bool half_merged = false, background = true, whole_pixels = false;
  double merge_floor = 0;
  at::ScalarType real = at::kDouble;
};

/// The call of a case: everything that FusedCall is made from.
struct FusedInputs {
  FusedSetting setting;
  at::Tensor picture, probe, background;
};
FusedInputs fused_inputs(const FusedCase& of);

/// Loss, gradients of picture, probe, background, corners, fractions; undefined where there is
/// none.
using FusedAnswers = std::vector<at::Tensor>;

/// The answers of the reference engine, in float64.
FusedAnswers reference_answers(const FusedInputs& inputs);

/// The largest relative difference |found - expected| / |expected| of the answers; where nothing is
/// expected, the largest number found.
double largest_mismatch(const FusedAnswers& found, const FusedAnswers& expected);

/// Cases that between them take every way through the engine.
std::vector<FusedCase> fused_cases();

/// A case in words, for messages.
std::string to_string(const FusedCase& of);

}  // namespace ptyche
