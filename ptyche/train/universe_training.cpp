#include "ptyche/train/universe_training.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/output_folder.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/loss.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/train/checkpoints.h"
#include "ptyche/train/train_step.h"
#include "ptyche/train/training_state.h"

namespace ptyche {
namespace {

constexpr double kImageFloor = 1e-5, kFitFloor = 1e-5;  // below which no one asks for more
constexpr std::uint64_t kValidationScans = 16;
// Scans that are judged and never learned from; training does not get so far.
constexpr std::uint64_t kFirstValidation = std::uint64_t{1} << 60U;

CanvasLayout layout_of_scan(const Scan& scan) {
  return lay_out(scan.positions(), at::zeros({scan.frames()}, at::kLong), 1, scan.pattern_size(),
                 Interpolation::probe_fourier);
}

/// The truth under each pattern's whole pixel, (n, N, N).
at::Tensor truth_patches(const Scan& scan) {
  const at::Tensor whole = split_positions(scan.positions(), Interpolation::probe_fourier).whole;
  return extract_patches(scan.truth(), whole - static_cast<double>(scan.pattern_size() / 2),
                         scan.pattern_size());
}

at::Tensor squares(const at::Tensor& complex) { return at::real(complex * complex.conj()); }

/// Every patch with the phase that fits the truth best where the probe is: stitching finds that
/// phase by the neighbours, so that a network need not.
at::Tensor in_phase(const at::Tensor& patches, const at::Tensor& truth, const at::Tensor& weights) {
  const at::Tensor dot = (weights * patches.detach().conj() * truth).sum({1, 2}, true);
  return patches * (dot / dot.abs().clamp_min(1e-20));
}

/// Both over what there is to explain.
PatchErrors errors_of(const at::Tensor& patches, const ShownScan& shown, Engine engine) {
  const Scan& scan = shown.drawn.scan;
  const at::Tensor aligned = in_phase(patches, shown.truth, shown.weights);
  const at::Tensor difference =
      merge_patches(aligned - shown.truth + 1, shown.weights, shown.layout) - 1;
  const at::Tensor power = (shown.weights * squares(shown.truth)).sum();
  const at::Tensor image = (shown.light * squares(difference)).sum() / power;
  const Measured measured{
      .counts = shown.drawn.expected, .mask = mask_in_fft_order(scan), .background = {}};
  const at::Tensor all = at::arange(scan.frames(), patches.options().dtype(at::kLong));
  const GroupLoss misfit = group_loss(aligned, all, scan.probe(), shown.layout, measured,
                                      {.engine = engine, .kind = LossKind::amplitude_square});
  return {image, misfit.loss / shown.drawn.expected.sum(at::kDouble)};
}

/// The image that the network begins from, (n, N, N).
at::Tensor stem_patches(const Model& model, const at::Tensor& channels) {
  const at::Tensor skip =
      channels.slice(1, model.network_options.skip_channel, model.network_options.skip_channel + 2);
  return at::complex((1 + skip.select(1, 0)).contiguous(), skip.select(1, 1).contiguous());
}

/// The model with a scan's own probe and input constant.
Model model_of_drawn(const Model& model, const Scan& scan) {
  return model_for(scan, model, ProbeSource::scan);
}

}  // namespace

ShownScan show(const Model& model, const Universe& universe, std::uint64_t seed,
               std::uint64_t number) {
  const at::NoGradGuard no_grad;
  ShownScan shown{.drawn = universe_scan(universe, seed, number)};
  const Scan& scan = shown.drawn.scan;
  const Model own = model_of_drawn(model, scan);
  shown.channels = input_channels(own, scan, at::arange(scan.frames(), at::kLong));
  shown.layout = layout_of_scan(scan);
  shown.weights = merge_weights(scan.probe(), shown.layout);
  shown.truth = truth_patches(scan);
  shown.light = at::real(add_patches(shown.weights.to(at::kComplexFloat), shown.layout));
  shown.stem = errors_of(stem_patches(model, shown.channels), shown, Engine::fused);
  return shown;
}

ShownScan to_device(const ShownScan& shown, at::Device device) {
  if (device.is_cpu()) return shown;
  const auto there = [&](const at::Tensor& array) {
    return array.to(device, /*non_blocking=*/true);
  };
  return {.drawn = {.scan = shown.drawn.scan.to(device), .expected = there(shown.drawn.expected)},
          .channels = there(shown.channels),
          .layout = to_device(shown.layout, device),
          .weights = there(shown.weights),
          .truth = there(shown.truth),
          .light = there(shown.light),
          .stem = {there(shown.stem.image), there(shown.stem.fit)}};
}

GainOverStem gain_over_stem(const at::Tensor& patches, const ShownScan& shown, Engine engine) {
  const PatchErrors errors = errors_of(patches, shown, engine);
  return {((errors.image + kImageFloor) / (shown.stem.image + kImageFloor)).log(),
          ((errors.fit + kFitFloor) / (shown.stem.fit + kFitFloor)).log()};
}

Model new_model_of(const Universe& universe, const TrainOptions& options) {
  const Scan first = universe_scan(universe, options.seed, 0).scan;
  StemOptions stem = options.stem;
  stem.optics = true;
  Model model = new_model(first, first.probe(), options.network, stem, options.seed);
  model.any_scan = true;
  return model;
}

namespace {

/// What is large of it in memory that a GPU reads while the CPU goes on.
ShownScan pinned(ShownScan shown) {
  for (at::Tensor* array :
       {&shown.channels, &shown.weights, &shown.truth, &shown.light, &shown.drawn.expected})
    *array = array->pin_memory();
  return shown;
}

/// Draws the scans of a training, some ahead of the one that is asked for.
class ScansAhead {
 public:
  ScansAhead(Model model, Universe universe, const TrainOptions& options, std::uint64_t first)
      : model_(std::move(model)),
        universe_(std::move(universe)),
        seed_(options.seed),
        pins_(options.device.is_cuda()),
        taken_(first),
        drawn_(first) {
    // Where the CPU trains it has little time to draw.
    const int threads = options.device.is_cpu() ? 1 : std::max(at::get_num_threads() - 1, 1);
    ahead_ = kAhead * static_cast<std::uint64_t>(threads);
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { draw(); });
  }
  ~ScansAhead() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ScansAhead(const ScansAhead&) = delete;
  ScansAhead& operator=(const ScansAhead&) = delete;

