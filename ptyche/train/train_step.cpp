#include "ptyche/train/train_step.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/loss.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/train/chunks.h"
#include "ptyche/train/ptychopinn_recipe.h"

namespace ptyche {
namespace {

constexpr std::int64_t kEpochsBetweenMoves = 2;

/// (N, N) float32 that sums to 1: equal weights of all lit pixels.
at::Tensor lit_weights(const at::Tensor& probe) {
  const at::Tensor lit = lit_pixels(mode_power(probe), kLitToLearn).to(at::kFloat);
  return lit / lit.sum();
}

/// Where the batch's patterns lie; the loss may be asked for its slope by the fractions.
CanvasLayout layout_of(const Scan& scan, const GroupBatch& batch, const TrainOptions& options) {
  const bool bilinear = options.recipe == TrainRecipe::ptychopinn;
  CanvasLayout layout = lay_out(scan.positions().index_select(0, batch.frames), batch.group,
                                batch.count, scan.pattern_size(),
                                bilinear ? Interpolation::bilinear : Interpolation::probe_fourier);
  layout = to_device(layout, options.device);
  if (bilinear) return layout;
  layout.fractions.requires_grad_(options.positions != PositionFreedom::none);
  return layout;
}

/// The loss of a batch and what it is divided by: photons, amplitudes, or patches with labels.
struct BatchLoss {
  GroupLoss sum;
  double size = 1;
};

/// The patterns of a batch, and the background that is being trained.
Measured measured_of(const ScanState& state, const Scan& scan, const InputCache& inputs,
                     const GroupBatch& batch) {
  const bool with_background = state.background_root.requires_grad();
  return {.counts = inputs.counts(batch.frames),
          .mask = mask_in_fft_order(scan),
          .background = with_background ? state.background_root.square() : at::Tensor()};
}

BatchLoss misfit_of(const at::Tensor& patches, const GroupBatch& batch, const at::Tensor& probe,
                    const CanvasLayout& layout, const Measured& measured, LossKind kind,
                    const TrainOptions& options) {
  const LossOptions how{.engine = options.engine, .kind = kind};
  const at::Tensor merged = batch.merged.to(options.device);
  if (options.recipe == TrainRecipe::ptychopinn)
    return {square_merged_loss(patches, merged, probe, layout, measured, how),
            static_cast<double>(measured.counts.numel())};
  return {group_loss(patches, merged, probe, layout, measured, how),
          units_of(kind, measured.counts, measured.mask)};
}

/// The true object under the patterns, (k, N, N).
at::Tensor truth_under(const Scan& scan, const at::Tensor& frames, const char* who) {
  require(scan.truth().defined(), "{}: {} needs the true object, which this scan does not have",
          scan.source(), who);
  const at::Tensor corners =
      scan.positions().index_select(0, frames) - static_cast<double>(scan.pattern_size() / 2);
  return extract_patches(scan.truth(), corners.to(scan.device()), scan.pattern_size());
}

at::Tensor merged_frames(const GroupBatch& batch) {
  return batch.frames.index_select(0, batch.merged);
}

/// The network on the patterns that are merged: their patches, or a supervised network's maps.
Chunks network_on(const Model& model, const Scan& scan, const InputCache& inputs,
                  const GroupBatch& batch, const TrainOptions& options) {
  const at::Tensor frames = merged_frames(batch);
  const bool supervised = traits_of(model.network_options).supervised;
  const std::int64_t inseparable = model.network->patterns_per_input();
  // Chunks are for the CPU's threads.
  const std::int64_t together =
      options.device.is_cpu()
          ? std::max(kChunkPatterns / inseparable, std::int64_t{1}) * inseparable
          : frames.size(0);
  return {frames.size(0), together, [&](std::int64_t first, std::int64_t count) {
            const at::Tensor own = frames.narrow(0, first, count);
            const at::Tensor channels = inputs.channels(own);
            const Autocast autocast(options.precision, options.device);
            return supervised ? model.network->maps(channels)
                              : patches_of(model, scan, own, channels);
          }};
}

/// Merge, forward model, misfit of what the network has given: the whole of the method but it.
BatchLoss loss_of(const at::Tensor& patches, const ScanState& state, const CanvasLayout& layout,
                  const Scan& scan, const InputCache& inputs, const GroupBatch& batch,
                  const TrainOptions& options) {
  const at::Tensor frames = merged_frames(batch);
  if (traits_of(state.model.network_options).supervised)
    return {supervised_loss(patches, scan, frames), static_cast<double>(frames.size(0))};
  const Measured measured = measured_of(state, scan, inputs, batch);
  const auto misfit = [&](LossKind kind) -> BatchLoss {
    return misfit_of(patches, batch, at::view_as_complex(state.probe_parts), layout, measured, kind,
                     options);
  };
  BatchLoss loss = misfit(options.loss);
  if (options.mae_share > 0) {
    const BatchLoss other = misfit(LossKind::amplitude_absolute);
    loss.sum.loss = loss.sum.loss + options.mae_share * loss.size / other.size * other.sum.loss;
  }
  const at::Tensor terms = real_space_terms(patches, scan, frames, options);
  if (terms.defined())
    loss.sum.loss =
        loss.sum.loss + loss.size / static_cast<double>(frames.size(0)) * terms.to(at::kDouble);
  return loss;
}

void average(std::vector<at::Tensor>& means, const std::vector<at::Tensor>& values, double weight) {
  const at::NoGradGuard no_grad;
  if (!means.empty()) at::_foreach_lerp_(means, values, 1 - weight);
}

/// Share of the old average that is kept: little at first, so that the start is forgotten.
double averaging_weight(const TrainOptions& options, std::int64_t step) {
  if (options.averaging == 0) return 0;
  const auto done = static_cast<double>(step);
  return std::min(options.averaging, (done + 1) / (done + 10));
}

/// PtychoPINN's Adam is Keras': a slower mean of squares, and an epsilon that is added before the
/// variance is corrected for its start at 0.
AdamOptions adam_of(const TrainingState& state, const TrainOptions& options) {
  if (options.recipe != TrainRecipe::ptychopinn) return {};
  constexpr double kBeta2 = 0.999, kEpsilon = 1e-7;
  const double corrected = 1 - std::pow(kBeta2, static_cast<double>(state.step + 1));
  return {.beta1 = 0.9, .beta2 = kBeta2, .epsilon = kEpsilon / std::sqrt(corrected)};
}

/// Probe and background of one scan, and their means.
void move_own(ScanState& of, const TrainingState& state, const TrainOptions& options) {
  const double factor = state.rate * learning_rate_factor(state.step, state.total_steps, options);
  const bool probe_waits = warming_up(state, options);
  const double peak = of.model.stem_probe.abs().max().item<double>();
  // A tenth of the probe's rate stays to the end: the probe is the last to settle.
  adam_step(
      {of.probe_parts}, of.probe_adam,
      probe_waits ? 0 : options.probe_learning_rate * peak * (0.1 * state.rate + 0.9 * factor));
  adam_step({of.background_root}, of.background_adam,
            probe_waits ? 0 : options.background_rate * factor);
  const double weight = averaging_weight(options, of.own_steps);
  of.averaged_probe_parts.lerp_(of.probe_parts.detach(), 1 - weight);
  of.averaged_background_root.lerp_(of.background_root.detach(), 1 - weight);
  ++of.own_steps;
}

/// Gradients of a part's loss, of the rank's share of its groups, are added to those of the parts
/// before. `value` is the loss per `size`, `contrast` that of the merged objects, both of all
/// ranks, which count as `share` of the batch; `slopes` (m, 2) float64 are of the positions of the
/// batch's frames, undefined where they are kept.
struct PartLoss {
  double value = 0, contrast = 0, size = 1;
  at::Tensor slopes;
};

/// The slopes of a rank's own groups among those of the batch.
at::Tensor among_all(const at::Tensor& slope, const GroupBatch& batch,
                     const TrainingTogether& together) {
  if (!together.several()) return slope;
  at::Tensor all = at::zeros({batch.frames.size(0), 2}, at::kDouble);
  if (!slope.defined()) return all;
  const std::int64_t first = batch.count * together.own / together.all;
  const std::int64_t before = batch.group.lt(first).sum().item<std::int64_t>();
  all.narrow(0, before, slope.size(0)).copy_(slope);
  return all;
}

PartLoss add_gradients(const StepPart& part, double share, const TrainingState& state,
                       const TrainOptions& options, const TrainingTogether& together) {
  const GroupBatch own = share_of(part.batch, together);
  const bool moves = options.positions != PositionFreedom::none && !warming_up(state, options);
  if (own.count == 0) {
    PartLoss none{.size = sum_of_all(together, 0)};
    none.value = sum_of_all(together, 0);
    none.contrast = sum_of_all(together, 0);
    if (moves) none.slopes = among_all({}, part.batch, together);
    return none;
  }
  const CanvasLayout layout = layout_of(part.scan, own, options);
  Chunks network = network_on(state.model, part.scan, part.inputs, own, options);
  const auto [misfit, own_size] =
      loss_of(network.whole(), part.of, layout, part.scan, part.inputs, own, options);
  const double size = sum_of_all(together, own_size);
  const at::Tensor loss = misfit.loss / size;
  const double value = sum_of_all(together, loss.item<double>());
  const double of_all = static_cast<double>(own.count) / static_cast<double>(part.batch.count);
  const double contrast = sum_of_all(together, misfit.contrast * of_all);
  require(std::isfinite(value),
          "{}: training: the loss is not finite at step {}; a smaller --learning-rate may help",
          part.scan.source(), state.step + 1);
  (share == 1 ? loss : loss * share).backward();
  network.backward(state.weights);
  const at::Tensor& slope = layout.fractions.grad();
  return {value, contrast, size,
          moves && (together.several() || slope.defined()) ? among_all(slope, part.batch, together)
                                                           : at::Tensor()};
}

/// Of all ranks, where there are several.
void sum_over_ranks(const TrainingState& state, const std::vector<StepPart>& parts,
                    const std::vector<PartLoss>& losses, const TrainingTogether& together) {
  std::vector<at::Tensor> parameters = state.weights, slopes;
  for (const StepPart& part : parts)
    for (const at::Tensor& own : {part.of.probe_parts, part.of.background_root})
      if (own.requires_grad()) parameters.push_back(own);
  for (const PartLoss& loss : losses)
    if (loss.slopes.defined()) slopes.push_back(loss.slopes);
  sum_gradients(together, parameters, slopes);
}

}  // namespace

void move_network(TrainingState& state, const TrainOptions& options) {
  clip_gradients(state.weights, options.gradient_limit);
  const double factor = state.rate * learning_rate_factor(state.step, state.total_steps, options);
  adam_step(state.weights, state.network_adam, factor * options.learning_rate,
            adam_of(state, options));
  average(state.averaged_weights, state.weights, averaging_weight(options, state.step));
}

InputCache::InputCache(const Model& model, const Scan& scan, Engine engine, double bytes)
    : model_(model), scan_(scan), engine_(engine) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const auto floats =
      static_cast<double>(used.size(0) * scan.pattern_size() * scan.pattern_size()) *
      static_cast<double>(model.network_options.channels + 1);
  if (4 * floats > bytes) return;
  row_of_frame_ = at::full({scan.frames()}, -1, at::kLong);
  row_of_frame_.index_put_({used}, at::arange(used.size(0), at::kLong));
  channels_ = input_channels(model, scan, used, engine);
  counts_ = counts_in_fft_order(scan, used);
}

