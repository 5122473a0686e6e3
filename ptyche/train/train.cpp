#include "ptyche/train/train.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "ptyche/core/error.h"
#include "ptyche/core/events.h"
#include "ptyche/core/files.h"
#include "ptyche/core/output_folder.h"
#include "ptyche/core/progress.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/train/checkpoints.h"
#include "ptyche/train/ptychopinn_recipe.h"
#include "ptyche/train/together.h"
#include "ptyche/train/train_step.h"
#include "ptyche/train/training_state.h"

namespace ptyche {
namespace {

TrainingState begin(const std::vector<TrainingScan>& scans, const TrainOptions& options,
                    const Key& key) {
  const bool found = std::filesystem::exists(options.checkpoint);
  if (options.resume && !found)
    note("--resume: there is no {}; the training starts from the beginning",
         options.checkpoint.string());
  if (!options.resume || !found) return start_training(scans, options);
  std::vector<std::int64_t> frames;
  for (const TrainingScan& one : scans) frames.push_back(one.scan.frames());
  TrainingState state = read_checkpoint(options.checkpoint, key, frames);
  with_context(options.checkpoint.string(), [&] { require_counters(state, scans, options); });
  require_gradients(state, options);
  note("resumed from {} at epoch {}", options.checkpoint.string(), state.epoch + 1);
  return state;
}

/// How far the probes are from where they started, the mean of the scans.
double probe_change(const TrainingState& state) {
  double sum = 0;
  for (std::size_t scan = 0; scan < state.scans(); ++scan) {
    const at::Tensor probe = at::view_as_complex(state.of(scan).averaged_probe_parts);
    const at::Tensor& start = state.of(scan).model.stem_probe;
    sum += ((probe - start).norm() / start.norm()).item<double>();
  }
  return sum / static_cast<double>(state.scans());
}

/// Closes an epoch: its line of the history, sums back to 0.
void end_epoch(TrainingState& state, std::int64_t batches, double learning_rate) {
  const at::NoGradGuard no_grad;
  state.model.history.push_back(
      {.epoch = state.epoch + 1,
       .loss = state.loss_sum / state.size_sum,
       .object_contrast = state.contrast_sum / static_cast<double>(batches),
       .probe_change = probe_change(state),
       .learning_rate = learning_rate});
  state.loss_sum = state.size_sum = state.contrast_sum = 0;
  state.batch = 0;
  ++state.epoch;
}

/// A scan where training has put it, and what the network sees of it.
struct PlacedScan {
  Scan scan;
  InputCache inputs;