  /// The next scan, in their order. Throws what drawing one threw.
  ShownScan take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_.contains(taken_) || error_; });
    if (!ready_.contains(taken_)) std::rethrow_exception(error_);
    ShownScan scan = std::move(ready_.extract(taken_++).mapped());
    lock.unlock();
    changed_.notify_all();
    return scan;
  }

 private:
  static constexpr std::uint64_t kAhead = 8;  // of each thread

  void draw() {
    omp_set_num_threads(1);  // of this thread: the training has the others
    try {
      while (true) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || error_ || drawn_ < taken_ + ahead_; });
        if (stop_ || error_) return;
        const std::uint64_t number = drawn_++;
        lock.unlock();
        ShownScan scan = show(model_, universe_, seed_, number);
        if (pins_) scan = pinned(std::move(scan));
        lock.lock();
        ready_.emplace(number, std::move(scan));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      changed_.notify_all();
    }
  }

  Model model_;
  Universe universe_;
  std::uint64_t seed_;
  bool pins_;
  std::uint64_t taken_, drawn_, ahead_ = 0;  ///< the next scans to be taken and drawn
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, ShownScan> ready_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::vector<std::thread> threads_;  // last: they use all others
};

/// Patches (n, N, N) of all patterns of the scans, one after another.
at::Tensor patches_by(const Model& model, const std::vector<ShownScan>& scans,
                      const TrainOptions& options) {
  std::vector<at::Tensor> channels;
  for (const ShownScan& shown : scans) channels.push_back(shown.channels);
  const at::Tensor all = channels.size() == 1 ? channels.front() : at::cat(channels);
  const Autocast autocast(options.precision, options.device);
  return patches_of(model, scans.front().drawn.scan, at::arange(all.size(0), at::kLong),
                    all.contiguous(at::MemoryFormat::ChannelsLast));
}

/// The gain of each scan, by one run of the network.
std::vector<GainOverStem> gains_of(const Model& model, const std::vector<ShownScan>& scans,
                                   const TrainOptions& options) {
  const at::Tensor patches = patches_by(model, scans, options);
  std::vector<GainOverStem> gains;
  std::int64_t first = 0;
  for (const ShownScan& shown : scans) {
    const std::int64_t count = shown.channels.size(0);
    gains.push_back(gain_over_stem(patches.narrow(0, first, count), shown, options.engine));
    first += count;
  }
  return gains;
}

/// Adds the gradients of some of the `of` scans of a step. Returns the sum of their fits over `of`.
double add_gradients(const TrainingState& state, const std::vector<ShownScan>& scans, double of,
                     const TrainOptions& options) {
  at::Tensor loss, fit;
  for (const GainOverStem& gain : gains_of(state.model, scans, options)) {
    const at::Tensor own = 0.5 * (gain.image + gain.fit) / of;
    loss = loss.defined() ? loss + own : own;
    fit = fit.defined() ? fit + gain.fit.detach() / of : gain.fit.detach() / of;
  }
  require(std::isfinite(loss.item<double>()),
          "training: the loss is not finite at step {} ({}); a smaller --learning-rate may help",
          state.step + 1, scans.front().drawn.scan.source());
  loss.backward();
  return fit.item<double>();
}

