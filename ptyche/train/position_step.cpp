#include "ptyche/train/position_step.h"

#include "ptyche/solve/side_steps.h"
#include "ptyche/train/train_step.h"

namespace ptyche {
namespace {

constexpr std::int64_t kEpochs = 2;  // between two moves: as many slopes of every pattern

}  // namespace

bool positions_move_after(const TrainingState& state, const TrainOptions& options) {
  const bool warm = static_cast<double>(state.step) >=
                    options.probe_warm_up * static_cast<double>(state.total_steps);
  return options.positions != PositionFreedom::none && warm && state.epoch < options.epochs &&
         state.epoch % kEpochs == 0;
}

void step_positions(TrainingState& state, const Scan& scan, const TrainOptions& options) {
  const double rate = state.rate * learning_rate_factor(state.step, state.total_steps, options);
  at::Tensor moved = state.moves.clone();
  moment_step(moved, state.slopes, state.move_moments, options.position_step * rate,
              position_moments());
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const at::Tensor before = state.moves.index_select(0, used);
  const at::Tensor change =
      allowed_moves(moved.index_select(0, used) - before, scan.positions().index_select(0, used),
                    options.positions);
  state.moves = moves_of_all(scan, used, before + change);
  state.slopes.zero_();
}

}  // namespace ptyche
