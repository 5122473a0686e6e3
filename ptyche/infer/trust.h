// How far the image of the program's network can be trusted.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/trust.h"

namespace ptyche {

/// Map, expected error, spread and `told` of an image that was stitched of `patches` by the
/// program's network, whose errors on simulated scans the constants were fitted to
/// (docs/network.md):
///   log e = -.229 + 1.942 max(.3 - told, 0) + .206 log s + .157 log v + .391 log a
/// with s the variance of the object about its local mean over its variance, v that of the patches
/// that see a pixel (agreement_of) over its mean, a the local amplitude over that of the mean, all
/// under a Gaussian of 4 pixels and over the lit part. `told` (evaluate/description.h) is of at
/// most 1024 patterns out of the whole scan. Throws InvalidInput where no pixel is seen by two
/// patches.
Trust trust_in(const Patches& patches, const Reconstruction& image, const Scan& scan);

/// All of it: the map, what the physics says, `unlike` with its reason, the seconds.
///   first  as in examine_physics
/// Throws Interrupted after Ctrl-C.
Trust measured_trust(const Patches& patches, const Reconstruction& image, const Scan& scan,
                     const at::Tensor& first);

/// What `unlike` comes from, by four short solves (rpie:5, lbfgs:40, two modes, a background) of at
/// most 128 patterns around the middle, one in eight of them held out: as the scan is, with its
/// positions 1.3 times farther apart and closer, and of patterns redrawn from the first. All begin
/// with the probe `first` (modes, N, N), the file's where it has one: one that was refined has
/// taken on the curvature that stands for another scale. Numbers that could not be had (a solve
/// that diverges, fewer than eight patterns) are NaN. Throws Interrupted after Ctrl-C.
void examine_physics(TrustEvidence& evidence, const Scan& scan, const at::Tensor& first);

/// `unlike` and, above 1, the reason: the largest of
///   (told_elsewhere - solved_told) / .02, more is foretold with another scale of the positions
///   (again_told - solved_told) / .11, less is foretold than right physics would; over .3 where a
///       pixel is seen by less than 2.5 patterns, since held-out ones are hard to foretell then
///   (again_used_told - used_told) / .03, the same of the patterns that the solve was made of
///   (misfit - again_misfit) / .055, more is left than right physics would; where light is above 2
///   left / 1.25, no image explains more than the mean pattern
/// each 0 where it is not a number, and all where the mean pattern leaves less than 1.1 times what
/// noise does: too few photons to tell.
void judge_likeness(Trust& trust);

}  // namespace ptyche
