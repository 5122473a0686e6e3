#include "tests/support/golden_canvases.h"

#include <cmath>

namespace ptyche {
namespace {

/// Files of the whole network do not say how large their canvases were.
std::int64_t side_of(const GoldenFile& golden) {
  if (golden.has("M")) return golden.integer("M");
  return golden.integer("N") + 4 * (golden.integer("gridsize") - 1) + 10;
}

}  // namespace

Canvases::Canvases(const GoldenFile& golden, const at::Tensor& offsets)
    : size(golden.integer("N")),
      side(side_of(golden)),
      margin(static_cast<std::int64_t>(std::ceil(offsets.abs().max().item<double>())) + 1) {
  const std::int64_t groups = offsets.size(0), each = offsets.size(1);
  // Content moves by -offset on merging, so the patch's corner does.
  const double middle = static_cast<double>((side - size) / 2 + margin);
  layout.corners = middle - offsets.to(at::kDouble).reshape({-1, 2});
  layout.fractions = at::zeros_like(layout.corners);
  layout.group = at::arange(groups, at::kLong).repeat_interleave(each);
  layout.interpolation = Interpolation::bilinear;
  layout.pattern_size = size;
  layout.groups = groups;
  layout.rows = layout.cols = side + 2 * margin;
}

at::Tensor centred(const at::Tensor& offsets) {
  const at::Tensor wide = offsets.to(at::kDouble);
  return wide - wide.mean(at::IntArrayRef{0, 1}, true);
}

at::Tensor flat(const at::Tensor& patches) {
  return patches.permute({0, 3, 1, 2}).flatten(0, 1).contiguous();
}

at::Tensor central_mask(std::int64_t size) {
  at::Tensor mask = at::zeros({size, size}, at::kFloat);
  mask.narrow(0, size / 4, size / 2).narrow(1, size / 4, size / 2).fill_(1);
  return mask;
}

}  // namespace ptyche
