#include "ptyche/infer/trust_map.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/evaluate/description.h"
#include "ptyche/evaluate/expected_patterns.h"
#include "ptyche/prepare/short_solve.h"
#include "ptyche/solve/verdict.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr double kSmooth_px = 4;
constexpr double kToldEnough = 0.3;

/// log e = constant + of_again log b + of_apart log x
///         + max(kToldEnough - told, 0) (of_told_less - of_told_less_and_contrast log c)
struct ErrorRule {
  double constant, of_again, of_apart, of_told_less, of_told_less_and_contrast;
};
// Fitted to 180 scans of 64 patterns (halves `tune`, `report` and `last` of ./run bench network)
// and to 113 (`tune`, part of `report`); docs/network.md has the figures.
constexpr ErrorRule kStitched{0.133, 0.379, 0.581, 2.57, 2.338};
constexpr ErrorRule kPolished{0.02, 0.45, 0.30, 3.0, 1.7};

constexpr double kLeastAgain = 1e-3, kLeastApart = 1e-2;  // of squares over the image's contrast
constexpr double kLeastContrast = 0.3, kMostContrast = 5;
constexpr double kEnough = 1e-5;  // of the image: gain at which an alignment ends
constexpr std::int64_t kToldPatterns = 1024;
constexpr std::int64_t kAgainPixels = std::int64_t{1} << 24, kLeastAgainPatterns = 64;

/// The mean of values (rows, cols) float64 over the pixels of `where` (0 or 1) near by.
at::Tensor local_mean(const at::Tensor& values, const at::Tensor& where) {
  return gaussian_filter(values * where, kSmooth_px) /
         gaussian_filter(where, kSmooth_px).clamp_min(1e-9);
}

at::Tensor squared(const at::Tensor& complex) { return at::view_as_real(complex).square().sum(-1); }

/// Mean of complex `values` under `weight`, and the root mean square about it.
struct Moments {
  at::Tensor mean;
  double contrast = 0;
};

Moments moments(const at::Tensor& values, const at::Tensor& weight) {
  const at::Tensor mean = (weight * values).sum() / weight.sum();
  const double variance = ((weight * squared(values - mean)).sum() / weight.sum()).item<double>();
  return {mean, std::sqrt(std::max(variance, 1e-30))};
}

/// The image where it is judged.
struct Judged {
  at::Tensor object;  ///< (rows, cols) complex128
  at::Tensor where;   ///< (rows, cols) float64: 1 where a pixel is judged, else 0
  at::Tensor weight;  ///< (rows, cols) float64: its light there, else 0
  double contrast = 0;
};

/// What another image says of the pixels of the judged one: the logarithm of a distance.
struct Beside {
  at::Tensor logarithm;  ///< (rows, cols) float64
  double distance = kNone;
  double contrast = 1;  ///< over that of the judged image, kLeastContrast to kMostContrast
};

/// Window of the canvas of `image` that `other` fills, as far as it lies there.
Window window_of(const Reconstruction& other, const Reconstruction& image) {
  const std::int64_t row = other.origin_row - image.origin_row,
                     col = other.origin_col - image.origin_col;
  const std::int64_t rows = image.rows(), cols = image.cols();
  return {std::clamp<std::int64_t>(row, 0, rows),
          std::clamp<std::int64_t>(row + other.rows(), 0, rows),
          std::clamp<std::int64_t>(col, 0, cols),
          std::clamp<std::int64_t>(col + other.cols(), 0, cols)};
}

/// `values` of `other` in that window.
at::Tensor in_window(const at::Tensor& values, const Reconstruction& other,
                     const Reconstruction& image, const Window& window) {
  const std::int64_t row = other.origin_row - image.origin_row,
                     col = other.origin_col - image.origin_col;
  return cut(values, {window.row_begin - row, window.row_end - row, window.col_begin - col,
                      window.col_end - col})
      .contiguous();
}

/// `other` times the factor that brings it to `object`.
at::Tensor by_factor(const at::Tensor& object, const at::Tensor& other, const at::Tensor& weight) {
  return other * ((weight * other.conj() * object).sum() /
                  (weight * squared(other)).sum().clamp_min(1e-30));
}

/// `other` under the shift, ramp and factor that bring it to `object`, from no ramp or the
/// strongest.
at::Tensor by_gauge(const at::Tensor& object, const at::Tensor& other, const at::Tensor& weight) {
  const Window all{0, object.size(0), 0, object.size(1)};
  const auto ramp = coarse_ramp(object * weight, other * weight);
  at::Tensor best;
  double least = std::numeric_limits<double>::infinity();
  for (const double share : {0.0, 1.0}) {
    const Gauge start{.ramp_row_cycles_per_px = share * ramp[0],
                      .ramp_col_cycles_per_px = share * ramp[1]};
    at::Tensor aligned = realign(object, other, all, start, kEnough, weight).aligned;
    const double left = (weight * squared(aligned - object)).sum().item<double>();
    if (left >= least) continue;
    least = left;
    best = std::move(aligned);
  }
  return best;
}

using Aligner = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&);

