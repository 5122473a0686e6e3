#include "ptyche/infer/infer.h"

#include <ATen/core/grad_mode.h>

#include "ptyche/core/error.h"
#include "ptyche/core/interrupt.h"
#include "ptyche/core/progress.h"
#include "ptyche/nn/patch_network.h"

namespace ptyche {

Patches infer(const Model& model, const Scan& scan, const InferOptions& options) {
  require_far_field(scan);
  const at::NoGradGuard no_grad;
  require(options.batch >= 1, "batch: expected at least 1, found {}", options.batch);
  const at::Tensor frames = scan.frames_with(options.frames);
  require(frames.size(0) > 0, "{}: no pattern to infer", scan.source());
  const Autocast autocast(options.precision);
  std::vector<at::Tensor> patches;
  Progress progress("infer", frames.size(0), "patterns");
  for (std::int64_t first = 0; first < frames.size(0); first += options.batch) {
    if (interrupted()) throw Interrupted("stopped during inference; the model file is complete");
    const at::Tensor batch = frames.slice(0, first, first + options.batch);
    patches.push_back(model.network->forward(input_channels(model, scan, batch)));
    progress.step(first + batch.size(0), first + batch.size(0), "");
  }
  return {.patches = at::cat(patches),
          .frames = frames,
          .probe = model.probe,
          .background = model.background,
          .interpolation = Interpolation::probe_fourier};
}

}  // namespace ptyche
