#include "ptyche/train/move_positions.h"

#include "ptyche/solve/position_step.h"
#include "ptyche/train/train_step.h"

namespace ptyche {
namespace {

constexpr std::int64_t kEpochs = 2;  // between two moves

}  // namespace

bool positions_move_after(const TrainingState& state, const TrainOptions& options) {
  return options.positions != PositionFreedom::none && !warming_up(state, options) &&
         state.epoch < options.epochs && state.epoch % kEpochs == 0;
}

void move_positions(TrainingState& state, const Scan& scan, const TrainOptions& options,
                    double visits) {
  const double limit = options.position_step * state.rate *
                       learning_rate_factor(state.step, state.total_steps, options);
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const auto of_used = [&](const at::Tensor& all) { return all.index_select(0, used); };
  const double curvature = static_cast<double>(kEpochs) * visits *
                           position_curvature(at::view_as_complex(state.probe_parts.detach()));
  at::Tensor mean = of_used(state.mean_slopes);
  if (limit > 0)
    state.moves = moves_of_all(
        scan, used,
        of_used(state.moves) + position_step(of_used(state.slopes), mean, of_used(scan.positions()),
                                             curvature, limit, options.positions));
  state.mean_slopes.index_copy_(0, used, mean);
  state.slopes.zero_();
}

}  // namespace ptyche
