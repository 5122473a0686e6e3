#include "ptyche/train/ptychopinn_recipe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ptyche/core/error.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {
namespace {

constexpr double kMergeFloor = 0.001;

/// The canvases one below the other, as one object, and where the patterns lie on it.
CanvasLayout stacked(const CanvasLayout& layout) {
  CanvasLayout tall = layout;
  const at::Tensor down = (layout.group * layout.rows).to(at::kDouble);
  tall.corners = layout.corners + at::stack({down, at::zeros_like(down)}, 1);
  tall.group = at::zeros_like(layout.group);
  tall.rows = layout.groups * layout.rows;
  tall.groups = 1;
  return tall;
}

double contrast_of(const at::Tensor& canvases) {
  const at::Tensor values = canvases.detach();
  const double mean = values.mean().abs().item<double>();
  return (values - values.mean()).abs().square().mean().sqrt().item<double>() / mean;
}

}  // namespace

TrainOptions with_ptychopinn_recipe(TrainOptions options) {
  options.recipe = TrainRecipe::ptychopinn;
  options.network.name = "ptychopinn";
  options.epochs = 50;
  options.groups_per_batch = 16;
  options.learning_rate = 1e-3;
  options.warm_up_steps = 0;
  options.gradient_limit = 1e9;
  options.averaging = 0;
  options.fixed_probe = true;
  options.background = false;
  options.probe_start = "guess";
  options.probe_scale = 4;
  return options;
}

void require_recipe(const TrainOptions& options) {
  if (options.recipe != TrainRecipe::ptychopinn) return;
  require(!traits_of(options.network).has_stem,
          "--preset ptychopinn: expected --network ptychopinn or supervised, found {}",
          options.network.name);
  require(options.positions == PositionFreedom::none,
          "--preset ptychopinn: PtychoPINN does not move positions, expected {}",
          "no --refine-positions");
}

at::Tensor ptychopinn_probe(const at::Tensor& probe, double input_scale, double probe_scale) {
  const double mean = probe.abs().mean(at::kDouble).item<double>();
  require(mean > 0, "probe: expected light for --probe-scale, found {}", "none");
  return probe * (1 / (input_scale * probe_scale * mean));
}

GroupLoss square_merged_loss(const at::Tensor& patches, const at::Tensor& merged,
                             const at::Tensor& probe, const CanvasLayout& layout,
                             const Measured& measured, const LossOptions& options) {
  const at::Tensor square =
      central_square(layout.pattern_size, layout.pattern_size / 2).to(patches.device());
  const at::Tensor canvases =
      merge_patches(patches, square, select_patches(layout, merged), {.floor = kMergeFloor});
  const CanvasLayout tall = stacked(layout);
  const at::Tensor object = canvases.reshape({tall.rows, tall.cols});
  return {object_loss(object, probe, tall.corners, {}, measured, options), contrast_of(canvases)};
}

SplitGroups split_for_validation(const Groups& groups, const TrainOptions& options) {
  if (options.recipe != TrainRecipe::ptychopinn) return {groups, groups};
  require(groups.are_fixed(), "--preset ptychopinn: expected groups that are chosen once, found {}",
          "groups drawn in every epoch");
  const std::int64_t count = groups.fixed.size(0);
  const auto kept = static_cast<std::int64_t>(std::floor(0.95 * static_cast<double>(count)));
  if (count - kept < 1 || count < 20) return {groups, {}};
  SplitGroups split{groups, groups};
  split.learned.fixed = groups.fixed.narrow(0, 0, kept);
  split.validated.fixed = groups.fixed.narrow(0, kept, count - kept);
  return split;
}

double plateau_factor(const std::vector<EpochRecord>& history) {
  constexpr double kLeastGain = 1e-4, kLowest = 0.1;
  constexpr int kPatience = 2;
  double best = std::numeric_limits<double>::infinity(), factor = 1;
  int waited = 0;
  for (const EpochRecord& record : history) {
    if (!record.validation_loss) continue;
    if (*record.validation_loss < best - kLeastGain) {
      best = *record.validation_loss;
      waited = 0;
    } else if (++waited >= kPatience) {
      factor = std::max(0.5 * factor, kLowest);
      waited = 0;
    }
  }
  return factor;
}

bool stands_still(const std::vector<EpochRecord>& history) {
  constexpr std::size_t kPatience = 3;
  if (history.size() <= kPatience) return false;
  const auto by_loss = [](const EpochRecord& a, const EpochRecord& b) { return a.loss < b.loss; };
  const auto lowest = std::ranges::min_element(history, by_loss);  // the first of equals
  return static_cast<std::size_t>(history.end() - lowest) > kPatience;
}

}  // namespace ptyche
