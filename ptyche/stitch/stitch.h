// One object out of all patches.
#pragma once

#include <array>

#include "ptyche/data/patches.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Joins the patches into one object by their mean weighted with the probe's intensity,
///   object(r) = sum_k w(r - r_k) patch_k(r - r_k) / sum_k w(r - r_k),  w = sum_m |P_m|^2,
/// each patch first turned to the phase of its neighbours (stitch/synchronise.h), the probe moved
/// by each position's fraction of a pixel. The canvas holds the patches of ALL the scan's
/// positions, so that patterns that were held out can be predicted; pixels that no patch lights are
/// 1 + 0i. Throws InvalidInput if a patch's frame is not in the scan.
Reconstruction stitch(const Patches& patches, const Scan& scan);

/// Rows and columns of the canvas that empty_reconstruction makes.
std::array<std::int64_t, 2> canvas_shape(const Scan& scan);

/// The canvas that holds every position's patch, with a margin of 2 pixels: an object of ones with
/// origin, positions, frame use, geometry and probe filled in. Solvers start from it too.
Reconstruction empty_reconstruction(const Scan& scan, Interpolation interpolation);

}  // namespace ptyche
