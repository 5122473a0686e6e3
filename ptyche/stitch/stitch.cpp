#include "ptyche/stitch/stitch.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kNeighbours = 16;  // enough to tie a scan together in every direction
constexpr int kIterations = 1000;
constexpr double kStill = 1e-10;  // change of a factor: all rounds left add less than 1e-7

/// How patch `other` agrees with the one that owns the link.
struct Link {
  std::size_t other;
  Complex agreement;
};

struct Corner {
  std::int64_t row, col;
};

std::vector<Corner> as_corners(const at::Tensor& corners) {
  std::vector<Corner> list;
  const at::Tensor whole = corners.to(at::kLong).contiguous();
  const auto* value = whole.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < whole.size(0); ++i) list.push_back({value[2 * i], value[2 * i + 1]});
  return list;
}

/// Whether patches overlap by more than half in each direction.
bool overlap_by_half(const Corner& a, const Corner& b, std::int64_t size) {
  return std::max(std::abs(a.row - b.row), std::abs(a.col - b.col)) < size / 2;
}

/// sum over the overlap of conj(a) b, for patches whose corners differ by (down, right).
Complex overlap_product(const std::complex<float>* a, const std::complex<float>* b,
                        std::int64_t size, std::int64_t down, std::int64_t right) {
  Complex sum = 0;
  for (std::int64_t row = std::max<std::int64_t>(down, 0);
       row < size + std::min<std::int64_t>(down, 0); ++row) {
    std::complex<float> line = 0;
    for (std::int64_t col = std::max<std::int64_t>(right, 0);
         col < size + std::min<std::int64_t>(right, 0); ++col)
      line += std::conj(a[row * size + col]) * b[(row - down) * size + col - right];
    sum += Complex(line);
  }
  return sum;
}

/// overlap_product of patches `own` (k, N, N) with those of `all` (n, N, N) that lie `offset` (k,
/// 2) px farther: (k) complex128, on any device.
at::Tensor overlap_products(const at::Tensor& own, const at::Tensor& all, const at::Tensor& other,
                            const at::Tensor& offset) {
  const std::int64_t size = own.size(-1);
  const auto along = [&](std::int64_t axis) {
    return at::arange(size, offset.options()) - offset.select(1, axis).unsqueeze(1);
  };
  const at::Tensor row = along(0).unsqueeze(2), col = along(1).unsqueeze(1);
  const at::Tensor inside = row.ge(0) * row.lt(size) * (col.ge(0) * col.lt(size));
  const at::Tensor index =
      (other.view({-1, 1, 1}) * size + row.clamp(0, size - 1)) * size + col.clamp(0, size - 1);
  const at::Tensor theirs = all.view(-1).index_select(0, index.view(-1)).view_as(own);
  return (own.conj() * theirs * inside).sum({1, 2}, false, at::kComplexDouble);
}

/// Of every patch (k) with each of its neighbours `near` (k, 1 + neighbours), itself the first:
/// (k, neighbours) complex128 with the host.
at::Tensor agreements(const at::Tensor& weighted, const at::Tensor& near,
                      const at::Tensor& places) {
  constexpr std::int64_t kAtOnce = 256;
  const at::Tensor whole = places.to(at::kLong);
  std::vector<at::Tensor> columns;
  for (std::int64_t i = 1; i < near.size(1); ++i) {
    const at::Tensor other = near.select(1, i).to(weighted.device());
    const at::Tensor offset = whole.index_select(0, other) - whole;
    std::vector<at::Tensor> parts;
    for (std::int64_t first = 0; first < other.size(0); first += kAtOnce)
      parts.push_back(overlap_products(weighted.slice(0, first, first + kAtOnce), weighted,
                                       other.slice(0, first, first + kAtOnce),
                                       offset.slice(0, first, first + kAtOnce)));
    columns.push_back(at::cat(parts));
  }
  return at::stack(columns, 1).cpu();
}

