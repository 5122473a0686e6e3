// Positions that are trained too: moved between epochs, because the stem's channels go with them.
#pragma once

#include "ptyche/train/training_state.h"

namespace ptyche {

/// Whether the positions move after the epoch that has just ended: every second one from the end of
/// the probe's warm-up on, if the options let them.
bool positions_move_after(const TrainingState& state, const TrainOptions& options);

/// A position_step of the used patterns along the slopes gathered since the last time, which become
/// 0; the common shift stays, and so does the grid as a whole unless the options free it. A pattern
/// is predicted `visits` times an epoch.
void move_positions(TrainingState& state, const Scan& scan, const TrainOptions& options,
                    double visits);

}  // namespace ptyche
