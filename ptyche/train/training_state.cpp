#include "ptyche/train/training_state.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/scan.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/solve.h"
#include "ptyche/stitch/stitch.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/with_file.h"
#include "ptyche/train/ptychopinn_recipe.h"

namespace ptyche {
namespace {

constexpr const char* kGroup = "training";
const DatasetLayout kCounters{"training/counters", at::kDouble, {8}};
constexpr double kCollapsed = 0.2;            // of the stem's own contrast
constexpr double kFirstBackgroundRoot = 0.2;  // sqrt(counts); at 0 its gradient would be 0 for ever

at::Tensor starting_probe(const Scan& scan, const TrainOptions& options) {
  require(options.probe_start == "solver" || options.probe_start == "guess",
          "probe start: expected solver or guess, found {}", options.probe_start);
  const std::int64_t modes = std::max(options.probe_modes, scan.probe().size(0));
  const Scan guess = scan.with_probe(with_modes(scan.probe(), modes, SolverOptions().mode_power));
  if (options.probe_start == "guess") return guess.probe();
  const SolveResult found =
      solve(guess, {}, {.chain = {{"rpie", options.probe_start_epochs}}, .seed = options.seed});
  if (found.end == ChainEnd::interrupted)
    throw Interrupted("stopped during rPIE, before there was anything to keep");
  return found.image.probe;
}

/// What a tensor of the state must be, like the one that is there. Positions move by less than a
/// pattern; means of squares and numbers of steps are not negative.
DatasetLayout layout_of(const std::string& name, const at::Tensor& there,
                        const TrainingState& state) {
  const auto size = static_cast<double>(state.model.pattern_size());
  if (name == "moves") return like(there, fmt::format("{}/{}", kGroup, name), -size, size);
  const bool counts =
      name.find("_variance/") != std::string::npos || name.find("_steps/") != std::string::npos;
  return like(there, fmt::format("{}/{}", kGroup, name), counts ? 0 : -kLargestNumber);
}

/// Every tensor of the state beside the model's own, under its name in the file.
std::vector<std::pair<std::string, at::Tensor>> named_tensors(const TrainingState& state) {
  std::vector<std::pair<std::string, at::Tensor>> named{
      {"probe_parts", state.probe_parts},
      {"averaged_probe_parts", state.averaged_probe_parts},
      {"background_root", state.background_root},
      {"averaged_background_root", state.averaged_background_root},
      {"moves", state.position_corrections},
      {"slopes", state.position_gradient},
      {"mean_slopes", state.mean_position_gradient}};
  const auto add = [&](const char* name, const std::vector<at::Tensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      named.emplace_back(fmt::format("{}/{:04}", name, i), tensors[i]);
  };
  add("averaged_weights", state.averaged_weights);
  add("network_mean", state.network_adam.mean);
  add("network_variance", state.network_adam.variance);
  add("network_steps", state.network_adam.steps);
  add("probe_mean", state.probe_adam.mean);
  add("probe_variance", state.probe_adam.variance);
  add("probe_steps", state.probe_adam.steps);
  add("background_mean", state.background_adam.mean);
  add("background_variance", state.background_adam.variance);
  add("background_steps", state.background_adam.steps);
  return named;
}

at::Tensor counters(const TrainingState& state) {
  return at::tensor({static_cast<double>(state.epoch), static_cast<double>(state.batch),
                     static_cast<double>(state.step), static_cast<double>(state.total_steps),
                     state.loss_sum, state.size_sum, state.contrast_sum, state.rate},
                    at::kDouble);
}

/// Throws InvalidInput unless they count something; require_counters knows of what.
void set_counters(TrainingState& state, const at::Tensor& values) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const auto* value = values.data_ptr<double>();
  const auto whole = [&](int index, const char* what) {
    return whole_number(value[index], fmt::format("{}: {}", kCounters.path, what), 0, kMost);
  };
  state.epoch = whole(0, "epoch");
  state.batch = whole(1, "batch");
  state.step = whole(2, "step");
  state.total_steps = whole(3, "steps in all");
  state.loss_sum = value[4];
  state.size_sum = value[5];
  state.contrast_sum = value[6];
  state.rate = value[7];
}

}  // namespace

namespace {

/// Options and groups, what a model says of its training.
Key record_of(const Groups& groups, const TrainOptions& options) {
  Key key = key_of(options);
  key.emplace_back("group-size", fmt::format("{}", groups.size));
  key.emplace_back("merged", fmt::format("{}", groups.merged));
  key.emplace_back("group-seed", fmt::format("{}", groups.seed));
  key.emplace_back("groups", groups.are_fixed()
                                 ? fmt::format("{} chosen once ({:.17g})", groups.fixed.size(0),
                                               fingerprint(groups.fixed))
                                 : "drawn in every epoch");
  return key;
}

}  // namespace

Key training_key(const Scan& scan, const Groups& groups, const TrainOptions& options) {
  Key key = record_of(groups, options);
  key.emplace_back("scan", fingerprint(scan));
  return key;
}

