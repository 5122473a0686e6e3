#include "ptyche/train/training_state.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/scan.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

constexpr const char* kGroup = "training";
constexpr double kCollapsed = 0.2;            // of the stem's own contrast
constexpr double kFirstBackgroundRoot = 0.2;  // sqrt(counts); at 0 its gradient would be 0 for ever

at::Tensor starting_probe(const Scan& scan, const TrainOptions& options) {
  require(options.probe_start == "solver" || options.probe_start == "guess",
          "probe start: expected solver or guess, found {}", options.probe_start);
  const std::int64_t modes = std::max(options.probe_modes, scan.probe().size(0));
  const Scan guess = scan.with_probe(with_modes(scan.probe(), modes, SolverOptions().mode_power));
  if (options.probe_start == "guess") return guess.probe();
  RpieOptions solver = options.first_probe;
  solver.seed = options.seed;
  return rpie(guess, empty_reconstruction(guess, Interpolation::probe_fourier), solver).probe;
}

/// Every tensor of the state beside the model's own, under its name in the file.
std::vector<std::pair<std::string, at::Tensor>> named_tensors(const TrainingState& state) {
  std::vector<std::pair<std::string, at::Tensor>> named{
      {"probe_parts", state.probe_parts},
      {"averaged_probe_parts", state.averaged_probe_parts},
      {"background_root", state.background_root},
      {"averaged_background_root", state.averaged_background_root},
      {"moves", state.moves},
      {"slopes", state.slopes},
      {"mean_slopes", state.mean_slopes}};
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

void set_counters(TrainingState& state, const at::Tensor& values) {
  const auto* value = values.data_ptr<double>();
  state.epoch = static_cast<std::int64_t>(value[0]);
  state.batch = static_cast<std::int64_t>(value[1]);
  state.step = static_cast<std::int64_t>(value[2]);
  state.total_steps = static_cast<std::int64_t>(value[3]);
  state.loss_sum = value[4];
  state.size_sum = value[5];
  state.contrast_sum = value[6];
  state.rate = value[7];
}

}  // namespace

Key training_key(const Scan& scan, const Groups& groups, const TrainOptions& options) {
  Key key = key_of(options);
  key.emplace_back("scan", fingerprint(scan));
  key.emplace_back("group-size", fmt::format("{}", groups.size));
  key.emplace_back("merged", fmt::format("{}", groups.merged));
  key.emplace_back("group-seed", fmt::format("{}", groups.seed));
  key.emplace_back("groups", groups.are_fixed()
                                 ? fmt::format("{} chosen once ({:.17g})", groups.fixed.size(0),
                                               fingerprint(groups.fixed))
                                 : "drawn in every epoch");
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
  state.moves = at::zeros({frames, 2}, at::kDouble);
  state.slopes = at::zeros_like(state.moves);
  state.mean_slopes = at::zeros_like(state.moves);
  state.background_adam = new_adam_state({state.background_root});
  state.network_adam = new_adam_state(state.weights);
  state.probe_adam = new_adam_state({state.probe_parts});
  return state;
}

TrainingState start_training(const Scan& scan, const Groups& groups, const TrainOptions& options) {
  // The model first: it refuses a size that does not fit before the solver has run.
  Model model = new_model(scan, scan.probe(), options.network, options.stem, options.seed);
  model.stem_probe = starting_probe(scan, options);
  model.probe = model.stem_probe.clone();
  TrainingState state = state_around(std::move(model), scan.frames());
  require_gradients(state, options);
  const auto batches = draw_epoch(groups, options.groups_per_batch, 0).size();
  state.total_steps = options.epochs * static_cast<std::int64_t>(batches);
  return state;
}

Model finish_training(const TrainingState& state, const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  Model model = state.model;
  for (std::size_t i = 0; i < state.weights.size(); ++i)
    state.weights[i].copy_(state.averaged_weights[i]);
  model.probe = at::view_as_complex(state.averaged_probe_parts).clone();
  if (state.background_root.requires_grad())
    model.background = to_centred(state.averaged_background_root.square()).contiguous();
  if (options.positions != PositionFreedom::none) model.moves = state.moves;
  model.network->eval();
  return model;
}

void require_gradients(TrainingState& state, const TrainOptions& options) {
  state.probe_parts.requires_grad_(!options.fixed_probe);
  state.background_root.requires_grad_(options.background);
}

bool collapsed(const Model& model) {
  if (model.history.size() < 2) return false;
  return model.history.back().object_contrast < kCollapsed * model.history.front().object_contrast;
}

void restart_from_stem(TrainingState& state, const TrainOptions& options) {
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

void write_checkpoint(const std::filesystem::path& file, const TrainingState& state,
                      const Key& key) {
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    write_model_to(out, state.model);
    out.make_group(kGroup);
    out.set(kGroup, "key", to_text(key));
    out.write(fmt::format("{}/counters", kGroup), counters(state));
    for (const auto& [name, tensor] : named_tensors(state))
      out.write(fmt::format("{}/{}", kGroup, name), tensor.detach());
    out.close();
  });
}

TrainingState read_checkpoint(const std::filesystem::path& file, const Key& key,
                              std::int64_t frames) {
  return with_context(file.string(), [&] {
    const Hdf5File in = Hdf5File::open(file);
    const auto found = in.text(kGroup, "key");
    require(found.has_value(), "expected the state of a training, found none");
    const std::vector<std::string> different = differences(key, key_from(*found));
    require(different.empty(),
            "the checkpoint is of another run ({}); remove it or repeat the options of that run",
            fmt::join(different, "; "));
    TrainingState state = state_around(read_model_from(in), frames);
    const at::NoGradGuard no_grad;
    set_counters(state, in.read(fmt::format("{}/counters", kGroup)).values);
    for (auto& [name, tensor] : named_tensors(state))
      tensor.copy_(in.read(fmt::format("{}/{}", kGroup, name)).values);
    return state;
  });
}

}  // namespace ptyche
