// What two results of one sample can be compared by.
#pragma once

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/window.h"

namespace ptyche {

/// Throws InvalidInput unless the object pixels agree to 1e-3 of their size; where one is not known
/// they are taken to be the same, with a note to the user.
void require_same_pixel(const Reconstruction& image, const Reconstruction& reference);

/// The central half of the reference in both directions, shrunk until 99 % of it is lit in both:
/// the image lies where the cross-correlation of `coarse_shift` puts it. Throws InvalidInput if
/// less than 16 x 16 pixels are left.
Window overlap(const Reconstruction& image, const Reconstruction& reference);

}  // namespace ptyche
