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
const DatasetLayout kSeconds{"training/seconds", at::kDouble, {1}, 0};
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
  return found.image.main_probe();
}

/// What a tensor of the state must be, like the one that is there. Positions move by less than a
/// pattern; means of squares and numbers of steps are not negative.
DatasetLayout layout_of(const std::string& name, const at::Tensor& there,
                        const TrainingState& state) {
  std::int64_t largest = 0;
  for (std::size_t scan = 0; scan < state.scans(); ++scan)
    largest = std::max(largest, state.of(scan).model.pattern_size());
  const auto size = static_cast<double>(largest);
  if (name.ends_with("moves")) return like(there, fmt::format("{}/{}", kGroup, name), -size, size);
  const bool counts =
      name.find("_variance/") != std::string::npos || name.find("_steps/") != std::string::npos;
  return like(there, fmt::format("{}/{}", kGroup, name), counts ? 0 : -kLargestNumber);
}

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

void add_tensors(NamedTensors& named, const std::string& name,
                 const std::vector<at::Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    named.emplace_back(fmt::format("{}/{:04}", name, i), tensors[i]);
}

/// Those that are not the optimiser's, of one scan.
void add_values(NamedTensors& named, const ScanState& of, const std::string& folder) {
  named.insert(named.end(), {{folder + "probe_parts", of.probe_parts},
                             {folder + "averaged_probe_parts", of.averaged_probe_parts},
                             {folder + "background_root", of.background_root},
                             {folder + "averaged_background_root", of.averaged_background_root},
                             {folder + "moves", of.position_corrections},
                             {folder + "slopes", of.position_gradient},
                             {folder + "mean_slopes", of.mean_position_gradient}});
}

void add_adam(NamedTensors& named, const AdamState& adam, const std::string& name) {
  add_tensors(named, name + "_mean", adam.mean);
  add_tensors(named, name + "_variance", adam.variance);
  add_tensors(named, name + "_steps", adam.steps);
}

/// Every tensor of the state beside the model's own, under its name in the file.
NamedTensors named_tensors(const TrainingState& state) {
  NamedTensors named;
  add_values(named, state, "");
  add_tensors(named, "averaged_weights", state.averaged_weights);
  add_adam(named, state.network_adam, "network");
  add_adam(named, state.probe_adam, "probe");
  add_adam(named, state.background_adam, "background");
  for (std::size_t scan = 1; scan < state.scans(); ++scan) {
    const std::string folder = fmt::format("scans/{:05}/", scan + 1);
    add_values(named, state.of(scan), folder);
    add_adam(named, state.of(scan).probe_adam, folder + "probe");
    add_adam(named, state.of(scan).background_adam, folder + "background");
  }
  return named;
}

/// In how many steps each scan took part, of several.
DatasetLayout own_steps_layout(const TrainingState& state) {
  return {"training/own_steps", at::kDouble, {static_cast<std::int64_t>(state.scans())}, 0};
}

at::Tensor own_steps(const TrainingState& state) {
  at::Tensor steps = at::zeros({static_cast<std::int64_t>(state.scans())}, at::kDouble);
  for (std::size_t scan = 0; scan < state.scans(); ++scan)
    steps[static_cast<std::int64_t>(scan)] = static_cast<double>(state.of(scan).own_steps);
  return steps;
}

/// Of one scan they are all the steps that there were.
void set_own_steps(TrainingState& state, const Hdf5File& in) {
  state.own_steps = state.step;
  if (state.scans() == 1) return;
  const at::Tensor steps = read(in, own_steps_layout(state));
  for (std::size_t scan = 0; scan < state.scans(); ++scan)
    state.of(scan).own_steps =
        whole_number(steps.data_ptr<double>()[scan], "training/own_steps", 0, state.step);
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

/// A network as it was when the training began.
struct StartNetwork {
  NetworkOptions network;
  StemOptions stem;
  std::vector<at::Tensor> weights;  ///< empty = drawn
};

/// That of the model that the options name, or a new one's shape.
StartNetwork network_to_start_from(const TrainOptions& options) {
  if (options.start.empty()) return {options.network, options.stem, {}};
  const Model before = read_model(options.start);
  require(before.network_options.name == options.network.name,
          "--start {}: expected a model of the network {}, found one of {}", options.start.string(),
          options.network.name, before.network_options.name);
  require(before.recipe == options.recipe,
          "--start {}: expected a model that was trained in the same way, found one of the recipe "
          "{}; --preset ptychopinn chooses PtychoPINN's",
          options.start.string(), [&] {
            TrainRecipe recipe = before.recipe;
            return choice(recipe, recipe_names()).get();
          });
  return {before.network_options, before.stem_options, before.network->parameters()};
}

void take_weights(Model& model, const std::vector<at::Tensor>& weights) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> own = model.network->parameters();
  const auto alike = [](const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes();
  };
  require(
      weights.empty() || std::ranges::equal(own, weights, alike),
      "--start: expected a network for patterns of {0} x {0} pixels, found one of another shape",
      model.pattern_size());
  for (std::size_t i = 0; i < weights.size(); ++i) own[i].copy_(weights[i]);
}

