// All errors of a reconstructed object against the object that a scan is known to show.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// Errors of the image's object against `truth` (rows, cols) complex, which lies in the scan's
/// pixel frame, after alignment, in truth_window. Nothing, with a warning, where the scan lights
/// too little of the truth or the truth is constant there.
std::optional<TruthError> truth_error(const at::Tensor& truth, const Reconstruction& image);

}  // namespace ptyche
