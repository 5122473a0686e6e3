// The error of small parts of an image, each judged on its own.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "ptyche/data/comparison.h"

namespace ptyche {

/// nrmse_contrast of the tiles of 32 x 32 pixels that fit into `window`, in its middle, each with a
/// gauge of its own (shift, ramp, scale) fitted from `start`; tiles where the truth is constant are
/// passed over. truth and image (rows, cols) complex128, of any two shapes. Nothing if no tile is
/// left. An image of the truth with a slow drift of phase or position scores well here and badly as
/// a whole: the two numbers are to be read together.
std::optional<TileError> tile_error(const at::Tensor& truth, const at::Tensor& image,
                                    const Window& window, const Gauge& start);

}  // namespace ptyche
