#include "ptyche/physics/resample.h"

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

/// One tap; where `inside` is undefined the edge goes on.
Tap tap_of(const at::Tensor& index, at::Tensor weight, std::int64_t size,
           const at::Tensor& inside) {
  if (inside.defined()) weight = weight * inside;
  return {index.clamp(0, size - 1), weight};
}

std::vector<Tap> nearest_taps(const at::Tensor& sources, std::int64_t size, Outside outside) {
  // Clamped first: a source far away has no int64.
  const at::Tensor index = sources.detach().clamp(-1, size).round().to(at::kLong);
  const at::Tensor inside =
      outside == Outside::edge ? at::Tensor() : sources.ge(0).logical_and(sources.le(size - 1));
  return {tap_of(index, at::ones_like(sources.detach()), size, inside)};
}

std::vector<Tap> linear_taps(const at::Tensor& sources, std::int64_t size, Outside outside) {
  const at::Tensor below = sources.detach().floor();
  const at::Tensor rest = sources - below;
  const at::Tensor first = below.clamp(-2, size).to(at::kLong);
  std::vector<Tap> taps;
  for (const std::int64_t step : {0, 1}) {
    const at::Tensor index = first + step;
    const at::Tensor inside =
        outside == Outside::edge ? at::Tensor() : index.ge(0).logical_and(index.lt(size));
    taps.push_back(tap_of(index, step == 0 ? 1 - rest : rest, size, inside));
  }
  return taps;
}

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

std::vector<Tap> taps_at(const at::Tensor& sources, std::int64_t size, SamplingOptions options) {
  return options.sampling == Sampling::nearest ? nearest_taps(sources, size, options.outside)
                                               : linear_taps(sources, size, options.outside);
}

void require_one_place_per_image(const std::string& operation, const at::Tensor& images,
                                 const at::Tensor& places, at::IntArrayRef trailing) {
  const bool numbers = at::isFloatingType(images.scalar_type()) || images.is_complex();
  require(images.dim() >= 2 && numbers && images.size(-2) > 0 && images.size(-1) > 0,
          "{}: expected floating or complex images (..., rows, cols), found {}", operation,
          describe(images));
  std::vector<std::int64_t> wanted = images.sizes().slice(0, images.dim() - 2).vec();
  wanted.insert(wanted.end(), trailing.begin(), trailing.end());
  require(places.sizes() == wanted && !places.is_complex(),
          "{}: expected ({}) real numbers for images {}, found {}", operation,
          fmt::join(wanted, ", "), describe(images), describe(places));
  require(at::isfinite(places).all().item<bool>(),
          "{}: expected finite numbers in {}, found others", operation, describe(places));
}

at::Tensor as_stack(const at::Tensor& images) {
  std::int64_t count = 1;
  for (const std::int64_t length : images.sizes().slice(0, images.dim() - 2)) count *= length;
  return images.reshape({count, images.size(-2), images.size(-1)});
}

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
