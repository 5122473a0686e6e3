// Two images of one sample beside each other: brought onto each other, so that what differs is the
// sample's and not a gauge that no pattern can tell.
#pragma once

#include "ptyche/data/reconstruction.h"

namespace ptyche {

/// `image` as it lies on the canvas of `reference`, by the shift, the ramp and the complex factor
/// that `align` finds where both are lit: object and coverage of the reference's shape, dark where
/// the image does not reach. Throws InvalidInput, as `compare` does, where the pixels' sizes
/// differ, where too little is lit in both, and for values that are not finite.
Reconstruction brought_onto(const Reconstruction& reference, const Reconstruction& image);

/// A phase that grows evenly over an image: constant + row slope_row + col slope_col, rad.
struct PhasePlane {
  double constant = 0, slope_row = 0, slope_col = 0;
};

/// The plane of the phase of `image` less that of `reference`, row and col being the image's; both
/// lie in one frame (their origins). 0 where they have no lit pixel in common.
PhasePlane plane_between(const Reconstruction& reference, const Reconstruction& image);

/// The plane that an object's phase follows on the whole, from neighbouring pixels that are lit;
/// its constant is 0.
///   object (rows, cols) complex64, coverage (rows, cols)
PhasePlane ramp_of(const at::Tensor& object, const at::Tensor& coverage);

}  // namespace ptyche
