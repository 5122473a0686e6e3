// The phase of an image without the jumps of 2 pi that an angle has.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// The phase of `object` (rows, cols) complex, unwrapped: neighbours are joined in the order of how
/// even the phase is about them, each part moved by the multiple of 2 pi that joins it (Herraez,
/// Burton, Lalor, Gdeisat, Appl. Opt. 41, 7437 (2002)), so that noise and dark pixels come last.
/// The median of the lit pixels lies in (-pi, pi]. (rows, cols) float64.
///   lit  (rows, cols) bool: what is not lit joins last; undefined = all is
at::Tensor unwrapped_phase(const at::Tensor& object, const at::Tensor& lit = {});

}  // namespace ptyche
