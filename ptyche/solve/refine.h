// From the network's image to a better one by an iterative solver on the same physics.
#pragma once

#include <string>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// how: "none" returns the image as it is; a number N runs N epochs of rPIE from it, at a fifth of
/// the usual step, since the image is nearly right. Throws InvalidInput for another text.
Reconstruction refine(const Scan& scan, const Reconstruction& image, const std::string& how);

}  // namespace ptyche
