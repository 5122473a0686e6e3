// How sure the image of a network is, pixel by pixel, and how unlike the scans that it knows the
// scan is, as told without a truth.
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace ptyche {

/// What the trust in an image comes from, all dimensionless; see docs/network.md.
struct TrustEvidence {
  double spread =
      0;             ///< patches of one pixel about their mean, root mean square, over the contrast
  double told = 0;   ///< correlation of what the image foretells of patterns with what they hold
  double light = 0;  ///< what the mean pattern leaves in patterns, over what photon noise leaves
  double photons = 0;  ///< of a pattern, in counted pixels
  /// Of a short solve, in patterns that it has not seen: what it leaves above photon noise over
  /// what the mean pattern leaves, and its correlation as above; that in the patterns that it was
  /// made of; and what is left of these, their totals adjusted (misfit of evaluate/description.h).
  double left = 0, solved_told = 0, used_told = 0, misfit = 0;
  /// The same of a second solve, of patterns redrawn from the first, of which the model is right.
  double again_told = 0, again_used_told = 0, again_misfit = 0;
  /// solved_told with the positions farther apart and closer, the larger of the two.
  double told_elsewhere = 0;
  /// The image's distance from the network's of redrawn patterns over its contrast, that from the
  /// short solve's over the contrast of that one, and this contrast over the image's (1 = unknown).
  double again = 0, apart = 0, contrast = 1;
  double seen = 0;  ///< by how many patches of equal weight a pixel is seen, in the mean
};

struct Trust {
  /// Expected error of each object pixel, over the contrast: (rows, cols) float32 of the whole
  /// object, NaN where it is not lit well enough to be judged or fewer than two patterns see it;
  /// undefined where that is everywhere.
  at::Tensor map = {};
  double expected_error = 0;  ///< of the image, over its contrast: root mean square of the map; NaN
                              ///< without one
  double unlike = 0;          ///< how unlike the scans that the network knows; above 1: an alarm
  std::string reason = {};    ///< of the alarm, a sentence; empty = none
  TrustEvidence evidence = {};
  double seconds = 0;

  bool alarmed() const { return unlike > 1; }
};

/// "expected error 62 % of the contrast; unlike what the network knows: 0.31 (alarm above 1)"; the
/// second half alone where there is no map.
std::string first_line(const Trust& trust);

}  // namespace ptyche