/// One line for an array that has no name: which weights a training starts from.
std::string fingerprint_of(const std::vector<at::Tensor>& weights) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& weight : weights) flat.push_back(weight.detach().flatten());
  return weights.empty() ? "drawn" : fmt::format("{:.17g}", fingerprint(at::cat(flat)));
}

void add_groups(Key& key, const Groups& groups, const std::string& of) {
  key.emplace_back("group-size" + of, fmt::format("{}", groups.size));
  key.emplace_back("merged" + of, fmt::format("{}", groups.merged));
  key.emplace_back("group-seed" + of, fmt::format("{}", groups.seed));
  key.emplace_back("groups" + of, groups.are_fixed()
                                      ? fmt::format("{} chosen once ({:.17g})",
                                                    groups.fixed.size(0), fingerprint(groups.fixed))
                                      : "drawn in every epoch");
}

/// " of scan 3" of several; of one nothing.
std::string of_scan(std::size_t scan, std::size_t scans) {
  return scans == 1 ? "" : fmt::format(" of scan {}", scan + 1);
}

/// Options and groups, what a model says of its training.
Key record_of(const std::vector<TrainingScan>& scans, const TrainOptions& options) {
  Key key = key_of(options);
  for (std::size_t i = 0; i < scans.size(); ++i) {
    add_groups(key, scans[i].groups, of_scan(i, scans.size()));
    if (scans.size() > 1 || scans[i].weight != 1)
      key.emplace_back("weight" + of_scan(i, scans.size()), fmt::format("{}", scans[i].weight));
  }
  if (!options.start.empty())
    key.emplace_back("start", fingerprint_of(network_to_start_from(options).weights));
  return key;
}

/// The pattern size that the network is built for: the smallest, whose pixels are the coarsest.
std::int64_t smallest_size(const std::vector<TrainingScan>& scans, const NetworkOptions& network) {
  const TrainingScan* least = &scans.front();
  for (const TrainingScan& one : scans) {
    require(
        traits_of(network).has_stem || one.scan.pattern_size() == scans.front().scan.pattern_size(),
        "{0}: the network {1} knows one pattern size; expected {2} x {2} pixels as in {3}, "
        "found {4} x {4}; --crop makes them equal",
        one.scan.source(), network.name, scans.front().scan.pattern_size(),
        scans.front().scan.source(), one.scan.pattern_size());
    if (one.scan.pattern_size() < least->scan.pattern_size()) least = &one;
  }
  return least->scan.pattern_size();
}

/// The scan's probes as training starts with them.
void set_probe(LearnedScan& learned, const Scan& scan, const TrainOptions& options) {
  learned.stem_probe = starting_probe(scan, options);
  if (options.probe_scale > 0)
    learned.stem_probe =
        ptychopinn_probe(learned.stem_probe, learned.input_scale, options.probe_scale);
  learned.probe = learned.stem_probe.clone();
}

/// The model before the first step, with what it keeps of every scan.
Model starting_model(const std::vector<TrainingScan>& scans, const TrainOptions& options) {
  const StartNetwork start = network_to_start_from(options);
  const Scan& first = scans.front().scan;
  const NetworkOptions network =
      completed(start.network, smallest_size(scans, start.network), start.stem);
  // The model first: it refuses a size that does not fit before the solver has run.
  Model model = new_model(first, first.probe(), network, start.stem, options.seed);
  take_weights(model, start.weights);
  set_probe(model, first, options);
  for (std::size_t i = 1; i < scans.size(); ++i) {
    const Scan& scan = scans[i].scan;
    model.more.push_back(untrained_on(scan, scan.probe(), network));
    set_probe(model.more.back(), scan, options);
  }
  model.recipe = options.recipe;
  model.training = record_of(scans, options);
  return model;
}

