// How far the image of the program's network can be trusted.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/trust.h"
#include "ptyche/infer/infer.h"
#include "ptyche/infer/trust_map.h"
#include "ptyche/model/model.h"

namespace ptyche {

/// All of it: the map, what the physics says, `unlike` with its reason, the seconds.
///   first           as in examine_physics
///   model, options  those that the image is of
/// Where no pixel is seen by two patches there is no map, with a warning, and `unlike` alone.
/// Throws InvalidInput where the patterns are too few for that, too, Interrupted after Ctrl-C.
Trust measured_trust(const Agreement& agreement, const Reconstruction& image, const Scan& scan,
                     const at::Tensor& first, const Model& model, const InferOptions& options);

/// What `unlike` comes from, by four short solves (rpie:5, lbfgs:40, two modes, a background) of at
/// most 128 patterns around the middle, one in eight of them held out: as the scan is, with its
/// positions 1.3 times farther apart and closer, and of patterns redrawn from the first. All begin
/// with the probe `first` (modes, N, N), the file's where it has one: one that was refined has
/// taken on the curvature that stands for another scale. Numbers that could not be had (a solve
/// that diverges, fewer than eight patterns) are NaN. Returns the image of the first solve, where
/// it could be had. Throws Interrupted after Ctrl-C.
std::optional<Reconstruction> examine_physics(TrustEvidence& evidence, const Scan& scan,
                                              const at::Tensor& first);

/// `unlike`, the sum of five signs, and, above 1, the reason, the largest of them:
///   (told_elsewhere - solved_told) / (.0133 (1 + 1000 / photons of a pattern)), more is foretold
///       with another scale of the positions
///   (again_told - solved_told) / .184, less is foretold than right physics would; over .92 where
///       a pixel is seen by less than 2.5 patterns, since held-out ones are hard to foretell then
///   (again_used_told - used_told) / .061, the same of the patterns that the solve was made of
///   (misfit - again_misfit) / .061, more is left than right physics would; where light is above 2;
///       over .0255 where it is above 4 and a pixel is seen by at least 2.5 patterns
///   left / 7.1, what the image leaves over what the mean pattern does
/// each 0 where it is negative or not a number, and all where the mean pattern leaves less
/// than 1.1 times what noise does: too few photons to tell.
void judge_likeness(Trust& trust);

}  // namespace ptyche
