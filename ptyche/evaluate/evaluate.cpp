#include "ptyche/evaluate/evaluate.h"

#include "ptyche/evaluate/data_fit.h"
#include "ptyche/evaluate/lit_window.h"
#include "ptyche/evaluate/truth_error.h"

namespace ptyche {
namespace {

bool hides_pixels(const Scan& scan) { return !mask_in_fft_order(scan).all().item<bool>(); }

double position_rmse(const at::Tensor& positions, const at::Tensor& truth) {
  const at::Tensor error = positions - truth;
  return (error - error.mean(0)).square().sum(1).mean().sqrt().item<double>();
}

/// Of the used patterns, where the truth is known.
std::optional<PositionError> position_error(const Reconstruction& image, const Scan& scan) {
  const at::Tensor& truth = scan.true_positions();
  if (!truth.defined() || image.positions.sizes() != truth.sizes()) return std::nullopt;
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const auto error = [&](const at::Tensor& positions) {
    return position_rmse(positions.index_select(0, used), truth.index_select(0, used));
  };
  return PositionError{error(image.positions), error(scan.positions())};
}

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
  scores.positions = position_error(image, scan);
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
