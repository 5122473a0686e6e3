#include "ptyche/stitch/stitch.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/data/probe_power.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/stitch/synchronise.h"

namespace ptyche {
namespace {

constexpr std::int64_t kMargin = 2;
constexpr std::int64_t kBatchPatches = 256;
constexpr double kDarkShare = 1e-6;  // of the brightest pixel's light; below it nothing is known

struct Sums {
  at::Tensor object, weight;  // (rows, cols)
};

/// Where patches first..last lie on the canvas: whole pixels, the probe takes the rest.
CanvasLayout layout_of(const Patches& patches, const Reconstruction& canvas, std::int64_t first,
                       std::int64_t last) {
  const at::Tensor origin =
      at::tensor({canvas.origin_row, canvas.origin_col}, at::kLong).to(at::kDouble);
  const at::Tensor positions =
      canvas.positions.index_select(0, patches.frames.slice(0, first, last)) - origin;
  const std::int64_t size = patches.patches.size(-1);
  CanvasLayout layout =
      lay_on_object(positions, size, {canvas.object.size(0), canvas.object.size(1)},
                    Interpolation::probe_fourier);
  layout.corners = layout.corners - static_cast<double>(size / 2);
  return layout;
}

/// Adds patches first..last, each times its phase factor, to the sums.
void add_batch(Sums& sums, const Patches& patches, const Reconstruction& canvas,
               const at::Tensor& factors, std::int64_t first, std::int64_t last) {
  const CanvasLayout layout = layout_of(patches, canvas, first, last);
  const at::Tensor weights = merge_weights(patches.probe, layout);
  const at::Tensor turned =
      patches.patches.slice(0, first, last) * factors.slice(0, first, last).view({-1, 1, 1});
  sums.object += add_patches(turned * weights, layout)[0];
  sums.weight += add_patches(weights, layout)[0];
}

/// The factor (k) complex64 of every patch that brings them all to one phase.
at::Tensor phase_factors(const Patches& patches, const Reconstruction& canvas) {
  const CanvasLayout layout = layout_of(patches, canvas, 0, patches.patches.size(0));
  return synchronise(patches.patches, mode_power(patches.probe), layout.corners);
}

/// Of the canvas, in the scan's pixel frame.
at::Tensor first_pixel(const Scan& scan) {
  return scan.positions().amin(0).floor().to(at::kLong) - scan.pattern_size() / 2 - kMargin;
}

}  // namespace

std::array<std::int64_t, 2> canvas_shape(const Scan& scan) {
  const at::Tensor high =
      scan.positions().amax(0).ceil().to(at::kLong) + scan.pattern_size() / 2 + kMargin;
  const at::Tensor extent = high - first_pixel(scan);
  return {extent[0].item<std::int64_t>(), extent[1].item<std::int64_t>()};
}

Reconstruction empty_reconstruction(const Scan& scan, Interpolation interpolation) {
  const at::Tensor low = first_pixel(scan);
  const std::array<std::int64_t, 2> shape = canvas_shape(scan);
  Reconstruction image;
  image.object = at::ones(shape, at::kComplexFloat);
  image.coverage = at::zeros(shape);
  image.probe = scan.probe();
  image.positions = scan.positions();
  image.frame_use = scan.frame_use();
  image.origin_row = low[0].item<std::int64_t>();
  image.origin_col = low[1].item<std::int64_t>();
  image.interpolation = interpolation;
  image.geometry = scan.geometry();
  image.provenance.source = scan.source();
  image.provenance.input_hash = scan.input_hash();
  return image;
}

Reconstruction stitch(const Patches& patches, const Scan& scan) {
  const at::NoGradGuard no_grad;
  const std::int64_t count = patches.patches.size(0);
  require(count > 0 && patches.frames.max().item<std::int64_t>() < scan.frames(),
          "stitch: expected patches of the scan's {} patterns, found {} patches", scan.frames(),
          count);
  Reconstruction image = empty_reconstruction(scan, patches.interpolation);
  image.probe = patches.probe;
  image.background = patches.background;
  Sums sums{at::zeros_like(image.object), at::zeros_like(image.coverage)};
  const at::Tensor factors = phase_factors(patches, image);
  for (std::int64_t first = 0; first < count; first += kBatchPatches)
    add_batch(sums, patches, image, factors, first, std::min(first + kBatchPatches, count));
  const double brightest = sums.weight.max().item<double>(), dark = kDarkShare * brightest;
  image.object = mean_where_lit(sums.object, sums.weight, dark);
  image.coverage = (sums.weight / sums.weight.max()).masked_fill(sums.weight.le(dark), 0);
  return image;
}

}  // namespace ptyche
