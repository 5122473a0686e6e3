// Scores of a reconstruction: how well it predicts patterns, against a truth, between halves,
// beside trivial predictors.
#pragma once

#include <ATen/ATen.h>

#include <functional>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// Fit of the image's prediction to `frames` (k) int64, k >= 1, at the image's own positions where
/// these are of this scan, else at the scan's.
/// use_mask: leave out pixels that the scan's mask excludes (peers' numbers were made without).
/// Intensities are clipped below at 0.01 count in the deviance only.
DataFit data_fit(const Reconstruction& image, const Scan& scan, const at::Tensor& frames,
                 bool use_mask);

/// The fit of the used frames' mean amplitude, squared, and of their mean pattern, to `frames`.
TrivialFit trivial_fit(const Scan& scan, const at::Tensor& frames, bool use_mask);

struct EvaluateOptions {
  /// Fits leave out the pixels that the scan's mask hides, and held_out_all_pixels says what they
  /// would be with them; false: all fits are over all pixels, the mask is not looked at.
  bool use_mask = true;
};

/// What some patterns that a solve did not see say of it, deviance per photon.
struct HeldOutFit {
  double deviance = 0, noise = 0, mean_pattern = 0;

  /// Of what the mean pattern leaves above the noise, the share that the solve explains: 0 no
  /// better than the mean pattern, 1 down to the noise.
  double explained() const;
  /// Whether there are photons enough to tell.
  bool tells() const;
};

/// What the mean pattern leaves over what noise leaves, from which on there are photons enough to
/// tell.
inline constexpr double kLightToTell = 1.1;

/// Every score that the scan allows: fit of the used and the held-out patterns, trivial predictors,
/// the object's contrast and, where the scan has one, the error against the truth. Not the unseen
/// half (an image of its own, see add_unseen_half) and not the seconds (the caller's clock).
Scores evaluate(const Reconstruction& image, const Scan& scan, const EvaluateOptions& options = {});

/// Adds how well `unseen_image`, stitched from the scan's unseen patterns alone, predicts these,
/// and the trivial predictors from the used patterns beside it. Does nothing if no pattern is
/// unseen.
void add_unseen_half(Scores& scores, const Reconstruction& unseen_image, const Scan& scan,
                     const EvaluateOptions& options = {});

/// Standard deviation of the complex object over the magnitude of its mean, where it is lit
/// (coverage above 0.1); near 0 for a flat object. A phase ramp counts as contrast. 0 if nothing is
/// lit.
double object_contrast(const Reconstruction& image);

/// A whole way from a scan's used patterns to an image: training and stitching, or a solver.
using ScanToImage = std::function<Reconstruction(const Scan&)>;

/// Which of the used patterns, by number in the file, from 0.
enum class Half { even, odd };

/// The scan with the used patterns of the other half rejected; nothing else changes, so that the
/// two halves share the file's probe (its power was set from all used patterns) and no pattern.
/// Throws InvalidInput if less than two patterns are left.
Scan half_of(const Scan& scan, Half half);

/// Throws InvalidInput if one of the halves has less than two patterns: asked before long work.
void require_halves(const Scan& scan);

struct HalfSets {
  Reconstruction even, odd;
  Comparison agreement;  ///< of the odd image with the even one
};

/// Runs `reconstruct` on each half alone and compares what comes out. What both halves get wrong in
/// the same way (positions, a wrong model) does not show. Throws what `reconstruct` and `compare`
/// throw.
HalfSets half_sets(const Scan& scan, const ScanToImage& reconstruct);

}  // namespace ptyche