TrainingState state_around(Model model, std::int64_t frames) {
  TrainingState state;
  state.model = std::move(model);
  state.weights = state.model.network->parameters();
  for (const at::Tensor& weight : state.weights)
    state.averaged_weights.push_back(weight.detach().clone());
  state.probe_parts = at::view_as_real(state.model.probe).clone();
  state.averaged_probe_parts = state.probe_parts.clone();
  const std::int64_t size = state.model.pattern_size();
  state.background_root = at::full({size, size}, kFirstBackgroundRoot);
  state.averaged_background_root = state.background_root.clone();
  state.position_corrections = at::zeros({frames, 2}, at::kDouble);
  state.position_gradient = at::zeros_like(state.position_corrections);
  state.mean_position_gradient = at::zeros_like(state.position_corrections);
  state.background_adam = new_adam_state({state.background_root});
  state.network_adam = new_adam_state(state.weights);
  state.probe_adam = new_adam_state({state.probe_parts});
  return state;
}

TrainingState start_training(const Scan& scan, const Groups& groups, const TrainOptions& options) {
  require(!traits_of(options.network).supervised ||
              (options.tv_weight == 0 && options.realspace_mae == 0),
          "--tv-weight, --realspace-mae-weight: the network {} is trained on the true object alone",
          options.network.name);
  // The model first: it refuses a size that does not fit before the solver has run.
  Model model = new_model(scan, scan.probe(), options.network, options.stem, options.seed);
  model.stem_probe = starting_probe(scan, options);
  if (options.probe_scale > 0)
    model.stem_probe = ptychopinn_probe(model.stem_probe, model.input_scale, options.probe_scale);
  model.probe = model.stem_probe.clone();
  model.recipe = options.recipe;
  model.training = record_of(groups, options);
  TrainingState state = state_around(std::move(model), scan.frames());
  require_gradients(state, options);
  const auto batches = draw_epoch(groups, options.groups_per_batch, 0).size();
  state.total_steps = options.epochs * static_cast<std::int64_t>(batches);
  return state;
}

void require_counters(const TrainingState& state, const Groups& groups,
                      const TrainOptions& options) {
  const auto batches =
      static_cast<std::int64_t>(draw_epoch(groups, options.groups_per_batch, 0).size());
  require(state.total_steps == options.epochs * batches && state.step <= state.total_steps,
          "{}: expected at most {} steps of {} in all, found {} of {}", kCounters.path,
          options.epochs * batches, options.epochs * batches, state.step, state.total_steps);
  require(state.epoch <= options.epochs && state.batch <= batches,
          "{}: expected at most {} epochs and {} batches, found {} and {}", kCounters.path,
          options.epochs, batches, state.epoch, state.batch);
  require(state.batch == 0 || state.size_sum > 0,
          "{}: expected patterns in the epoch so far, found a sum of {}", kCounters.path,
          state.size_sum);
  require(state.rate > 0 && state.rate <= 1, "{}: expected a rate above 0 and at most 1, found {}",
          kCounters.path, state.rate);
}

Model finish_training(const TrainingState& state, const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  Model model = state.model;
  for (std::size_t i = 0; i < state.weights.size(); ++i)
    state.weights[i].copy_(state.averaged_weights[i]);
  model.probe = at::view_as_complex(state.averaged_probe_parts).clone();
  if (state.background_root.requires_grad())
    model.background = to_centred(state.averaged_background_root.square()).contiguous();
  if (options.positions != PositionFreedom::none)
    model.position_corrections = state.position_corrections;
  model.network->eval();
  return model;
}

void require_gradients(TrainingState& state, const TrainOptions& options) {
  state.probe_parts.requires_grad_(!options.fixed_probe);
  state.background_root.requires_grad_(options.background);
}

bool collapsed(const Model& model) {
  if (model.history.size() < 2 || model.recipe == Recipe::ptychopinn) return false;
  return model.history.back().object_contrast < kCollapsed * model.history.front().object_contrast;
}

void restart_from_stem(TrainingState& state, const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  const std::vector<EpochRecord> history = state.model.history;
  Model fresh = state.model;
  // Another seed than the one that ended here, the same one whenever this run is repeated.
  fresh.network = make_network(fresh.network_options, state.model.seed + history.size());
  fresh.probe = fresh.stem_probe.clone();
  TrainingState restarted = state_around(std::move(fresh), state.position_corrections.size(0));
  restarted.position_corrections = state.position_corrections;
  restarted.epoch = state.epoch;
  restarted.step = state.step;
  restarted.total_steps = state.total_steps;
  restarted.rate = 0.5 * state.rate;
  state = std::move(restarted);
  require_gradients(state, options);
}

void write_checkpoint(const std::filesystem::path& file, const TrainingState& state,
                      const Key& key) {
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    write_model_to(out, state.model);
    out.make_group(kGroup);
    out.set(kGroup, "key", to_text(key));
    write(out, kCounters, counters(state));
    for (const auto& [name, tensor] : named_tensors(state))
      write(out, layout_of(name, tensor, state), tensor.detach());
    out.close();
  });
}

TrainingState read_checkpoint(const std::filesystem::path& file, const Key& key,
                              std::int64_t frames) {
  return with_file(file, [&] {
    const Hdf5File in = Hdf5File::open(file);
    const auto found = in.text(kGroup, "key");
    require(found.has_value(), "expected the state of a training, found none");
    const std::vector<std::string> different = differences(key, key_from(*found));
    require(different.empty(),
            "the checkpoint is of another run ({}); remove it or repeat the options of that run",
            fmt::join(different, "; "));
    TrainingState state = state_around(read_model_from(in), frames);
    const at::NoGradGuard no_grad;
    set_counters(state, read(in, kCounters));
    for (auto& [name, tensor] : named_tensors(state))
      tensor.copy_(read(in, layout_of(name, tensor, state)));
    return state;
  });
}

}  // namespace ptyche
