#include "ptyche/ptychopinn/warp.h"

namespace ptyche {
namespace {

/// Sources of all output pixels: rows, cols, and whether there is one; each (count, rows, cols).
struct Sources {
  at::Tensor row, col, finite;
};

Sources sources_of(const at::Tensor& homographies, std::int64_t rows, std::int64_t cols) {
  const at::Tensor matrix = homographies.to(at::kDouble).reshape({-1, 3, 3, 1, 1});
  const at::Tensor row = at::arange(rows, matrix.options()).view({1, -1, 1});
  const at::Tensor col = at::arange(cols, matrix.options()).view({1, 1, -1});
  const auto line = [&](std::int64_t i) {
    const at::Tensor terms = matrix.select(1, i);
    return terms.select(1, 0) * row + terms.select(1, 1) * col + terms.select(1, 2);
  };
  const at::Tensor depth = line(2), finite = depth.ne(0);
  const at::Tensor safe = at::where(finite, depth, at::ones_like(depth));
  return {line(0) / safe, line(1) / safe, finite};
}

/// The pixels that each output pixel reads: flat index and weight, each (count, rows * cols).
std::vector<Tap> flat_taps(const at::Tensor& stack, const at::Tensor& homographies,
                           SamplingOptions options) {
  const std::int64_t rows = stack.size(1), cols = stack.size(2);
  const Sources sources = sources_of(homographies, rows, cols);
  const auto real = c10::toRealValueType(stack.scalar_type());
  const std::vector<Tap> col_taps = taps_at(sources.col, cols, options);
  std::vector<Tap> taps;
  for (const Tap& row : taps_at(sources.row, rows, options))
    for (const Tap& col : col_taps)
      taps.push_back({(row.index * cols + col.index).flatten(1),
                      (row.weight * col.weight * sources.finite).to(real).flatten(1)});
  return taps;
}

}  // namespace

at::Tensor warp(const at::Tensor& images, const at::Tensor& homographies, SamplingOptions options) {
  require_one_place_per_image("warp", images, homographies, {3, 3});
  const at::Tensor stack = as_stack(images), flat = stack.flatten(1);
  at::Tensor sum;
  for (const Tap& tap : flat_taps(stack, homographies, options)) {
    const at::Tensor part = flat.gather(1, tap.index) * tap.weight;
    sum = sum.defined() ? sum + part : part;
  }
  return sum.view(images.sizes());
}

at::Tensor warp_adjoint(const at::Tensor& warped, const at::Tensor& homographies,
                        SamplingOptions options) {
  require_one_place_per_image("warp_adjoint", warped, homographies, {3, 3});
  const at::Tensor stack = as_stack(warped), flat = stack.flatten(1);
  at::Tensor sum = at::zeros_like(flat);
  for (const Tap& tap : flat_taps(stack, homographies, options))
    sum = sum.scatter_add(1, tap.index, flat * tap.weight);
  return sum.view(warped.sizes());
}

}  // namespace ptyche
