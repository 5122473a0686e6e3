#include "ptyche/stitch/stitch.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/stitch/synchronise.h"

namespace ptyche {
namespace {

constexpr std::int64_t kMargin = 2;
constexpr std::int64_t kBatchPatches = 256;                           // on the CPU
constexpr std::int64_t kStitchedPixelsThere = std::int64_t{1} << 24;  // on a GPU, of a batch

/// Where patches first..last lie on the canvas; under probe_fourier on whole pixels, the probe
/// takes the rest.
CanvasLayout layout_of(const Patches& patches, const Reconstruction& canvas, std::int64_t first,
                       std::int64_t last) {
  const at::Tensor origin =
      at::tensor({canvas.origin_row, canvas.origin_col}, at::kLong).to(at::kDouble);
  const at::Tensor positions =
      canvas.positions.index_select(0, patches.frames.slice(0, first, last)) - origin;
  const std::int64_t size = patches.patches.size(-1);
  CanvasLayout layout = lay_on_object(
      positions, size, {canvas.object.size(0), canvas.object.size(1)}, patches.interpolation);
  layout.corners = layout.corners - static_cast<double>(size / 2);
  return to_device(layout, patches.patches.device());
}

/// Of the patches that the layout holds: (k, N, N) float32.
at::Tensor weights_of(const Patches& patches, const CanvasLayout& layout) {
  const at::Tensor weights =
      patches.weights.defined() ? patches.weights : merge_weights(patches.probe, layout);
  return weights.expand({layout.corners.size(0), layout.pattern_size, layout.pattern_size});
}

/// The factor (k) complex64 of every patch that brings them all to one phase.
at::Tensor phase_factors(const Patches& patches, const Reconstruction& canvas) {
  const CanvasLayout layout = layout_of(patches, canvas, 0, patches.patches.size(0));
  const at::Tensor weights =
      patches.weights.defined() ? patches.weights : mode_power(patches.probe);
  return synchronise(patches.patches, weights, layout.corners.round());
}

/// Some patches (k, N, N) from number `first` on, where they lie, and their weights (k, N, N).
struct PatchBatch {
  std::int64_t first = 0;
  at::Tensor patches;
  CanvasLayout layout;
  at::Tensor weights;
};

template <class Work>
void each_batch(const Patches& patches, const Reconstruction& canvas, const Work& work) {
  const std::int64_t count = patches.patches.size(0);
  const std::int64_t at_once =
      patches.patches.is_cpu()
          ? kBatchPatches
          : std::max(kStitchedPixelsThere / patches.patches[0].numel(), std::int64_t{16});
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t last = std::min(first + at_once, count);
    const CanvasLayout layout = layout_of(patches, canvas, first, last);
    work({first, patches.patches.slice(0, first, last), layout, weights_of(patches, layout)});
  }
}

/// |c p - m|^2 of patches p (k, N, N) and what the image m has there, c the unit factor that brings
/// a patch to the image's phase.
at::Tensor squared_distance(const at::Tensor& patches, const at::Tensor& image,
                            const at::Tensor& weights) {
  const at::Tensor agreement = (weights * patches.conj() * image).sum({1, 2}, true);
  const at::Tensor turn = agreement / agreement.abs().clamp_min(1e-30);
  return at::view_as_real(patches * turn - image).square().sum(-1);
}

/// Of the canvas, in the scan's pixel frame.
at::Tensor first_pixel(const Scan& scan) {
  return position_box(scan).low.floor().to(at::kLong) - scan.pattern_size() / 2 - kMargin;
}

}  // namespace

std::array<std::int64_t, 2> canvas_shape(const Scan& scan) {
  const at::Tensor high =
      position_box(scan).high.ceil().to(at::kLong) + scan.pattern_size() / 2 + kMargin;
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
  image.probe = patches.probe.cpu();
  if (patches.background.defined()) image.background = patches.background.cpu();
  const at::TensorOptions there = patches.patches.options();
  at::Tensor object = at::zeros(image.object.sizes(), there.dtype(at::kComplexFloat));
  at::Tensor weight = at::zeros(image.object.sizes(), there.dtype(at::kFloat));
  const at::Tensor factors = phase_factors(patches, image);
  each_batch(patches, image, [&](const PatchBatch& batch) {
    const at::Tensor turned =
        batch.patches *
        factors.slice(0, batch.first, batch.first + batch.patches.size(0)).view({-1, 1, 1});
    object += add_patches(turned * batch.weights, batch.layout)[0];
    weight += add_patches(batch.weights, batch.layout)[0];
  });
  const at::Tensor lit = lit_pixels(weight, kLitToShow);
  image.object = mean_where_lit(object, weight, lit).cpu();
  image.coverage = (weight / weight.max()).masked_fill(lit.logical_not(), 0).cpu();
  return image;
}

Agreement agreement_of(const Patches& patches, const Reconstruction& image) {
  const at::NoGradGuard no_grad;
  const at::Tensor object = image.object.to(patches.patches.device()).unsqueeze(0);
  at::Tensor distance = at::zeros_like(image.coverage, patches.patches.options().dtype(at::kFloat));
  at::Tensor weight = at::zeros_like(distance), squares = at::zeros_like(distance);
  each_batch(patches, image, [&](const PatchBatch& batch) {
    const at::Tensor mean = extract_patches(object, batch.layout);
    const at::Tensor apart = squared_distance(batch.patches, mean, batch.weights);
    distance += add_patches(batch.weights * apart, batch.layout)[0];
    weight += add_patches(batch.weights, batch.layout)[0];
    squares += add_patches(batch.weights.square(), batch.layout)[0];
  });
  const at::Tensor lit = lit_pixels(weight, kLitToShow);
  const at::Tensor seen = (weight.square() / squares).masked_fill(lit.logical_not(), 0);
  const at::Tensor variance = distance / (weight - squares / weight);
  const float none = std::numeric_limits<float>::quiet_NaN();
  return {variance.masked_fill(seen.lt(kLeastSeen), none).cpu(), seen.cpu()};
}

}  // namespace ptyche
