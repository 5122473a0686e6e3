#include "ptyche/train/flat_state.h"

#include <ATen/core/grad_mode.h>

#include "ptyche/nn/patch_network.h"

namespace ptyche {

bool is_flat(const Model& model) {
  if (model.history.size() < 2) return false;
  return model.history.back().object_contrast < kFlatShare * model.history.front().object_contrast;
}

void leave_flat_state(TrainingState& state, const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  const std::vector<EpochRecord> history = state.model.history;
  Model fresh = state.model;
  // Another seed than the one that ended here, the same one whenever this run is repeated.
  fresh.network = make_network(fresh.network_options, state.model.seed + history.size());
  fresh.probe = fresh.stem_probe.clone();
  TrainingState restarted = state_around(std::move(fresh), state.moves.size(0));
  restarted.moves = state.moves;
  restarted.epoch = state.epoch;
  restarted.step = state.step;
  restarted.total_steps = state.total_steps;
  restarted.rate = 0.5 * state.rate;
  state = std::move(restarted);
  require_gradients(state, options);
}

}  // namespace ptyche
