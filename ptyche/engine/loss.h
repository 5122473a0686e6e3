// The loss of the whole method: patches -> merged object of each group -> patterns -> misfit.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/engine/engine.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"

namespace ptyche {

/// What the patterns of a batch are compared with, all in FFT order.
///   counts       (m, N, N) real
///   mask         (N, N) bool, true = counted
///   background   (N, N) counts >= 0 added to every pattern, or undefined
///   intensities  (m) > 0, of the beam in each pattern over its mean: what is expected, background
///                included, is multiplied by it; undefined = 1
struct Measured {
  at::Tensor counts, mask, background, intensities = {};
};

/// On a device that is not the CPU the reference engine computes, whatever `engine` says.
struct LossOptions {
  Engine engine = Engine::fused;
  LossKind kind = LossKind::poisson;
  MergeOptions merge = {};
  Propagation propagation = FarField{};
};

/// Throws InvalidInput that names both shapes where the arrays do not fit each other, or a pattern
/// that leaves its canvas.
void require_fitting(const CanvasLayout& layout, const at::Tensor& probe, const Measured& measured);

/// loss      scalar, the sum over patterns and pixels
/// contrast  standard deviation over mean of the merged objects, uncovered pixels (1) included
struct GroupLoss {
  at::Tensor loss;
  double contrast = 0;
};

/// Merges the patches of each group (canvas.h, weights |P|^2), cuts out what every pattern of the
/// layout sees, and compares what it would diffract with its counts.
///   patches  (k, N, N) complex64 or complex128, of the layout's places `merged`
///   merged   (k) int64, ascending; the others are predicted only. Undefined: `patches` is a whole
///            object (rows, cols), as object_loss calls this
///   probe    (modes, N, N) complex, sqrt(photon)
///   layout   where all m patterns lie; its interpolation decides who is moved between pixels,
///            patch or probe
/// Differentiable in patches, probe, background, intensities, layout.corners (bilinear) and
/// layout.fractions (probe_fourier). Probe, counts and background are taken in the precision of the
/// patches, exactly where that is the wider one. Throws InvalidInput naming both shapes, or what
/// the fused engine does not cover.
GroupLoss group_loss(const at::Tensor& patches, const at::Tensor& merged, const at::Tensor& probe,
                     const CanvasLayout& layout, const Measured& measured,
                     const LossOptions& options = {});

/// The same for one whole object (rows, cols) that is not merged: corners (m, 2) float64 of the
/// patterns on it, and shifts (m, 2) of the probe under probe_fourier (then the corners are whole).
/// Differentiable in object, probe, background, intensities, corners (bilinear) and shifts
/// (probe_fourier).
at::Tensor object_loss(const at::Tensor& object, const at::Tensor& probe, const at::Tensor& corners,
                       const at::Tensor& shifts, const Measured& measured,
                       const LossOptions& options = {});

}  // namespace ptyche