  PlacedScan(const Scan& given, const ScanState& of, const TrainOptions& options, double bytes)
      : scan(given.with_positions(given.positions() + of.position_corrections)),
        inputs(of.model, scan, options.engine, bytes) {}
};
using PlacedScans = std::vector<std::unique_ptr<PlacedScan>>;

/// The caches share the memory: whose channels do not fit any more has them computed for every
/// batch.
PlacedScans placed_scans(const std::vector<TrainingScan>& scans, const TrainingState& state,
                         const TrainOptions& options) {
  PlacedScans placed;
  double bytes = kCacheBytes;
  for (std::size_t i = 0; i < scans.size(); ++i) {
    placed.push_back(std::make_unique<PlacedScan>(scans[i].scan, state.of(i), options, bytes));
    bytes -= placed.back()->inputs.bytes();
  }
  return placed;
}

std::vector<StepPart> parts_of(TrainingState& state, const std::vector<ScanBatch>& batch,
                               const PlacedScans& placed) {
  std::vector<StepPart> parts;
  for (const ScanBatch& own : batch)
    parts.push_back(
        {state.of(own.scan), placed[own.scan]->scan, placed[own.scan]->inputs, own.batch});
  return parts;
}

/// Whether all epochs are done, or in PtychoPINN's recipe more would be of no use.
bool is_over(const TrainingState& state, const TrainOptions& options) {
  if (state.epoch >= options.epochs) return true;
  return options.recipe == TrainRecipe::ptychopinn && state.batch == 0 &&
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

void require_scans(const std::vector<TrainingScan>& scans, const TrainOptions& options) {
  require(!scans.empty(), "train: expected at least one scan, found none");
  require(scans.size() == 1 || options.recipe != TrainRecipe::ptychopinn,
          "train: PtychoPINN's recipe (--preset ptychopinn) takes one scan, found {}",
          scans.size());
  for (const TrainingScan& one : scans) {
    require_far_field(one.scan);
    require(one.weight > 0 && one.weight <= kLargestWeight,
            "{}: expected a weight above 0 and at most {}, found {}", one.scan.source(),
            kLargestWeight, one.weight);
  }
}

/// One epoch from the state's batch on.
void run_epoch(TrainingState& state, const std::vector<std::vector<ScanBatch>>& batches,
               const PlacedScans& placed, const TrainOptions& options, Checkpoints& checkpoints,
               Progress& progress, std::int64_t merged, const TrainingTogether& together) {
  while (state.batch < static_cast<std::int64_t>(batches.size())) {
    const StepResult result =
        train_step(state, parts_of(state, batches[static_cast<std::size_t>(state.batch)], placed),
                   options, together);
    progress.step(
        state.step, state.step * merged * options.groups_per_batch,
        fmt::format("epoch {}/{}  loss {:.5f}", state.epoch + 1, options.epochs, result.loss),
        result.loss);
    if (state.batch < static_cast<std::int64_t>(batches.size())) checkpoints.after_step(state);
  }
}

/// All scans' positions by what the epochs since the last time have gathered.
void move_all_positions(TrainingState& state, const std::vector<TrainingScan>& scans,
                        const TrainOptions& options) {
  for (std::size_t i = 0; i < scans.size(); ++i)
    move_positions(state, state.of(i), scans[i].scan, options,
                   scans[i].weight * visits_per_epoch(scans[i].groups));
}

void warn_if_flat(const Model& model) {
  if (collapsed(model))
    warn(
        "the object is flat: probe and background explain the patterns without it; try "
        "--fixed-probe, --background=false or a lower --learning-rate");
}

}  // namespace

Model train(const std::vector<TrainingScan>& scans, const TrainOptions& options) {
  return train(scans, options, {});
}

Model train(const std::vector<TrainingScan>& asked, const TrainOptions& options,
            const TrainingTogether& together) {
  require_in_range(options);
  require_device(options.device);
  require_scans(asked, options);
  const bool leads = together.own == 0;  // the others stop where it does
  std::optional<CatchInterrupts> catching;
  if (leads) catching.emplace();
  const Key key = training_key(asked, options);
  std::vector<TrainingScan> scans = asked;
  const auto [groups, validated] = split_for_validation(asked.front().groups, options);
  scans.front().groups = groups;
  TrainingState state = begin(scans, options, key);
  for (TrainingScan& one : scans) one.scan = one.scan.to(options.device);
  move_to(state, options.device);
  PlacedScans placed = placed_scans(scans, state, options);
  Checkpoints checkpoints(leads ? options.checkpoint : std::filesystem::path(), key);
  Progress progress("train", state.total_steps, "patterns");
  while (!is_over(state, options)) {
    const auto batches = batches_of(scans, options, state.epoch);
    run_epoch(state, batches, placed, options, checkpoints, progress, groups.merged, together);
    end_epoch(state, static_cast<std::int64_t>(batches.size()),
              learning_rate_factor(state.step, state.total_steps, options) * options.learning_rate);
    if (options.recipe == TrainRecipe::ptychopinn)
      set_rate(state, placed.front()->scan, placed.front()->inputs, validated, options);
    if (collapsed(state.model) && state.epoch < options.epochs) {
      warn("the object went flat in epoch {}; training goes back to the start at half the rate",
           state.epoch);
      restart_from_stem(state, options);
      move_to(state, options.device);
    }
    if (positions_move_after(state, options)) {
      move_all_positions(state, scans, options);
      placed = placed_scans(scans, state, options);
    }
    checkpoints.after_step(state);
  }
  if (options.keep_checkpoint)
    checkpoints.keep(state);
  else
    checkpoints.remove();
  warn_if_flat(state.model);
  move_to(state, at::kCPU);
  return finish_training(state, options);
}

Model train(const Scan& scan, const Groups& groups, const TrainOptions& options) {
  return train({{.scan = scan, .groups = groups}}, options);
}

}  // namespace ptyche
