#include "ptyche/physics/sampling.h"

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

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

std::vector<Tap> bilinear_taps(const at::Tensor& sources, std::int64_t size, Outside outside) {
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

}  // namespace

std::vector<Tap> taps_at(const at::Tensor& sources, std::int64_t size, SamplingOptions options) {
  return options.sampling == Sampling::nearest ? nearest_taps(sources, size, options.outside)
                                               : bilinear_taps(sources, size, options.outside);
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

}  // namespace ptyche