void set_own_parts(ScanState& of, std::int64_t frames) {
  of.probe_parts = at::view_as_real(of.model.probe).clone();
  of.averaged_probe_parts = of.probe_parts.clone();
  const std::int64_t size = of.model.pattern_size();
  of.background_root = at::full({size, size}, kFirstBackgroundRoot);
  of.averaged_background_root = of.background_root.clone();
  of.position_corrections = at::zeros({frames, 2}, at::kDouble);
  of.position_gradient = at::zeros_like(of.position_corrections);
  of.mean_position_gradient = at::zeros_like(of.position_corrections);
  of.background_adam = new_adam_state({of.background_root});
  of.probe_adam = new_adam_state({of.probe_parts});
}

/// The model as a further scan sees it: the same network.
Model model_of_further(const Model& model, const LearnedScan& learned) {
  Model own = model;
  own.history.clear();
  own.more.clear();
  static_cast<LearnedScan&>(own) = learned;
  return own;
}

std::vector<std::int64_t> frames_of(const std::vector<TrainingScan>& scans) {
  std::vector<std::int64_t> frames;
  for (const TrainingScan& one : scans) frames.push_back(one.scan.frames());
  return frames;
}

std::vector<TrainingScan> only_scan(const Scan& scan, const Groups& groups) {
  return {{.scan = scan, .groups = groups}};
}

}  // namespace

void take_start(Model& model, const TrainOptions& options) {
  const StartNetwork start = network_to_start_from(options);
  NetworkOptions found = start.network;
  require(found.channels == model.network_options.channels &&
              key_of(found) == key_of(model.network_options),
          "--start {}: expected a network of the same shape, found another one",
          options.start.string());
  take_weights(model, start.weights);
}

std::string fingerprint_of_start(const TrainOptions& options) {
  return fingerprint_of(network_to_start_from(options).weights);
}

Key training_key(const std::vector<TrainingScan>& scans, const TrainOptions& options) {
  Key key = record_of(scans, options);
  for (std::size_t i = 0; i < scans.size(); ++i)
    key.emplace_back(i == 0 ? "scan" : fmt::format("scan {}", i + 1), fingerprint(scans[i].scan));
  return key;
}

Key training_key(const Scan& scan, const Groups& groups, const TrainOptions& options) {
  return training_key(only_scan(scan, groups), options);
}

TrainingState state_around(Model model, const std::vector<std::int64_t>& frames) {
  TrainingState state;
  state.model = std::move(model);
  state.weights = state.model.network->parameters();
  for (const at::Tensor& weight : state.weights)
    state.averaged_weights.push_back(weight.detach().clone());
  state.network_adam = new_adam_state(state.weights);
  for (const LearnedScan& learned : state.model.more)
    state.more.emplace_back().model = model_of_further(state.model, learned);
  require(frames.size() == state.scans(), "expected the state of {} scans, found that of {}",
          frames.size(), state.scans());
  for (std::size_t scan = 0; scan < state.scans(); ++scan)
    set_own_parts(state.of(scan), frames[scan]);
  return state;
}

TrainingState state_around(Model model, std::int64_t frames) {
  return state_around(std::move(model), std::vector<std::int64_t>{frames});
}

namespace {

void move_tensor(at::Tensor& tensor, at::Device device) {
  if (!tensor.defined()) return;
  const bool trained = tensor.requires_grad();
  tensor = tensor.detach().to(device).requires_grad_(trained);
}

void move_adam(AdamState& adam, at::Device device) {
  for (auto* moments : {&adam.mean, &adam.variance, &adam.steps})
    for (at::Tensor& tensor : *moments) move_tensor(tensor, device);
}

void move_own_parts(ScanState& of, at::Device device) {
  for (at::Tensor* tensor : {&of.model.stem_probe, &of.model.probe, &of.model.background,
                             &of.probe_parts, &of.background_root, &of.averaged_probe_parts,
                             &of.averaged_background_root, &of.position_gradient})
    move_tensor(*tensor, device);
  move_adam(of.probe_adam, device);
  move_adam(of.background_adam, device);
}

}  // namespace

void move_to(TrainingState& state, at::Device device) {
  move_network(*state.model.network, device);
  for (at::Tensor& mean : state.averaged_weights) move_tensor(mean, device);
  move_adam(state.network_adam, device);
  for (std::size_t scan = 0; scan < state.scans(); ++scan) move_own_parts(state.of(scan), device);
}

std::vector<std::vector<ScanBatch>> batches_of(const std::vector<TrainingScan>& scans,
                                               const TrainOptions& options, std::int64_t epoch) {
  std::vector<WeightedGroups> groups;
  for (const TrainingScan& one : scans) groups.push_back({one.groups, one.weight});
  return draw_mixed_epoch(groups, options.groups_per_batch, options.seed, epoch);
}