double InputCache::bytes() const {
  if (!channels_.defined()) return 0;
  return static_cast<double>(channels_.nbytes() + counts_.nbytes());
}

at::Tensor InputCache::channels(const at::Tensor& frames) const {
  if (!channels_.defined()) return input_channels(model_, scan_, frames, engine_);
  return channels_.index_select(0, rows_of(frames)).contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor InputCache::counts(const at::Tensor& frames) const {
  if (!counts_.defined()) return counts_in_fft_order(scan_, frames);
  return counts_.index_select(0, rows_of(frames));
}

at::Tensor InputCache::rows_of(const at::Tensor& frames) const {
  return row_of_frame_.index_select(0, frames).to(counts_.device());
}

GroupLoss supervised_loss(const at::Tensor& maps, const Scan& scan, const at::Tensor& frames) {
  const at::Tensor truth = truth_under(scan, frames, "a supervised network");
  const at::Tensor error =
      (maps - at::stack({truth.abs(), truth.angle()}, 1)).abs() * lit_weights(scan.probe());
  const at::Tensor amplitude = maps.detach().select(1, 0);
  return {error.sum(at::kDouble), (amplitude.std() / amplitude.mean()).item<double>()};
}

at::Tensor real_space_terms(const at::Tensor& patches, const Scan& scan, const at::Tensor& frames,
                            const TrainOptions& options) {
  at::Tensor terms;
  const at::Tensor lit = lit_weights(scan.probe());
  if (options.tv_weight > 0) {
    const auto along = [&](int axis) {
      const std::int64_t last = patches.size(axis) - 1;
      return ((patches.narrow(axis, 1, last) - patches.narrow(axis, 0, last)).abs() *
              lit.narrow(axis - 1, 0, last))
          .sum();
    };
    terms = options.tv_weight * (along(1) + along(2));
  }
  if (options.realspace_mae > 0) {
    const at::Tensor truth = truth_under(scan, frames, "--realspace-mae-weight");
    const at::Tensor error = options.realspace_mae * ((patches - truth).abs() * lit).sum();
    terms = terms.defined() ? terms + error : error;
  }
  return terms;
}

bool warming_up(const TrainingState& state, const TrainOptions& options) {
  return static_cast<double>(state.step) <
         options.probe_warm_up * static_cast<double>(state.total_steps);
}

double learning_rate_factor(std::int64_t step, std::int64_t total_steps,
                            const TrainOptions& options) {
  if (options.recipe == TrainRecipe::ptychopinn) return 1;
  const double rise = static_cast<double>(step + 1) / static_cast<double>(std::clamp<std::int64_t>(
                                                          options.warm_up_steps, 1, total_steps));
  const double progress = static_cast<double>(step) / static_cast<double>(total_steps);
  return std::min(1.0, rise) * 0.5 * (1 + std::cos(M_PI * progress));
}

StepResult train_step(TrainingState& state, const std::vector<StepPart>& parts,
                      const TrainOptions& options, const TrainingTogether& together) {
  double groups = 0;
  for (const StepPart& part : parts) groups += static_cast<double>(part.batch.count);
  StepResult result;
  std::vector<PartLoss> losses;
  for (const StepPart& part : parts) {
    const double share = static_cast<double>(part.batch.count) / groups;
    const PartLoss& loss =
        losses.emplace_back(add_gradients(part, share, state, options, together));
    result.loss += share * loss.value;
    result.object_contrast += share * loss.contrast;
    state.loss_sum += loss.value * loss.size;
    state.size_sum += loss.size;
  }
  sum_over_ranks(state, parts, losses, together);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const at::Tensor& slopes = losses[i].slopes; slopes.defined())
      parts[i].of.position_gradient.index_add_(
          0, parts[i].batch.frames.to(slopes.device()), slopes,
          losses[i].size / (static_cast<double>(parts[i].batch.count) / groups));
  for (const StepPart& part : parts) move_own(part.of, state, options);
  move_network(state, options);
  state.contrast_sum += result.object_contrast;
  ++state.batch;
  ++state.step;
  return result;
}

