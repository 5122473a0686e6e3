#include "ptyche/live/patch_maker.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/single_pattern.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {
namespace {

/// As many projections as the network's own stem makes.
constexpr std::int64_t kStemSteps = 16;

at::Tensor stem_patches(const Scan& part, const at::Tensor& frames, const at::Tensor& probe,
                        Engine engine) {
  const at::Tensor mask = mask_in_fft_order(part);
  const at::Tensor amplitudes = counts_in_fft_order(part, frames).sqrt_() * mask;
  const at::Tensor probes = fourier_shift(probe, position_fractions(part, frames));
  return single_pattern_objects(probes, amplitudes, mask, {.steps = {kStemSteps}, .engine = engine})
      .select(1, 0);
}

}  // namespace

PatchMaker::PatchMaker(std::optional<Model> model, const InferOptions& options)
    : model_(std::move(model)), options_(options) {
  require(!model_ || model_->network->patterns_per_input() == 1,
          "--model: expected a network that looks at one pattern at a time, found one of {}; "
          "`ptyche infer` takes it once the scan is complete",
          model_ ? model_->network->patterns_per_input() : 1);
  require(!model_ || model_->recipe == TrainRecipe::ptyche,
          "--model: expected one trained by ptyche's own recipe; `ptyche infer` takes others once "
          "the scan is complete");
  if (model_) require_precision(*model_, options_.precision, at::kCPU);
}

at::Tensor PatchMaker::patches_of_part(const Scan& part, const at::Tensor& frames) {
  if (!model_) return stem_patches(part, frames, probe_, options_.engine);
  const Autocast autocast(options_.precision);
  return patches_of(*model_, part, frames, input_channels(*model_, part, frames, options_.engine));
}

void PatchMaker::add_to(GrowingCanvas& canvas, const Scan& part,
                        const std::vector<std::int64_t>& indices) {
  const at::NoGradGuard no_grad;
  if (!probe_.defined()) {
    if (model_) model_ = in_bytes(at_dose_of(part, model_for(part, *model_)), options_.precision);
    probe_ = model_ ? model_->probe : part.probe();
  }
  const at::Tensor frames = at::arange(part.frames());
  const at::Tensor patches = patches_of_part(part, frames);
  const SplitPositions places = split_positions(part.positions(), Interpolation::probe_fourier);
  const at::Tensor weights = mode_power(fourier_shift(probe_, places.rest));
  canvas.add(patches, weights, places.whole.to(at::kLong) - part.pattern_size() / 2, indices);
}

}  // namespace ptyche
