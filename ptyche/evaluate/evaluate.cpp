#include "ptyche/evaluate/evaluate.h"

#include <algorithm>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/evaluate/expected_patterns.h"
#include "ptyche/evaluate/pattern_fit.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {
namespace {

/// The pixels that count.
at::Tensor counted_pixels(const Scan& scan, bool use_mask) {
  const at::Tensor mask = mask_in_fft_order(scan);
  return use_mask ? mask : at::ones_like(mask);
}

PatternFit summed(const std::vector<PatternFit>& fits) {
  PatternFit sum;
  for (const PatternFit& fit : fits) {
    sum.measured += fit.measured;
    sum.noise += fit.noise;
  }
  return sum;
}

void require_frames(const Scan& scan, const at::Tensor& frames) {
  require(frames.numel() >= 1, "a fit needs at least one pattern, found none");
  require(
      frames.min().item<std::int64_t>() >= 0 && frames.max().item<std::int64_t>() < scan.frames(),
      "a fit was asked for patterns {}..{}, the scan has {}", frames.min().item<std::int64_t>(),
      frames.max().item<std::int64_t>(), scan.frames());
}

}  // namespace

DataFit data_fit(const Reconstruction& image, const Scan& scan, const at::Tensor& frames,
                 bool use_mask) {
  require_frames(scan, frames);
  const std::int64_t size = scan.pattern_size();
  require(image.pattern_size() == size,
          "the scan's patterns are {0} x {0}: expected a probe of that size, found {1} x {1}", size,
          image.pattern_size());
  const at::Tensor mask = counted_pixels(scan, use_mask);
  const ExpectedPatterns expected(image, scan);
  std::vector<PatternFit> fits;
  for (const at::Tensor& batch : in_batches(frames, size))
    fits.push_back(
        summed(pattern_fits(counts_in_fft_order(scan, batch), expected.of(batch), mask)));
  const auto [measured, noise] = summed(fits);
  // Over the measured photons too, so that deviance over floor is a ratio of deviances.
  return {frames.numel(), measured.r_factor(), noise.r_factor(), measured.deviance_per_photon(),
          noise.deviance / measured.photons};
}

TrivialFit trivial_fit(const Scan& scan, const at::Tensor& frames, bool use_mask) {
  require_frames(scan, frames);
  const at::Tensor mask = counted_pixels(scan, use_mask);
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const auto mean_of_used = [&](double power) {
    return to_fft_order(mean_pattern(scan, used, power)).unsqueeze(0);
  };
  const at::Tensor from_amplitude = mean_of_used(0.5).square(), from_pattern = mean_of_used(1);
  FitSums amplitude, pattern;
  for (const at::Tensor& batch : in_batches(frames, scan.pattern_size())) {
    const at::Tensor counts = counts_in_fft_order(scan, batch);
    amplitude += summed(pattern_fits(counts, from_amplitude, mask, false)).measured;
    pattern += summed(pattern_fits(counts, from_pattern, mask, false)).measured;
  }
  return {amplitude.r_factor(), amplitude.deviance_per_photon(), pattern.r_factor(),
          pattern.deviance_per_photon()};
}

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
  const at::Tensor lit = image.projection().masked_select(lit_pixels(image));
  const PixelMoments moments = pixel_moments(lit);
  return lit.numel() == 0 ? 0 : moments.deviation / std::abs(moments.mean);
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

namespace {

const char* name_of(Half half) { return half == Half::even ? "even" : "odd"; }

Reconstruction image_of(const Scan& scan, Half half, const ScanToImage& reconstruct) {
  const Scan part = half_of(scan, half);
  detail("half set: the {} patterns of {} number", part.frames_with(FrameUse::used).size(0),
         name_of(half));
  return reconstruct(part);
}

}  // namespace

Scan half_of(const Scan& scan, Half half) {
  const at::Tensor number = at::arange(scan.frames(), at::kLong);
  const at::Tensor other = number.remainder(2).ne(half == Half::odd ? 1 : 0);
  const at::Tensor used = scan.frame_use().eq(static_cast<int>(FrameUse::used));
  const at::Tensor left = used.logical_and(other.logical_not());
  require(left.sum().item<std::int64_t>() >= 2,
          "half sets: expected at least 2 used patterns of {} number, found {}", name_of(half),
          left.sum().item<std::int64_t>());
  return scan.with_frame_use(
      scan.frame_use().masked_fill(used.logical_and(other), static_cast<int>(FrameUse::rejected)));
}

void require_halves(const Scan& scan) {
  for (const Half half : {Half::even, Half::odd}) half_of(scan, half);
}

HalfSets half_sets(const Scan& scan, const ScanToImage& reconstruct) {
  const Reconstruction even = image_of(scan, Half::even, reconstruct);
  const Reconstruction odd = image_of(scan, Half::odd, reconstruct);
  return {even, odd, with_context("half sets", [&] { return compare(odd, even).comparison; })};
}

double HeldOutFit::explained() const {
  return (mean_pattern - deviance) / std::max(mean_pattern - noise, 1e-12);
}

bool HeldOutFit::tells() const { return mean_pattern > kLightToTell * noise; }

}  // namespace ptyche
