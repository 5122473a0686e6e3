// Tilt-corrected bright field of a scan with converging electrons (also called parallax): each part
// of the bright disk sees the sample from another side, and its image is shifted by the defocus
// times its angle. The shifts tell the defocus, and how the scan lies against the detector; the
// images, shifted back, add up to a picture of the sample within a second.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>

#include "ptyche/data/scan.h"
#include "ptyche/prepare/findings.h"

namespace ptyche {

/// What the shifts say. With M the shift in object pixels for each detector pixel away from the
/// middle of the disk, T turns positions so that T M is symmetric: defocus and astigmatism.
struct BrightField {
  at::Tensor shifts;           ///< M, (2, 2) float64
  TurnPositions turn;          ///< T, a turn of less than 90 degrees, or one with a mirror
  double degrees = 0;          ///< of T, see ScanRotation
  bool mirrored = false;       ///< T turns the scan over
  double defocus_m = 0;        ///< from the focus to the sample, with the sign that goes with T
  double astigmatism_m = 0;    ///< half the difference of the two principal defoci
  double degrees_error = 0;    ///< standard error of the turn
  double defocus_error_m = 0;  ///< and of the defocus
  double correlation = 0;      ///< of each part's image with the others', shifted back
  double unshifted = 0;        ///< the same without a shift
  at::Tensor image;    ///< (rows, cols) float32, turned by T: light over its mean; 1 = unseen
  at::Tensor seen;     ///< (rows, cols) float32, samples on each pixel over the most; 0 = unseen
  double pixel_m = 0;  ///< of the image: a third of the scan's step
  double rim_shift_steps = 0;  ///< shift at the rim of the disk over the step of the scan

  /// Whether turn and defocus are to be relied on: the shifts are longer than a step, both are
  /// known well, and the images agree far better with them than without.
  bool sure() const;
};

/// "the scan is turned by 33.1 degrees (+- 0.2), defocus 80.2 nm (+- 1 %), astigmatism 2 %; ...".
std::string in_words(const BrightField& found);
/// "33.1 degrees", "33.1 degrees against a mirrored detector".
std::string degrees_in_words(const BrightField& found);
/// "80.2 nm", "13.1 um".
std::string defocus_in_words(const BrightField& found);

/// Of the used patterns of a scan of electrons whose semi-angle and object pixel are known, 4096
/// around its middle at most; positions anywhere. Parts of 8 x 8 over the disk. First the shifts
/// under which the images add up best, by their spectra on a grid of the scan's step, over all
/// turns, mirrored and not; then refined by the slope of the sum (Lucas & Kanade, IJCAI 1981).
/// (Spoth, Nguyen, Muller & Kourkoutis, Microsc. Microanal. 23 Suppl. 1, 344 (2017).) Nothing where
/// the disk is smaller than 3 px in radius or there are fewer than 64 patterns.
std::optional<BrightField> bright_field(const Scan& scan);

}  // namespace ptyche
