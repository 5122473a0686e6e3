// What inference gives: one piece of object per pattern, not yet joined.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/interpolation.h"

namespace ptyche {

/// patches    (k, N, N) complex64 on the object's pixel grid: pixel (N/2, N/2) is the object pixel
///            nearest to the pattern's position
/// frames     (k) int64, the pattern of each patch
/// probe      (modes, N, N) complex64, the model's probe in sqrt(photon)
/// background (N, N) float32 counts, zero frequency at N/2; undefined = none
struct Patches {
  at::Tensor patches, frames, probe, background;
  Interpolation interpolation = Interpolation::probe_fourier;
};

}  // namespace ptyche
