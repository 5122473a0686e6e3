#include "ptyche/evaluate/evaluate.h"

#include "ptyche/evaluate/lit_window.h"
#include "ptyche/evaluate/truth_error.h"
#include "ptyche/physics/data_fit.h"

namespace ptyche {
namespace {

bool hides_pixels(const Scan& scan) { return !mask_in_fft_order(scan).all().item<bool>(); }

}  // namespace

double object_contrast(const Reconstruction& image) {
  const at::Tensor lit = image.object.to(at::kComplexDouble).masked_select(lit_pixels(image));
  if (lit.numel() == 0) return 0;
  const at::Tensor mean = lit.mean();
  const at::Tensor deviation = (lit - mean).abs().square().mean().sqrt();
  return (deviation / mean.abs()).item<double>();
}

Scores evaluate(const Reconstruction& image, const Scan& scan, const EvaluateOptions& options) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const at::Tensor held_out = scan.frames_with(FrameUse::held_out);
  Scores scores;
  scores.used = data_fit(image, scan, used, options.use_mask);
  if (held_out.numel() > 0) {
    scores.held_out = data_fit(image, scan, held_out, options.use_mask);
    if (options.use_mask && hides_pixels(scan))
      scores.held_out_all_pixels = data_fit(image, scan, held_out, false);
  }
  scores.trivial = trivial_fit(scan, held_out.numel() > 0 ? held_out : used, options.use_mask);
  if (scan.truth().defined()) scores.truth = truth_error(scan.truth(), image);
  scores.object_contrast = object_contrast(image);
  return scores;
}

void add_unseen_half(Scores& scores, const Reconstruction& unseen_image, const Scan& scan,
                     const EvaluateOptions& options) {
  const at::Tensor unseen = scan.frames_with(FrameUse::unseen);
  if (unseen.numel() == 0) return;
  scores.unseen_half = data_fit(unseen_image, scan, unseen, options.use_mask);
  scores.unseen_trivial = trivial_fit(scan, unseen, options.use_mask);
}

}  // namespace ptyche
