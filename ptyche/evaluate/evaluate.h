// Scores of a reconstruction: against held-out patterns, against a truth, beside trivial
// predictors.
#pragma once

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/scores.h"

namespace ptyche {

struct EvaluateOptions {
  /// Fits leave out the pixels that the scan's mask hides, and held_out_all_pixels says what they
  /// would be with them; false: all fits are over all pixels, the mask is not looked at.
  bool use_mask = true;
};

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

}  // namespace ptyche
