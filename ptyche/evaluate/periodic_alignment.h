// A second way between pixels: the whole image, continued periodically.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/evaluate/align.h"

namespace ptyche {

/// `found` or, where that leaves less error, an alignment that starts from it and moves the whole
/// image by the Fourier shift of its full size, its ramp removed first. This is exact for an image
/// whose borders meet (a simulated one that was moved likewise, a canvas that is 1 all around),
/// while the fade of `move_image` is better where they do not; the error decides. truth, image:
/// complex128. Not tried where the window leaves the image, for what wraps around is not the
/// sample.
Alignment or_periodic(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                      const Alignment& found);

}  // namespace ptyche
