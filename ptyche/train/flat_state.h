// The flat object: the state from which training does not come back by itself.
#pragma once

#include "ptyche/train/training_state.h"

namespace ptyche {

/// Share of the stem's own contrast below which an epoch's objects count as flat.
inline constexpr double kFlatShare = 0.2;

/// True if the last epoch's merged objects have lost the contrast that the stem alone gave in the
/// first epoch, while probe or background explain the patterns instead.
bool is_flat(const Model& model);

/// Back to the stem's image: network weights drawn anew, probe and background as at the start, the
/// optimiser's memory cleared, learning rates halved from here on. The history is kept.
void leave_flat_state(TrainingState& state, const TrainOptions& options);

}  // namespace ptyche
