// The map of how sure the image of the program's network is.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/trust.h"
#include "ptyche/infer/infer.h"
#include "ptyche/model/model.h"

namespace ptyche {

/// Two images of a scan, or of its middle, that stand beside the network's; where none could be
/// had, the map does without.
struct ImagesBeside {
  std::optional<Reconstruction> again = {};   ///< of network_again
  std::optional<Reconstruction> solved = {};  ///< of a short solve
};

/// The network's image of the patterns that its image of the scan foretells, drawn anew with photon
/// noise, polished where the options ask for it: how far it lies from `image` is what noise and the
/// network itself do. Of the patterns around the middle, about 2^24 pixels of them at most (4096
/// patterns of 64 x 64), so that time and memory have a bound. Says nothing.
Reconstruction network_again(const Model& model, const Reconstruction& image, const Scan& scan,
                             const InferOptions& options);

/// Why an image has none.
inline constexpr const char* kNoMap =
    "no map of expected errors: hardly any pixel is seen by two patterns, so that nothing says how "
    "sure the image is";

/// Where the map says something, (rows, cols) bool: lit pixels that at least two patches see.
at::Tensor judged_pixels(const Agreement& agreement, const Reconstruction& image);

/// Map, expected error, spread, `seen`, `told`, `again` and `apart` of an image that was stitched
/// of patches of that agreement by the program's network, on whose errors on simulated scans the
/// constants were fitted (docs/network.md):
///   log e = .133 + .379 log b + .581 log x + max(.3 - told, 0) (2.57 - 2.338 log c)
/// or, where the image and `again` are polished,
///   log e = .02 + .45 log b + .30 log x + max(.3 - told, 0) (3.0 - 1.7 log c)
/// with b the distance of the image from `again` over its contrast, x that from `solved` over the
/// contrast of that one, c this contrast over the image's; b^2 and x^2 under a Gaussian of 4 pixels
/// over the lit part, `again` brought to the image by one factor, `solved` by shift, ramp and
/// factor. Where one of the two does not reach, the mean of its logarithm over the rest stands for
/// it; 0 where there is none. `told` (evaluate/description.h) is of at most 1024 patterns out of
/// the whole scan. What the evidence holds besides is that of `physics`. Throws InvalidInput where
/// no pixel is seen by two patches.
Trust trust_in(const Agreement& agreement, const Reconstruction& image, const Scan& scan,
               const ImagesBeside& beside, const TrustEvidence& physics = {},
               bool polished = false);

}  // namespace ptyche