/// How far `other` lies from the judged image near each pixel, over its own contrast or that of the
/// image.
Beside beside_of(const Judged& judged, const Reconstruction& image,
                 const std::optional<Reconstruction>& other, Aligner aligned, double least,
                 bool own_contrast) {
  Beside found{.logarithm = at::zeros_like(judged.where)};
  if (!other) return found;
  const Window window = window_of(*other, image);
  const at::Tensor lit = in_window(lit_pixels(*other), *other, image, window).to(at::kDouble) *
                         cut(judged.where, window);
  const at::Tensor weight = lit * cut(judged.weight, window);
  if (window.rows() < 8 || window.cols() < 8 || !(weight.sum().item<double>() > 0)) return found;
  const at::Tensor object = cut(judged.object, window).contiguous();
  const at::Tensor there =
      aligned(object,
              without_bright_pixels(
                  in_window(other->projection().to(at::kComplexDouble), *other, image, window)),
              weight);
  if (own_contrast)
    found.contrast = std::clamp(moments(there, weight).contrast / judged.contrast, kLeastContrast,
                                kMostContrast);
  const double unit = judged.contrast * judged.contrast;
  const at::Tensor apart = squared(there - object) / unit;
  found.distance =
      std::sqrt(((weight * apart).sum() / weight.sum()).item<double>()) / found.contrast;
  const at::Tensor logarithm =
      0.5 * (local_mean(apart, lit) + least).log() - std::log(found.contrast);
  const at::Tensor usual = (lit * logarithm).sum() / lit.sum();
  found.logarithm = usual.expand_as(judged.where).clone();
  cut(found.logarithm, window).copy_(at::where(lit.gt(0), logarithm, usual));
  return found;
}

/// At most kToldPatterns of `frames`, evenly out of all.
at::Tensor some_of(const at::Tensor& frames) {
  const std::int64_t every = (frames.size(0) + kToldPatterns - 1) / kToldPatterns;
  return frames.slice(0, 0, frames.size(0), std::max<std::int64_t>(every, 1));
}

at::Tensor expected_errors(const Beside& again, const Beside& solved, double told,
                           const ErrorRule& rule) {
  const double of_told =
      std::max(kToldEnough - told, 0.0) *
      (rule.of_told_less - rule.of_told_less_and_contrast * std::log(solved.contrast));
  return at::exp(rule.constant + of_told + rule.of_again * again.logarithm +
                 rule.of_apart * solved.logarithm);
}

/// Patterns of the scan around its middle, all of them used.
Scan part_of_again(const Scan& scan) {
  const std::int64_t pixels = scan.pattern_size() * scan.pattern_size();
  const Scan part = middle_of(scan, std::max(kAgainPixels / pixels, kLeastAgainPatterns));
  return part.with_frame_use(at::zeros({part.frames()}, at::kByte));
}

/// redrawn, in pieces: in double precision a pattern takes much more than its counts.
///   part  patterns of the image's scan, in another order
at::Tensor redrawn_in_pieces(const Scan& part, Reconstruction image) {
  image.positions = at::Tensor();
  std::vector<at::Tensor> counts;
  for (const at::Tensor& some :
       in_batches(at::arange(part.frames(), at::kLong), part.pattern_size()))
    counts.push_back(in_smallest_exact_type(redrawn(part, image, some)));
  return at::cat(counts);
}

Scan drawn_again(const Scan& scan, const Reconstruction& image) {
  const Scan part = part_of_again(scan);
  return with_counts(part, redrawn_in_pieces(part, image));
}

}  // namespace

Reconstruction network_again(const Model& model, const Reconstruction& image, const Scan& scan,
                             const InferOptions& options) {
  const at::NoGradGuard no_grad;
  const Silence silence;
  const Scan drawn = drawn_again(scan, image);
  InferOptions plain = options;
  plain.background = false;
  return inferred_image(model, drawn, plain, false).image;
}

at::Tensor judged_pixels(const Agreement& agreement, const Reconstruction& image) {
  return at::isfinite(agreement.variance).logical_and(lit_pixels(image));
}

Trust trust_in(const Agreement& agreement, const Reconstruction& image, const Scan& scan,
               const ImagesBeside& beside, const TrustEvidence& physics, bool polished) {
  const at::NoGradGuard no_grad;
  const at::Tensor lit = lit_pixels(image), coverage = image.coverage.to(at::kDouble);
  const at::Tensor known = judged_pixels(agreement, image);
  require(known.any().item<bool>(), "{}", kNoMap);
  const Judged judged{image.projection().to(at::kComplexDouble), known.to(at::kDouble),
                      coverage * known,
                      moments(image.projection().to(at::kComplexDouble), coverage * lit).contrast};
  const Beside again = beside_of(judged, image, beside.again, by_factor, kLeastAgain, false);
  const Beside solved = beside_of(judged, image, beside.solved, by_gauge, kLeastApart, true);
  Trust trust{.evidence = physics};
  TrustEvidence& evidence = trust.evidence;
  const auto mean = [&](const at::Tensor& values) {
    return ((judged.weight * values).sum() / (coverage * lit).sum()).item<double>();
  };
  const at::Tensor variance =
      agreement.variance.to(at::kDouble).masked_fill(known.logical_not(), 0);
  evidence.spread = std::sqrt(mean(variance)) / judged.contrast;
  evidence.seen = mean(agreement.seen);
  evidence.told = told(image, scan, some_of(scan.frames_with(FrameUse::used)));
  evidence.again = again.distance;
  evidence.apart = solved.distance;
  evidence.contrast = solved.contrast;
  const at::Tensor errors =
      expected_errors(again, solved, evidence.told, polished ? kPolished : kStitched);
  trust.expected_error = std::sqrt((judged.weight * errors.square()).sum().item<double>() /
                                   judged.weight.sum().item<double>());
  trust.map = errors.masked_fill(known.logical_not(), kNone).to(at::kFloat);
  return trust;
}

}  // namespace ptyche
