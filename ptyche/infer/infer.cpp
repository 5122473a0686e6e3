#include "ptyche/infer/infer.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/evaluate/expected_patterns.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/infer/by_ranks.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {

namespace {

/// The scan with the patterns of one use in use, and no others.
Scan only(const Scan& scan, FrameUse use) {
  const at::Tensor chosen = scan.frame_use().eq(static_cast<int>(use));
  return scan.with_frame_use(
      at::where(chosen, static_cast<int>(FrameUse::used), static_cast<int>(FrameUse::rejected))
          .to(at::kByte));
}

/// Side of the middle of a patch that PtychoPINN stitches (its M).
constexpr std::int64_t kPtychoPinnStitched_px = 20;
constexpr std::int64_t kBackgroundPatterns = 1024, kBackgroundPixels = std::int64_t{1} << 24;
constexpr int kBackgroundSteps = 30;       // doubled at most by each, from the least on
constexpr float kLeastBackground = 1e-4F;  // counts

/// The patterns in the order in which the network sees them.
at::Tensor frames_to_see(const Model& model, const Scan& scan, const InferOptions& options) {
  const std::int64_t together = model.network->patterns_per_input();
  if (together == 1) return scan.frames_with(options.frames);
  if (options.groups.defined()) return options.groups.flatten();
  const Scan shown = only(scan, options.frames);
  return fixed_groups(shown, {.gridsize = model.network_options.gridsize,
                              .count = shown.frames_with(FrameUse::used).size(0),
                              .neighbours = together - 1})
      .flatten();
}

}  // namespace

std::vector<Field> fields(InferOptions& options) {
  return {
      {.name = "batch",
       .target = &options.batch,
       .unit = "patterns",
       .help = "patterns at a time at inference, 0 = 64, on a GPU up to 2048; no influence on the "
               "image",
       .range = {0, 1e6},
       .aliases = {"batch-size", "torch-inference-batch-size"},
       .affects_result = false},
      {.name = "background",
       .target = &options.background,
       .help = "fitted background per detector pixel, where the model has none"},
      device_field(options.device),
      engine_field(options.engine),
      precision_field(options.precision)};
}

Patches infer(const Model& model, const Scan& scan, const InferOptions& options) {
  require_far_field(scan);
  const at::NoGradGuard no_grad;
  const CatchInterrupts catching;
  require_in_range(options);
  require_device(options.device);
  require(scan.frames_with(options.frames).size(0) > 0, "{}: no pattern to infer", scan.source());
  const at::Tensor frames = frames_to_see(model, scan, options);
  // Whole groups at a time.
  const std::int64_t together = model.network->patterns_per_input();
  InferOptions how = options;
  const std::int64_t batch =
      options.batch > 0 ? options.batch : patterns_at_once(scan.pattern_size(), options.device);
  how.batch = std::max<std::int64_t>(batch / together, 1) * together;
  const Model lit = on_device(at_dose_of(scan, model), options.device);
  Patches found{.patches = scan.shared() && together == 1
                               ? patches_by_ranks(lit, scan, frames, how)
                               : patches_by_batches(lit, scan.to(options.device), frames, how),
                .frames = frames,
                .probe = lit.probe,
                .background = lit.background,
                .interpolation = Interpolation::probe_fourier};
  if (model.recipe == Recipe::ptychopinn) {
    found.interpolation = Interpolation::bilinear;
    found.weights = central_square(scan.pattern_size(),
                                   std::min(kPtychoPinnStitched_px, scan.pattern_size() / 2))
                        .to(options.device);
  }
  return found;
}

at::Tensor best_background(const Reconstruction& image, const Scan& scan) {
  const at::NoGradGuard no_grad;
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const std::int64_t most = std::clamp<std::int64_t>(
      kBackgroundPixels / (scan.pattern_size() * scan.pattern_size()), 64, kBackgroundPatterns);
  const std::int64_t every = (used.size(0) + most - 1) / most;
  const at::Tensor frames = used.slice(0, 0, used.size(0), std::max<std::int64_t>(every, 1));
  Reconstruction clean = image;
  clean.background = at::Tensor();
  const ExpectedPatterns expected(clean, scan);
  std::vector<at::Tensor> counts, foretold;
  for (const at::Tensor& some : in_batches(frames, scan.pattern_size())) {
    counts.push_back(counts_in_fft_order(scan, some));
    foretold.push_back(expected.of(some).to(at::kFloat));
  }
  const at::Tensor n = at::cat(counts), model = at::cat(foretold);
  at::Tensor background = at::full(model.sizes().slice(1), kLeastBackground);
  for (int step = 0; step < kBackgroundSteps; ++step) {
    const at::Tensor both = model + background, ratio = n / both;
    const at::Tensor slope = ratio.mean(0) - 1, bend = (ratio / both).mean(0).clamp_min(1e-12);
    background = (background + slope / bend).clamp_min(kLeastBackground);
  }
  background.masked_fill_(background.le(kLeastBackground), 0);
  return to_centred(background * mask_in_fft_order(scan)).contiguous();
}

Reconstruction image_of(const Patches& patches, const Scan& scan, const InferOptions& options) {
  Reconstruction image = stitch(patches, scan);
  if (options.background && !image.background.defined())
    image.background = best_background(image, scan);
  return image;
}

Reconstruction network_image(const Model& model, const Scan& scan, const InferOptions& options) {
  const Scan placed = placed_by(model, scan);
  return image_of(infer(model, placed, options), placed, options);
}

}  // namespace ptyche