StepResult train_step(TrainingState& state, const Scan& scan, const InputCache& inputs,
                      const GroupBatch& batch, const TrainOptions& options) {
  return train_step(state, {{state, scan, inputs, batch}}, options, {});
}

double loss_without_step(const TrainingState& state, const Scan& scan, const InputCache& inputs,
                         const Groups& groups, const TrainOptions& options) {
  const at::NoGradGuard no_grad;
  double sum = 0, size = 0;
  for (const GroupBatch& batch : draw_epoch(groups, options.groups_per_batch, 0)) {
    const Chunks network = network_on(state.model, scan, inputs, batch, options);
    const BatchLoss loss = loss_of(network.whole(), state, layout_of(scan, batch, options), scan,
                                   inputs, batch, options);
    sum += loss.sum.loss.item<double>();
    size += loss.size;
  }
  return sum / size;
}

bool positions_move_after(const TrainingState& state, const TrainOptions& options) {
  return options.positions != PositionFreedom::none && !warming_up(state, options) &&
         state.epoch < options.epochs && state.epoch % kEpochsBetweenMoves == 0;
}

void move_positions(const TrainingState& state, ScanState& of, const Scan& scan,
                    const TrainOptions& options, double visits) {
  const double limit = options.position_step * state.rate *
                       learning_rate_factor(state.step, state.total_steps, options);
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const auto of_used = [&](const at::Tensor& all) { return all.index_select(0, used); };
  const double curvature = static_cast<double>(kEpochsBetweenMoves) * visits *
                           position_curvature(at::view_as_complex(of.probe_parts.detach()));
  at::Tensor mean = of_used(of.mean_position_gradient);
  if (limit > 0)
    of.position_corrections = corrections_of_all(
        scan, used,
        of_used(of.position_corrections) + position_step(of_used(of.position_gradient.cpu()), mean,
                                                         of_used(scan.positions()), curvature,
                                                         limit, options.positions));
  of.mean_position_gradient.index_copy_(0, used, mean);
  of.position_gradient.zero_();
}

}  // namespace ptyche
