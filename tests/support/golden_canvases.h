// How PtychoPINN merges the patches of a group, and cuts out what each pattern sees.
#pragma once

#include "ptyche/physics/canvas.h"
#include "tests/support/golden.h"

namespace ptyche {

constexpr double kGoldenFloor = 0.001;  // PtychoPINN's, in the denominator of its merge

/// The canvases of one file inside wider ones, where no patch is ever cut off.
struct Canvases {
  /// offsets (B, C, 2) (row, col)
  Canvases(const GoldenFile& golden, const at::Tensor& offsets);

  at::Tensor widened(const at::Tensor& canvases) const {
    return at::constant_pad_nd(canvases, {margin, margin, margin, margin});
  }
  at::Tensor cropped(const at::Tensor& canvases) const {
    return canvases.narrow(1, margin, side).narrow(2, margin, side);
  }
  /// The central N x N of cropped canvases.
  at::Tensor trimmed(const at::Tensor& cropped) const {
    const std::int64_t first = (side - size) / 2;
    return cropped.narrow(1, first, size).narrow(2, first, size);
  }

  std::int64_t size, side, margin;
  CanvasLayout layout;
};

/// Offsets less their mean over the whole batch, as PtychoPINN centres them.
at::Tensor centred(const at::Tensor& offsets);

/// (B, N, N, C) as (B * C, N, N), group-major.
at::Tensor flat(const at::Tensor& patches);

/// Ones in the central N/2 square.
at::Tensor central_mask(std::int64_t size);

}  // namespace ptyche
