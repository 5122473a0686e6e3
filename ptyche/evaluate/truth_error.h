// All errors of a reconstructed object against the object that a scan is known to show.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/comparison.h"
#include "ptyche/data/reconstruction.h"

namespace ptyche {

/// The image's object against `truth` (rows, cols) complex, which lies in the scan's pixel frame,
/// in truth_window. Nothing, with a warning, where the scan lights too little of the truth or the
/// truth is constant there.
std::optional<Comparison> truth_error(const at::Tensor& truth, const Reconstruction& image);

}  // namespace ptyche