/// One step on some scans: on the CPU one after another, which needs less memory, elsewhere at
/// once. Returns the mean ratio of their fits to the stem's.
double universe_step(TrainingState& state, ScansAhead& scans, const TrainOptions& options) {
  const std::int64_t count = options.groups_per_batch,
                     together = options.device.is_cpu() ? 1 : count;
  double fit = 0;
  for (std::int64_t done = 0; done < count; done += together) {
    std::vector<ShownScan> some;
    for (std::int64_t i = 0; i < together; ++i)
      some.push_back(to_device(scans.take(), options.device));
    fit += add_gradients(state, some, static_cast<double>(count), options);
  }
  move_network(state, options);
  ++state.step;
  ++state.batch;
  state.loss_sum += fit;
  state.size_sum += 1;
  return fit;
}

/// Mean ratio of the image's error to the stem's, of scans that are not trained on, by the averaged
/// weights.
double validation_of(const TrainingState& state, const std::vector<ShownScan>& validation,
                     const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> kept;
  for (const at::Tensor& weight : state.weights) kept.push_back(weight.detach().clone());
  const auto set = [&](const std::vector<at::Tensor>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) state.weights[i].copy_(values[i]);
  };
  set(state.averaged_weights);
  double sum = 0;
  for (const ShownScan& shown : validation)
    sum += gains_of(state.model, {shown}, options).front().image.item<double>();
  set(kept);
  return std::exp(sum / static_cast<double>(kValidationScans));
}

/// Scans that are not trained on.
std::vector<ShownScan> validation_scans(const Model& model, const Universe& universe,
                                        const TrainOptions& options) {
  std::vector<ShownScan> scans;
  for (std::uint64_t i = 0; i < kValidationScans; ++i)
    scans.push_back(
        to_device(show(model, universe, options.seed, kFirstValidation + i), options.device));
  return scans;
}

Key universe_key(const Universe& universe, const TrainOptions& options) {
  Key key = key_of(options);
  key.emplace_back("universe", to_text(universe));
  if (!options.start.empty()) key.emplace_back("start", fingerprint_of_start(options));
  return key;
}

TrainingState begin_universe(const Universe& universe, const TrainOptions& options,
                             const Key& key) {
  if (options.resume && std::filesystem::exists(options.checkpoint)) {
    TrainingState state = read_checkpoint(options.checkpoint, key, {universe.patterns});
    note("resumed from {} at epoch {}", options.checkpoint.string(), state.epoch + 1);
    return state;
  }
  Model model = new_model_of(universe, options);
  if (!options.start.empty()) take_start(model, options);
  model.training = key;
  TrainingState state = state_around(std::move(model), universe.patterns);
  state.total_steps = options.epochs * kUniverseSteps;
  return state;
}

void end_universe_epoch(TrainingState& state, const std::vector<ShownScan>& validation,
                        const TrainOptions& options) {
  EpochRecord record{.epoch = state.epoch + 1, .loss = std::exp(state.loss_sum / state.size_sum)};
  record.learning_rate =
      learning_rate_factor(state.step, state.total_steps, options) * options.learning_rate;
  record.validation_loss = validation_of(state, validation, options);
  detail("epoch {}: fit {:.4f}, image of unseen scans {:.4f} of the stem's", record.epoch,
         record.loss, *record.validation_loss);
  state.model.history.push_back(record);
  state.loss_sum = state.size_sum = 0;
  state.batch = 0;
  ++state.epoch;
}

}  // namespace

Model train_on_universe(const Universe& universe, const TrainOptions& options) {
  require_in_range(options);
  require_device(options.device);
  require(traits_of(options.network).has_stem && options.recipe == TrainRecipe::ptyche,
          "--universe: expected a network with a physics stem, trained in our way, found {}",
          options.network.name);
  const CatchInterrupts catching;
  const Key key = universe_key(universe, options);
  TrainingState state = begin_universe(universe, options, key);
  Checkpoints checkpoints(options.checkpoint, key);
  Progress progress("train", state.total_steps, "patterns");
  const auto first = static_cast<std::uint64_t>(state.step * options.groups_per_batch);
  ScansAhead scans(state.model, universe, options, first);
  const std::vector<ShownScan> validation = validation_scans(state.model, universe, options);
  move_to(state, options.device);
  while (state.epoch < options.epochs) {
    while (state.batch < kUniverseSteps) {
      const double fit = universe_step(state, scans, options);
      progress.step(state.step, state.step * options.groups_per_batch * universe.patterns,
                    fmt::format("epoch {}/{}  fit {:.4f} of the stem's", state.epoch + 1,
                                options.epochs, std::exp(fit)),
                    std::exp(fit));
      if (state.batch < kUniverseSteps) checkpoints.after_step(state);
    }
    end_universe_epoch(state, validation, options);
    checkpoints.after_step(state);
  }
  if (options.keep_checkpoint)
    checkpoints.keep(state);
  else
    checkpoints.remove();
  move_to(state, at::kCPU);
  return finish_training(state, options);
}

}  // namespace ptyche
