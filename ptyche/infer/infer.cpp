#include "ptyche/infer/infer.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/evaluate/expected_patterns.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/infer/by_ranks.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/solve/solve.h"
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
constexpr std::int64_t kNoEvaluation = 1'000'000;

/// The patterns in the order in which the network sees them.
at::Tensor frames_to_see(const Model& model, const Scan& scan, const InferOptions& options) {
  const std::int64_t together = model.network->patterns_per_input();
  if (together == 1) {
    const at::Tensor frames = scan.frames_with(options.frames);
    if (!stitches_in_order(frames.size(0), scan.pattern_size(), options.device)) return frames;
    return frames.index_select(
        0, order_to_stitch(scan.positions().index_select(0, frames), scan.pattern_size()));
  }
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
      inference_precision_field(options.precision)};
}

namespace {

/// What is shown to the network, and all of Patches but the patches.
struct Show {
  Model model;  ///< at the scan's dose, on the device
  InferOptions how;
  Patches of;
  std::int64_t together = 1;  ///< patterns that go in as one
};

Show show_for(const Model& model, const Scan& scan, const InferOptions& options) {
  require_far_field(scan);
  require_in_range(options);
  require_device(options.device);
  require(scan.frames_with(options.frames).size(0) > 0, "{}: no pattern to infer", scan.source());
  Show show{.how = options, .together = model.network->patterns_per_input()};
  // Whole groups at a time.
  const std::int64_t batch =
      options.batch > 0 ? options.batch : patterns_at_once(scan.pattern_size(), options.device);
  show.how.batch = std::max<std::int64_t>(batch / show.together, 1) * show.together;
  const at::Tensor frames = frames_to_see(model, scan, options);
  show.model = on_device(at_dose_of(scan, model), options.device);
  show.of = {.patches = {},
             .frames = frames,
             .probe = show.model.probe,
             .background = show.model.background,
             .interpolation = Interpolation::probe_fourier};
  if (model.recipe == TrainRecipe::ptychopinn) {
    show.of.interpolation = Interpolation::bilinear;
    show.of.weights = central_square(scan.pattern_size(),
                                     std::min(kPtychoPinnStitched_px, scan.pattern_size() / 2))
                          .to(options.device);
  }
  return show;
}

}  // namespace

Patches infer(const Model& model, const Scan& scan, const InferOptions& options) {
  const at::NoGradGuard no_grad;
  const CatchInterrupts catching;
  Show show = show_for(model, scan, options);
  show.of.patches =
      scan.shared() && show.together == 1
          ? patches_by_ranks(show.model, scan, show.of.frames, show.how)
          : patches_by_batches(show.model, scan.to(options.device), show.of.frames, show.how);
  return show.of;
}

namespace {

/// Of some pixels of k patterns, (k, pixels): what is best added to `model`, (pixels).
at::Tensor background_of(const at::Tensor& counts, const at::Tensor& model) {
  at::Tensor background = at::full({counts.size(1)}, kLeastBackground);
  for (int step = 0; step < kBackgroundSteps; ++step) {
    const at::Tensor both = model + background, ratio = counts / both;
    const at::Tensor slope = ratio.mean(0) - 1, bend = (ratio / both).mean(0).clamp_min(1e-12);
    background = (background + slope / bend).clamp_min(kLeastBackground);
  }
  return background;
}

}  // namespace

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
  const std::int64_t size = scan.pattern_size();
  at::Tensor counts = at::empty({frames.size(0), size, size}), model = at::empty_like(counts);
  std::int64_t first = 0;
  for (const at::Tensor& some : in_batches(frames, size)) {
    counts.narrow(0, first, some.size(0)).copy_(counts_in_fft_order(scan, some));
    model.narrow(0, first, some.size(0)).copy_(expected.of(some));
    first += some.size(0);
  }
  at::Tensor background = at::empty({size, size});
  for (std::int64_t row = 0; row < size; ++row)
    background[row].copy_(background_of(counts.select(1, row), model.select(1, row)));
  background.masked_fill_(background.le(kLeastBackground), 0);
  return to_centred(background * mask_in_fft_order(scan)).contiguous();
}

namespace {

Stitched stitched_in_order(const Show& show, const Scan& scan) {
  const CatchInterrupts catching;
  StitcherInOrder stitcher(show.of, scan);
  each_patches(show.model, scan, show.of.frames, show.how,
               [&](const at::Tensor& patches) { stitcher.add(patches); });
  return stitcher.finish();
}

void add_background(Reconstruction& image, const Scan& scan, const InferOptions& options) {
  if (options.background && !image.background.defined())
    image.background = best_background(image, scan);
}

/// One step from a start, since its memory is empty, down the scaled slope: the length of a second
/// one, guessed from the first, is too long where hardly any light fell.
SolverOptions one_step(bool slow_phase, at::Device device) {
  SolverOptions options{.chain = {{"lbfgs", 1}},
                        .fixed_probe = true,
                        .background = true,
                        .intensities = IntensityFreedom::off,
                        .device = device,
                        .every = kNoEvaluation};
  set_option(options, "slow-phase", slow_phase ? "1" : "0");
  return options;
}

}  // namespace

Reconstruction polished(Reconstruction image, const Scan& scan, at::Device device) {
  const CatchInterrupts catching;
  if (!image.background.defined()) image.background = best_background(image, scan);
  SolverOptions options = one_step(true, device);
  options.chain.push_back(one_step(false, device).chain.front());
  try {
    take_engine_for(scan.pattern_size(), options);
    SolveResult result = solve(scan, image, options);
    if (result.end == ChainEnd::interrupted)
      throw Interrupted("stopped while the network's image was polished");
    result.image.probe = image.probe;  // the bits, too
    result.image.loss.clear();
    return std::move(result.image);
  } catch (const InvalidInput& error) {
    warn("the network's image is not polished: {}", error.what());
    return image;
  }
}

Reconstruction image_of(const Patches& patches, const Scan& scan, const InferOptions& options) {
  Reconstruction image = stitch(patches, scan);
  add_background(image, scan, options);
  return image;
}

InferredImage inferred_image(const Model& model, const Scan& placed, const InferOptions& options,
                             bool agreement) {
  const at::NoGradGuard no_grad;
  const bool one = model.network->patterns_per_input() == 1 && !placed.shared();
  const std::int64_t patterns = placed.frames_with(options.frames).size(0);
  if (one && stitches_in_order(patterns, placed.pattern_size(), options.device)) {
    Stitched found = stitched_in_order(show_for(model, placed, options), placed);
    add_background(found.image, placed, options);
    if (options.polish) found.image = polished(std::move(found.image), placed, options.device);
    return {std::move(found.image), std::move(found.agreement)};
  }
  const Patches patches = infer(model, placed, options);
  InferredImage found{.image = image_of(patches, placed, options), .agreement = {}};
  if (agreement) found.agreement = agreement_of(patches, found.image);
  if (options.polish) found.image = polished(std::move(found.image), placed, options.device);
  return found;
}

Reconstruction network_image(const Model& model, const Scan& scan, const InferOptions& options) {
  return inferred_image(model, placed_by(model, scan), options, false).image;
}

}  // namespace ptyche
