#include "ptyche/train/train.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ptyche/core/error.h"
#include "ptyche/core/events.h"
#include "ptyche/core/files.h"
#include "ptyche/core/output_folder.h"
#include "ptyche/core/progress.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/train/ptychopinn_recipe.h"
#include "ptyche/train/train_step.h"
#include "ptyche/train/training_state.h"

namespace ptyche {
namespace {

TrainingState begin(const Scan& scan, const Groups& groups, const TrainOptions& options,
                    const Key& key) {
  const bool found = std::filesystem::exists(options.checkpoint);
  if (options.resume && !found)
    note("--resume: there is no {}; the training starts from the beginning",
         options.checkpoint.string());
  if (!options.resume || !found) return start_training(scan, groups, options);
  TrainingState state = read_checkpoint(options.checkpoint, key, scan.frames());
  with_context(options.checkpoint.string(), [&] { require_counters(state, groups, options); });
  require_gradients(state, options);
  note("resumed from {} at epoch {}", options.checkpoint.string(), state.epoch + 1);
  return state;
}

/// Closes an epoch: its line of the history, sums back to 0.
void end_epoch(TrainingState& state, std::int64_t batches, double learning_rate) {
  const at::NoGradGuard no_grad;
  const at::Tensor probe = at::view_as_complex(state.averaged_probe_parts);
  const at::Tensor& start = state.model.stem_probe;
  state.model.history.push_back(
      {.epoch = state.epoch + 1,
       .loss = state.loss_sum / state.size_sum,
       .object_contrast = state.contrast_sum / static_cast<double>(batches),
       .probe_change = ((probe - start).norm() / start.norm()).item<double>(),
       .learning_rate = learning_rate});
  state.loss_sum = state.size_sum = state.contrast_sum = 0;
  state.batch = 0;
  ++state.epoch;
}

/// Whether all epochs are done, or in PtychoPINN's recipe more would be of no use.
bool is_over(const TrainingState& state, const TrainOptions& options) {
  if (state.epoch >= options.epochs) return true;
  return options.recipe == Recipe::ptychopinn && state.batch == 0 &&
         stands_still(state.model.history);
}

/// PtychoPINN's learning rate for the next epoch, by the groups that are kept from training.
void set_rate(TrainingState& state, const Scan& scan, const InputCache& inputs,
              const Groups& validated, const TrainOptions& options) {
  EpochRecord& last = state.model.history.back();
  last.learning_rate = state.rate * options.learning_rate;
  if (!validated.are_fixed()) return;
  last.validation_loss = loss_without_step(state, scan, inputs, validated, options);
  state.rate = plateau_factor(state.model.history);
}

/// Writes the checkpoint now and then, and when the user wants to stop.
class Checkpoints {
 public:
  Checkpoints(std::filesystem::path file, Key key) : file_(std::move(file)), key_(std::move(key)) {}

  void after_step(const TrainingState& state) {
    const bool stop = interrupted();
    if (!stop && since_last_.seconds() < checkpoint_seconds()) return;
    since_last_ = Stopwatch();
    const bool kept = keep(state);
    if (!stop) return;
    throw Interrupted(kept ? "stopped during training; the state is kept in " + file_.string() +
                                 ", --resume goes on from it"
                           : "stopped during training");
  }

  void remove() { remove_if_possible({file_}); }

  /// What cannot be written is a warning: the work itself is not lost. False then.
  bool keep(const TrainingState& state) {
    if (file_.empty()) return false;
    try {
      write_checkpoint(file_, state, key_);
      send_event("checkpoint", {{"file", file_.string()}, {"done", state.step}});
      return true;
    } catch (const std::exception& error) {
      warn("the checkpoint could not be written, --resume cannot go on from here: {}",
           error.what());
      return false;
    }
  }

 private:
  std::filesystem::path file_;
  Key key_;
  Stopwatch since_last_;
};

}  // namespace

Model train(const Scan& scan, const Groups& all_groups, const TrainOptions& options) {
  require_in_range(options);
  require_far_field(scan);
  const CatchInterrupts catching;
  const Key key = training_key(scan, all_groups, options);
  const auto [groups, validated] = split_for_validation(all_groups, options);
  TrainingState state = begin(scan, groups, options, key);
  Scan placed = scan.with_positions(scan.positions() + state.position_corrections);
  auto inputs = std::make_unique<InputCache>(state.model, placed, options.engine);
  const double visits = visits_per_epoch(groups);
  Checkpoints checkpoints(options.checkpoint, key);
  Progress progress("train", state.total_steps, "patterns");
  while (!is_over(state, options)) {
    const auto batches = draw_epoch(groups, options.groups_per_batch, state.epoch);
    while (state.batch < static_cast<std::int64_t>(batches.size())) {
      const StepResult result = train_step(state, placed, *inputs,
                                           batches[static_cast<std::size_t>(state.batch)], options);
      progress.step(
          state.step, state.step * groups.merged * options.groups_per_batch,
          fmt::format("epoch {}/{}  loss {:.5f}", state.epoch + 1, options.epochs, result.loss),
          result.loss);
      if (state.batch == static_cast<std::int64_t>(batches.size())) break;
      checkpoints.after_step(state);
    }
    end_epoch(state, static_cast<std::int64_t>(batches.size()),
              learning_rate_factor(state.step, state.total_steps, options) * options.learning_rate);
    if (options.recipe == Recipe::ptychopinn) set_rate(state, placed, *inputs, validated, options);
    if (collapsed(state.model) && state.epoch < options.epochs) {
      warn("the object went flat in epoch {}; training goes back to the start at half the rate",
           state.epoch);
      restart_from_stem(state, options);
    }
    if (positions_move_after(state, options)) {
      move_positions(state, scan, options, visits);
      placed = scan.with_positions(scan.positions() + state.position_corrections);
      inputs = std::make_unique<InputCache>(state.model, placed, options.engine);
    }
    checkpoints.after_step(state);
  }
  if (options.keep_checkpoint)
    checkpoints.keep(state);
  else
    checkpoints.remove();
  if (collapsed(state.model))
    warn(
        "the object is flat: probe and background explain the patterns without it; try "
        "--fixed-probe, --background=false or a lower --learning-rate");
  return finish_training(state, options);
}

}  // namespace ptyche