TrainingState start_training(const std::vector<TrainingScan>& scans, const TrainOptions& options) {
  require(!traits_of(options.network).supervised ||
              (options.tv_weight == 0 && options.realspace_mae == 0),
          "--tv-weight, --realspace-mae-weight: the network {} is trained on the true object alone",
          options.network.name);
  TrainingState state = state_around(starting_model(scans, options), frames_of(scans));
  require_gradients(state, options);
  const auto batches = batches_of(scans, options, 0).size();
  state.total_steps = options.epochs * static_cast<std::int64_t>(batches);
  return state;
}

TrainingState start_training(const Scan& scan, const Groups& groups, const TrainOptions& options) {
  return start_training(only_scan(scan, groups), options);
}

void require_counters(const TrainingState& state, const std::vector<TrainingScan>& scans,
                      const TrainOptions& options) {
  const auto batches = static_cast<std::int64_t>(batches_of(scans, options, 0).size());
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

namespace {

/// What training has made of a scan's probe, background and positions.
void take_trained(LearnedScan& learned, const ScanState& of, const TrainOptions& options) {
  learned.probe = at::view_as_complex(of.averaged_probe_parts).clone();
  if (of.background_root.requires_grad())
    learned.background = to_centred(of.averaged_background_root.square()).contiguous();
  if (options.positions != PositionFreedom::none)
    learned.position_corrections = of.position_corrections;
}

}  // namespace

Model finish_training(const TrainingState& state, const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  Model model = state.model;
  for (std::size_t i = 0; i < state.weights.size(); ++i)
    state.weights[i].copy_(state.averaged_weights[i]);
  take_trained(model, state, options);
  for (std::size_t i = 0; i < state.more.size(); ++i)
    take_trained(model.more[i], state.more[i], options);
  model.network->eval();
  model.seconds_before = state.seconds_before;
  return model;
}

void require_gradients(TrainingState& state, const TrainOptions& options) {
  for (std::size_t scan = 0; scan < state.scans(); ++scan) {
    state.of(scan).probe_parts.requires_grad_(!options.fixed_probe);
    state.of(scan).background_root.requires_grad_(options.background);
  }
}

bool collapsed(const Model& model) {
  if (model.history.size() < 2 || model.recipe == TrainRecipe::ptychopinn) return false;
  return model.history.back().object_contrast < kCollapsed * model.history.front().object_contrast;
}

void restart_from_stem(TrainingState& state, const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  const std::vector<EpochRecord> history = state.model.history;
  Model fresh = state.model;
  // Another seed than the one that ended here, the same one whenever this run is repeated.
  fresh.network = make_network(fresh.network_options, state.model.seed + history.size());
  take_weights(fresh, network_to_start_from(options).weights);
  fresh.probe = fresh.stem_probe.clone();
  std::vector<std::int64_t> frames;
  for (std::size_t scan = 0; scan < state.scans(); ++scan)
    frames.push_back(state.of(scan).position_corrections.size(0));
  TrainingState restarted = state_around(std::move(fresh), frames);
  for (std::size_t scan = 0; scan < state.scans(); ++scan) {
    restarted.of(scan).position_corrections = state.of(scan).position_corrections;
    restarted.of(scan).own_steps = state.of(scan).own_steps;
  }
  restarted.epoch = state.epoch;
  restarted.step = state.step;
  restarted.total_steps = state.total_steps;
  restarted.rate = 0.5 * state.rate;
  restarted.seconds_before = state.seconds_before;
  state = std::move(restarted);
  require_gradients(state, options);
}

void write_checkpoint(const std::filesystem::path& file, const TrainingState& state, const Key& key,
                      double seconds) {
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    write_model_to(out, state.model);
    out.make_group(kGroup);
    out.set(kGroup, "key", to_text(key));
    write(out, kCounters, counters(state));
    write(out, kSeconds, at::full({1}, seconds, at::kDouble));
    for (const auto& [name, tensor] : named_tensors(state))
      write(out, layout_of(name, tensor, state), tensor.detach());
    if (state.scans() > 1) write(out, own_steps_layout(state), own_steps(state));
    out.close();
  });
}

TrainingState read_checkpoint(const std::filesystem::path& file, const Key& key,
                              const std::vector<std::int64_t>& frames) {
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
    if (const at::Tensor seconds = read_if_there(in, kSeconds); seconds.defined())  // older files
      state.seconds_before = seconds.item<double>();
    for (auto& [name, tensor] : named_tensors(state))
      tensor.copy_(read(in, layout_of(name, tensor, state)));
    set_own_steps(state, in);
    return state;
  });
}

}  // namespace ptyche
