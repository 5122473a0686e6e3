// One step of training: groups in, network and probe moved along the gradient.
#pragma once

#include "ptyche/train/input_cache.h"
#include "ptyche/train/training_state.h"

namespace ptyche {

struct StepResult {
  double loss = 0;             ///< as EpochRecord's
  double object_contrast = 0;  ///< standard deviation of the merged objects over their mean
};

/// Predicts the counts of every pattern of the batch from the merged patches of some, and moves
/// network and probe. Updates the state's sums, averages, batch and step.
/// Throws InvalidInput when the loss is not finite.
StepResult train_step(TrainingState& state, const Scan& scan, const InputCache& inputs,
                      const GroupBatch& batch, const TrainOptions& options);

/// Whether probe, background and positions still wait for the network.
bool warming_up(const TrainingState& state, const TrainOptions& options);

/// Learning rate at `step` over its highest: a linear rise over the warm-up, times a half cosine
/// from 1 to 0 (Loshchilov & Hutter, ICLR 2017, eq. 5).
double learning_rate_factor(std::int64_t step, std::int64_t total_steps,
                            const TrainOptions& options);

}  // namespace ptyche
