// Random batches for the loss, the same for every engine, and what an engine says about them.
#pragma once

#include <string>
#include <vector>

#include "ptyche/engine/loss.h"

namespace ptyche {

/// Patches of groups, or one whole object, with random counts and probe.
struct LossCase {
  std::int64_t size = 32, modes = 1;
  std::vector<std::int64_t> group_sizes = {4};  ///< empty: seven patterns on one whole object
  Interpolation interpolation = Interpolation::bilinear;
  at::ScalarType real = at::kDouble;
  LossKind kind = LossKind::poisson;
  bool half_merged = false, background = true, near_field = false, whole_pixels = false;
  double merge_floor = 0;
  /// Groups take turns in the batch, their patterns lie far apart, and the probe leaves dark
  /// pixels.
  bool scattered = false;
  bool intensities = false;  ///< of the beam, another in every pattern; not on the GPU

  std::int64_t groups() const { return static_cast<std::int64_t>(group_sizes.size()); }
};

/// `merged` is undefined for a whole object, whose layout is fixed.
struct LossBatch {
  at::Tensor transmission, merged, probe, background, positions, group, counts, mask, intensities;
};
LossBatch make_batch(const LossCase& of);

/// (modes, size, size): light falls off from the middle to a thousandth of its peak, as in a real
/// probe.
at::Tensor probe_of(std::int64_t modes, std::int64_t size, at::ScalarType type);

CanvasLayout layout_of(const LossCase& of, const LossBatch& batch);
/// `background` is undefined where the case has none.
Measured measured_of(const LossCase& of, const LossBatch& batch);
LossOptions options_of(const LossCase& of, Engine engine = Engine::fused);

/// Loss, contrast, gradients by patches, probe, positions, background and intensities, where the
/// case has those; without a contrast's meaning, positions undefined, for a whole object.
std::vector<at::Tensor> loss_and_gradients(const LossCase& of, const LossBatch& batch,
                                           Engine engine);

/// Loss, gradients by transmission, probe, background, corners, fractions, intensities; undefined
/// where there is none.
using LossAnswers = std::vector<at::Tensor>;

/// The answers of the reference engine, in float64.
LossAnswers reference_answers(const LossCase& of, const LossBatch& batch);

/// The largest relative difference |found - expected| / |expected| of the answers; where nothing is
/// expected, the largest number found.
double largest_mismatch(const LossAnswers& found, const LossAnswers& expected);

/// Scattered cases that between them take every way through the fused engine.
std::vector<LossCase> scattered_cases();

/// A case in words, for messages.
std::string to_string(const LossCase& of);

}  // namespace ptyche