/// links_between by LibTorch's operations.
std::vector<std::vector<Link>> links_there(const at::Tensor& weighted, const at::Tensor& places) {
  const std::vector<Corner> corners = as_corners(places.cpu());
  const at::Tensor near = nearest_points(places.cpu().to(at::kDouble),
                                         std::min<std::int64_t>(kNeighbours + 1, places.size(0)));
  std::vector<std::vector<Link>> links(corners.size());
  if (near.size(1) < 2) return links;
  const at::Tensor found = agreements(weighted, near, places);
  for (std::int64_t k = 0; k < near.size(0); ++k)
    for (std::int64_t i = 1; i < near.size(1); ++i) {
      const auto other = near[k][i].item<std::int64_t>();
      const auto own = static_cast<std::size_t>(k), theirs = static_cast<std::size_t>(other);
      if (overlap_by_half(corners[own], corners[theirs], weighted.size(1)))
        links[own].push_back({theirs, Complex(found[k][i - 1].item().toComplexDouble())});
    }
  return links;
}

/// For every patch, how its neighbours' patches agree with it.
std::vector<std::vector<Link>> links_between(const at::Tensor& weighted, const at::Tensor& places) {
  if (!weighted.is_cpu()) return links_there(weighted, places);
  const std::vector<Corner> corners = as_corners(places);
  const at::Tensor nearest = nearest_points(
      places.to(at::kDouble), std::min<std::int64_t>(kNeighbours + 1, places.size(0)));
  const auto near = nearest.accessor<std::int64_t, 2>();
  const std::int64_t size = weighted.size(1);
  const auto* data =
      reinterpret_cast<const std::complex<float>*>(weighted.data_ptr<c10::complex<float>>());
  std::vector<std::vector<Link>> links(corners.size());
  at::parallel_for(
      0, static_cast<std::int64_t>(corners.size()), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last); ++k)
          for (std::int64_t i = 1; i < near.size(1); ++i) {
            const auto other = static_cast<std::size_t>(near[static_cast<std::int64_t>(k)][i]);
            if (!overlap_by_half(corners[k], corners[other], size)) continue;
            const std::int64_t down = corners[other].row - corners[k].row;
            const std::int64_t right = corners[other].col - corners[k].col;
            const auto pixels = static_cast<std::size_t>(size * size);
            links[k].push_back({other, overlap_product(data + k * pixels, data + other * pixels,
                                                       size, down, right)});
          }
      });
  return links;
}

/// One round: every factor turns its patch to the weighted mean of its neighbours. Returns the
/// largest square of a factor's change.
double turn(const std::vector<std::vector<Link>>& links, const std::vector<Complex>& factors,
            std::vector<Complex>& next) {
  constexpr std::int64_t kAtOnce = 256;
  const auto round = [&](std::int64_t first, std::int64_t last, double most) {
    for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last); ++k) {
      Complex pull = 0;
      for (const Link& link : links[k]) pull += link.agreement * factors[link.other];
      const double power = std::norm(pull);
      next[k] = power > 0 ? pull / std::sqrt(power) : factors[k];
      most = std::max(most, std::norm(next[k] - factors[k]));
    }
    return most;
  };
  return at::parallel_reduce(0, static_cast<std::int64_t>(links.size()), kAtOnce, 0.0, round,
                             [](double a, double b) { return std::max(a, b); });
}

}  // namespace

at::Tensor synchronise(const at::Tensor& patches, const at::Tensor& weights,
                       const at::Tensor& corners) {
  const at::NoGradGuard no_grad;
  const at::Tensor weighted = (patches * weights.sqrt()).to(at::kComplexFloat).contiguous();
  const auto links = links_between(weighted, corners);
  std::vector<Complex> factors(links.size(), 1);
  std::vector<Complex> next(links.size());
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const double moved = turn(links, factors, next);
    factors.swap(next);
    if (moved < kStill * kStill) break;
  }
  Complex mean = 0;
  for (const Complex& factor : factors) mean += factor;
  const Complex back = std::abs(mean) > 0 ? std::conj(mean) / std::abs(mean) : 1;
  at::Tensor unit = at::empty({static_cast<std::int64_t>(factors.size())}, at::kComplexFloat);
  auto* out = unit.data_ptr<c10::complex<float>>();
  for (const Complex& factor : factors)
    *out++ = c10::complex<float>(c10::complex<double>(factor * back));
  return unit.to(patches.device());
}

namespace {

constexpr std::int64_t kMargin = 2;
constexpr std::int64_t kBatchPatches = 256;

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
  for (std::int64_t first = 0; first < count; first += kBatchPatches) {
    const std::int64_t last = std::min(first + kBatchPatches, count);
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
