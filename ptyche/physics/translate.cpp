#include "ptyche/physics/translate.h"

namespace ptyche {
namespace {

/// Taps of one axis of every image, (count, size), widened to broadcast over the other axis.
std::vector<Tap> axis_taps(const at::Tensor& images, const at::Tensor& shifts, std::int64_t axis,
                           SamplingOptions options) {
  const std::int64_t size = images.size(axis + 1);
  const at::Tensor pixel = at::arange(size, shifts.options().dtype(at::kDouble));
  const at::Tensor shift = shifts.reshape({-1, 2}).select(1, axis).to(at::kDouble);
  const auto real = c10::toRealValueType(images.scalar_type());
  std::vector<Tap> taps = taps_at(pixel - shift.unsqueeze(1), size, options);
  for (Tap& tap : taps) {
    tap.index = tap.index.unsqueeze(2 - axis).expand_as(images);
    tap.weight = tap.weight.to(real).unsqueeze(2 - axis);
  }
  return taps;
}

/// The image read along one axis: shifts are the same for all lines, so the two axes separate.
at::Tensor read_axis(const at::Tensor& images, const at::Tensor& shifts, std::int64_t axis,
                     SamplingOptions options) {
  at::Tensor sum;
  for (const Tap& tap : axis_taps(images, shifts, axis, options)) {
    const at::Tensor part = images.gather(axis + 1, tap.index) * tap.weight;
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

at::Tensor read_axis_adjoint(const at::Tensor& moved, const at::Tensor& shifts, std::int64_t axis,
                             SamplingOptions options) {
  at::Tensor sum = at::zeros_like(moved);
  for (const Tap& tap : axis_taps(moved, shifts, axis, options))
    sum = sum.scatter_add(axis + 1, tap.index, moved * tap.weight);
  return sum;
}

}  // namespace

at::Tensor translate(const at::Tensor& images, const at::Tensor& shifts, SamplingOptions options) {
  require_one_place_per_image("translate", images, shifts, {2});
  const at::Tensor rows_read = read_axis(as_stack(images), shifts, 0, options);
  return read_axis(rows_read, shifts, 1, options).view(images.sizes());
}

at::Tensor translate_adjoint(const at::Tensor& moved, const at::Tensor& shifts,
                             SamplingOptions options) {
  require_one_place_per_image("translate_adjoint", moved, shifts, {2});
  const at::Tensor cols_back = read_axis_adjoint(as_stack(moved), shifts, 1, options);
  return read_axis_adjoint(cols_back, shifts, 0, options).view(moved.sizes());
}

}  // namespace ptyche
