#include "ptyche/train/train_step.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/engine/group_loss.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/train/label_loss.h"

namespace ptyche {
namespace {

/// Where the batch's patterns lie; the loss may be asked for its slope by the fractions.
CanvasLayout layout_of(const Scan& scan, const GroupBatch& batch, const TrainOptions& options) {
  CanvasLayout layout = lay_out(scan.positions().index_select(0, batch.frames), batch.group,
                                batch.count, scan.pattern_size(), Interpolation::probe_fourier);
  layout.fractions.requires_grad_(options.positions != PositionFreedom::none);
  return layout;
}

/// Network, merge, forward model, misfit: the whole of the method in one function.
GroupLoss evaluate_batch(const TrainingState& state, const Scan& scan, const CanvasLayout& layout,
                         const at::Tensor& channels, const GroupBatch& batch,
                         const Measured& measured, const TrainOptions& options) {
  at::Tensor patches;
  {
    const Autocast autocast(options.precision);
    patches = patches_of(state.model, scan, batch.frames.index_select(0, batch.merged), channels);
  }
  return group_loss(patches, batch.merged, at::view_as_complex(state.probe_parts), layout, measured,
                    {.engine = options.engine, .kind = options.loss, .device = options.device});
}

/// The loss of a batch and what it is divided by: photons, amplitudes, or patches with labels.
struct BatchLoss {
  GroupLoss sum;
  double size = 1;
};

/// The patterns of a batch, and the background that is being trained.
Measured measured_of(const TrainingState& state, const Scan& scan, const InputCache& inputs,
                     const GroupBatch& batch) {
  const bool with_background = state.background_root.requires_grad();
  return {.counts = inputs.counts(batch.frames),
          .mask = mask_in_fft_order(scan),
          .background = with_background ? state.background_root.square() : at::Tensor()};
}

BatchLoss loss_of(const TrainingState& state, const CanvasLayout& layout, const Scan& scan,
                  const InputCache& inputs, const GroupBatch& batch, const TrainOptions& options) {
  const at::Tensor frames = batch.frames.index_select(0, batch.merged);
  const at::Tensor channels = inputs.channels(frames);
  if (auto* supervised = dynamic_cast<SupervisedNetwork*>(state.model.network.get())) {
    const Autocast autocast(options.precision);
    return {label_loss(*supervised, channels, scan, frames), static_cast<double>(frames.size(0))};
  }
  const Measured measured = measured_of(state, scan, inputs, batch);
  return {evaluate_batch(state, scan, layout, channels, batch, measured, options),
          units_of(options.loss, measured.counts, measured.mask)};
}

void average(std::vector<at::Tensor>& means, const std::vector<at::Tensor>& values, double weight) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < means.size(); ++i) means[i].lerp_(values[i], 1 - weight);
}

/// Share of the old average that is kept: little at first, so that the start is forgotten.
double averaging_weight(const TrainOptions& options, std::int64_t step) {
  const auto done = static_cast<double>(step);
  return std::min(options.averaging, (done + 1) / (done + 10));
}

void move(TrainingState& state, const TrainOptions& options) {
  clip_gradients(state.weights, options.gradient_limit);
  const double factor = state.rate * learning_rate_factor(state.step, state.total_steps, options);
  adam_step(state.weights, state.network_adam, factor * options.learning_rate);
  const bool probe_waits = warming_up(state, options);
  const double peak = state.model.stem_probe.abs().max().item<double>();
  // A tenth of the probe's rate stays to the end: the probe is the last to settle.
  adam_step(
      {state.probe_parts}, state.probe_adam,
      probe_waits ? 0 : options.probe_learning_rate * peak * (0.1 * state.rate + 0.9 * factor));
  adam_step({state.background_root}, state.background_adam,
            probe_waits ? 0 : options.background_rate * factor);
  const double weight = averaging_weight(options, state.step);
  average(state.averaged_weights, state.weights, weight);
  state.averaged_probe_parts.lerp_(state.probe_parts.detach(), 1 - weight);
  state.averaged_background_root.lerp_(state.background_root.detach(), 1 - weight);
}

}  // namespace

bool warming_up(const TrainingState& state, const TrainOptions& options) {
  return static_cast<double>(state.step) <
         options.probe_warm_up * static_cast<double>(state.total_steps);
}

double learning_rate_factor(std::int64_t step, std::int64_t total_steps,
                            const TrainOptions& options) {
  const double rise = static_cast<double>(step + 1) / static_cast<double>(std::clamp<std::int64_t>(
                                                          options.warm_up_steps, 1, total_steps));
  const double progress = static_cast<double>(step) / static_cast<double>(total_steps);
  return std::min(1.0, rise) * 0.5 * (1 + std::cos(M_PI * progress));
}

StepResult train_step(TrainingState& state, const Scan& scan, const InputCache& inputs,
                      const GroupBatch& batch, const TrainOptions& options) {
  const CanvasLayout layout = layout_of(scan, batch, options);
  const auto [misfit, size] = loss_of(state, layout, scan, inputs, batch, options);
  const at::Tensor loss = misfit.loss / size;
  const auto value = loss.item<double>();
  require(std::isfinite(value),
          "training: the loss is not finite at step {}; a smaller "
          "--learning-rate may help",
          state.step + 1);
  loss.backward();
  if (layout.fractions.grad().defined() && !warming_up(state, options))
    state.slopes.index_add_(0, batch.frames, layout.fractions.grad(), size);
  move(state, options);
  const StepResult result{value, misfit.contrast};
  state.loss_sum += value * size;
  state.size_sum += size;
  state.contrast_sum += result.object_contrast;
  ++state.batch;
  ++state.step;
  return result;
}

}  // namespace ptyche
