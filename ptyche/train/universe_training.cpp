#include "ptyche/train/universe_training.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

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

/// Every patch with the phase that fits the truth best where the probe is: stitching finds that
/// phase by the neighbours, so that a network need not.
at::Tensor in_phase(const at::Tensor& patches, const at::Tensor& truth, const at::Tensor& weights) {
  const at::Tensor dot = (weights * patches.detach().conj() * truth).sum({1, 2}, true);
  return patches * (dot / dot.abs().clamp_min(1e-20));
}

struct Errors {
  at::Tensor image, fit;
};

/// Both over what there is to explain.
Errors errors_of(const at::Tensor& patches, const ShownScan& shown, Engine engine) {
  const Scan& scan = shown.drawn.scan;
  const CanvasLayout layout = layout_of_scan(scan);
  const at::Tensor weights = merge_weights(scan.probe(), layout), truth = truth_patches(scan);
  const at::Tensor aligned = in_phase(patches, truth, weights);
  const at::Tensor difference = merge_patches(aligned - truth + 1, weights, layout) - 1;
  const at::Tensor light = at::real(add_patches(weights.to(at::kComplexFloat), layout));
  const at::Tensor power = (weights * at::real(truth * truth.conj())).sum();
  const at::Tensor image = (light * at::real(difference * difference.conj())).sum() / power;
  const Measured measured{
      .counts = shown.drawn.expected, .mask = mask_in_fft_order(scan), .background = {}};
  const GroupLoss misfit =
      group_loss(aligned, at::arange(scan.frames(), at::kLong), scan.probe(), layout, measured,
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
  UniverseScan drawn = universe_scan(universe, seed, number);
  const Model own = model_of_drawn(model, drawn.scan);
  at::Tensor channels = input_channels(own, drawn.scan, at::arange(drawn.scan.frames(), at::kLong));
  return {std::move(drawn), std::move(channels)};
}

GainOverStem gain_over_stem(const at::Tensor& patches, const ShownScan& shown, const Model& model,
                            Engine engine) {
  const Errors errors = errors_of(patches, shown, engine);
  const Errors stem = [&] {
    const at::NoGradGuard no_grad;
    return errors_of(stem_patches(model, shown.channels), shown, engine);
  }();
  return {((errors.image + kImageFloor) / (stem.image + kImageFloor)).log(),
          ((errors.fit + kFitFloor) / (stem.fit + kFitFloor)).log()};
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

/// Draws the scans of a training in their order, some ahead of the one that is asked for.
class ScansAhead {
 public:
  ScansAhead(Model model, Universe universe, std::uint64_t seed, std::uint64_t first)
      : model_(std::move(model)),
        universe_(std::move(universe)),
        seed_(seed),
        next_(first),
        thread_([this] { draw(); }) {}
  ~ScansAhead() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  ScansAhead(const ScansAhead&) = delete;
  ScansAhead& operator=(const ScansAhead&) = delete;

  /// The next scan. Throws what drawing it threw.
  ShownScan take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || error_; });
    if (ready_.empty()) std::rethrow_exception(error_);
    ShownScan scan = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return scan;
  }

 private:
  static constexpr std::size_t kAhead = 8;

  void draw() {
    omp_set_num_threads(1);  // of this thread: the training has the others
    try {
      while (true) {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return stop_ || ready_.size() < kAhead; });
          if (stop_) return;
        }
        ShownScan scan = show(model_, universe_, seed_, next_++);
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(scan));
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
  std::uint64_t seed_, next_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ShownScan> ready_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all others
};

at::Tensor patches_by(const Model& model, const ShownScan& shown, Precision precision) {
  const Autocast autocast(precision);
  return patches_of(model, shown.drawn.scan, at::arange(shown.drawn.scan.frames(), at::kLong),
                    shown.channels);
}

/// One step on some scans. Returns the mean ratio of their fits to the stem's.
double universe_step(TrainingState& state, ScansAhead& scans, const TrainOptions& options) {
  double fit = 0;
  const auto count = static_cast<double>(options.groups_per_batch);
  for (std::int64_t i = 0; i < options.groups_per_batch; ++i) {
    const ShownScan shown = scans.take();
    const GainOverStem gain = gain_over_stem(patches_by(state.model, shown, options.precision),
                                             shown, state.model, options.engine);
    const at::Tensor loss = 0.5 * (gain.image + gain.fit) / count;
    require(std::isfinite(loss.item<double>()),
            "training: the loss is not finite at step {} ({}); a smaller --learning-rate may help",
            state.step + 1, shown.drawn.scan.source());
    loss.backward();
    fit += gain.fit.item<double>() / count;
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
double validation_of(const TrainingState& state, const Universe& universe,
                     const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> kept;
  for (const at::Tensor& weight : state.weights) kept.push_back(weight.detach().clone());
  const auto set = [&](const std::vector<at::Tensor>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) state.weights[i].copy_(values[i]);
  };
  set(state.averaged_weights);
  double sum = 0;
  for (std::uint64_t i = 0; i < kValidationScans; ++i) {
    const ShownScan shown = show(state.model, universe, options.seed, kFirstValidation + i);
    sum += gain_over_stem(patches_by(state.model, shown, options.precision), shown, state.model,
                          options.engine)
               .image.item<double>();
  }
  set(kept);
  return std::exp(sum / static_cast<double>(kValidationScans));
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

void end_universe_epoch(TrainingState& state, const Universe& universe,
                        const TrainOptions& options) {
  EpochRecord record{.epoch = state.epoch + 1, .loss = std::exp(state.loss_sum / state.size_sum)};
  record.learning_rate =
      learning_rate_factor(state.step, state.total_steps, options) * options.learning_rate;
  record.validation_loss = validation_of(state, universe, options);
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
  require(options.device.is_cpu(),
          "--universe: its scans are trained on by the CPU, found --device {}",
          options.device.str());
  require(traits_of(options.network).has_stem && options.recipe == TrainRecipe::ptyche,
          "--universe: expected a network with a physics stem, trained in our way, found {}",
          options.network.name);
  const CatchInterrupts catching;
  const Key key = universe_key(universe, options);
  TrainingState state = begin_universe(universe, options, key);
  Checkpoints checkpoints(options.checkpoint, key);
  Progress progress("train", state.total_steps, "patterns");
  const auto first = static_cast<std::uint64_t>(state.step * options.groups_per_batch);
  ScansAhead scans(state.model, universe, options.seed, first);
  while (state.epoch < options.epochs) {
    while (state.batch < kUniverseSteps) {
      const double fit = universe_step(state, scans, options);
      progress.step(state.step, state.step * options.groups_per_batch * universe.patterns,
                    fmt::format("epoch {}/{}  fit {:.4f} of the stem's", state.epoch + 1,
                                options.epochs, std::exp(fit)),
                    std::exp(fit));
      if (state.batch < kUniverseSteps) checkpoints.after_step(state);
    }
    end_universe_epoch(state, universe, options);
    checkpoints.after_step(state);
  }
  if (options.keep_checkpoint)
    checkpoints.keep(state);
  else
    checkpoints.remove();
  return finish_training(state, options);
}

}  // namespace ptyche
