#include "ptyche/stitch/stitch.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
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

/// Where patches of `frames` lie on the canvas; under probe_fourier on whole pixels, the probe
/// takes the rest.
CanvasLayout layout_of(const Patches& patches, const Reconstruction& canvas,
                       const at::Tensor& frames) {
  const at::Tensor origin =
      at::tensor({canvas.origin_row, canvas.origin_col}, at::kLong).to(at::kDouble);
  const at::Tensor positions = canvas.positions.index_select(0, frames) - origin;
  const std::int64_t size = patches.probe.size(-1);
  CanvasLayout layout =
      lay_on_object(positions, size, {canvas.rows(), canvas.cols()}, patches.interpolation);
  layout.corners = layout.corners - static_cast<double>(size / 2);
  return to_device(layout,
                   patches.patches.defined() ? patches.patches.device() : patches.probe.device());
}

/// Of the patches that the layout holds: (k, N, N) float32.
at::Tensor weights_of(const Patches& patches, const CanvasLayout& layout) {
  const at::Tensor weights =
      patches.weights.defined() ? patches.weights : merge_weights(patches.probe, layout);
  return weights.expand({layout.corners.size(0), layout.pattern_size, layout.pattern_size});
}

/// (N, N), of every patch but for its move by a part of a pixel.
at::Tensor unmoved_weights(const Patches& patches) {
  return patches.weights.defined() ? patches.weights : mode_power(patches.probe);
}

/// The factor (k) complex64 of every patch that brings them all to one phase.
at::Tensor phase_factors(const Patches& patches, const Reconstruction& canvas) {
  const CanvasLayout layout = layout_of(patches, canvas, patches.frames);
  return synchronise(patches.patches, unmoved_weights(patches), layout.corners.round());
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
    const CanvasLayout layout = layout_of(patches, canvas, patches.frames.slice(0, first, last));
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
  image.object = at::ones({1, shape[0], shape[1]}, at::kComplexFloat);
  image.coverage = at::zeros(shape);
  image.probe = scan.probe().unsqueeze(0);
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

namespace {

/// The canvas of the scan with what the patches bring.
Reconstruction canvas_for(const Patches& patches, const Scan& scan) {
  Reconstruction image = empty_reconstruction(scan, patches.interpolation);
  image.probe = patches.probe.cpu().unsqueeze(0);
  if (patches.background.defined()) image.background = patches.background.cpu();
  return image;
}

Reconstruction stitched_at_once(const Patches& patches, const Scan& scan) {
  Reconstruction image = canvas_for(patches, scan);
  const at::TensorOptions there = patches.patches.options();
  at::Tensor object = at::zeros(image.coverage.sizes(), there.dtype(at::kComplexFloat));
  at::Tensor weight = at::zeros(image.coverage.sizes(), there.dtype(at::kFloat));
  const at::Tensor factors = phase_factors(patches, image);
  each_batch(patches, image, [&](const PatchBatch& batch) {
    const at::Tensor turned =
        batch.patches *
        factors.slice(0, batch.first, batch.first + batch.patches.size(0)).view({-1, 1, 1});
    object += add_patches(turned * batch.weights, batch.layout)[0];
    weight += add_patches(batch.weights, batch.layout)[0];
  });
  const at::Tensor lit = lit_pixels(weight, kLitToShow);
  image.object = mean_where_lit(object, weight, lit).cpu().unsqueeze(0);
  image.coverage = (weight / weight.max()).masked_fill(lit.logical_not(), 0).cpu();
  return image;
}

}  // namespace

Reconstruction stitch(const Patches& patches, const Scan& scan) {
  const at::NoGradGuard no_grad;
  const std::int64_t count = patches.patches.size(0), size = patches.patches.size(-1);
  require(count > 0 && patches.frames.max().item<std::int64_t>() < scan.frames(),
          "stitch: expected patches of the scan's {} patterns, found {} patches", scan.frames(),
          count);
  if (!stitches_in_order(count, size, patches.patches.device()))
    return stitched_at_once(patches, scan);
  StitcherInOrder stitcher(patches, scan);
  for (const at::Tensor& some : patches.patches.split(kBatchPatches)) stitcher.add(some);
  return stitcher.finish().image;
}

namespace {

/// From sums over the patches: of weight times squared distance from the image, of weight, and of
/// its square.
Agreement agreement_from(const at::Tensor& distance, const at::Tensor& weight,
                         const at::Tensor& squares) {
  const at::Tensor lit = lit_pixels(weight, kLitToShow);
  const at::Tensor seen = (weight.square() / squares).masked_fill(lit.logical_not(), 0);
  const at::Tensor variance = distance / (weight - squares / weight);
  const float none = std::numeric_limits<float>::quiet_NaN();
  return {variance.masked_fill(seen.lt(kLeastSeen), none).cpu(), seen.cpu()};
}

}  // namespace

Agreement agreement_of(const Patches& patches, const Reconstruction& image) {
  const at::NoGradGuard no_grad;
  const at::Tensor object = image.projection().to(patches.patches.device()).unsqueeze(0);
  at::Tensor distance = at::zeros_like(image.coverage, patches.patches.options().dtype(at::kFloat));
  at::Tensor weight = at::zeros_like(distance), squares = at::zeros_like(distance);
  each_batch(patches, image, [&](const PatchBatch& batch) {
    const at::Tensor mean = extract_patches(object, batch.layout);
    const at::Tensor apart = squared_distance(batch.patches, mean, batch.weights);
    distance += add_patches(batch.weights * apart, batch.layout)[0];
    weight += add_patches(batch.weights, batch.layout)[0];
    squares += add_patches(batch.weights.square(), batch.layout)[0];
  });
  return agreement_from(distance, weight, squares);
}

// Patches that come and go.

namespace {

constexpr std::int64_t kPixelsInOrder = std::int64_t{1} << 22;  // of patches that come together
// Of patches that are added at once: so small, their sums stay in memory where large arrays lie on
// disk (core/memory.h).
constexpr std::int64_t kPixelsAdded = std::int64_t{1} << 20;

/// Adds values (k, N, N) of patches on whole pixels, row by row.
template <class T>
void add_rows(const at::Tensor& canvas, const at::Tensor& values, const at::Tensor& corners) {
  const at::Tensor all = values.contiguous();
  const std::int64_t size = all.size(-1), stride = canvas.stride(0);
  const auto* value = all.const_data_ptr<T>();
  auto* first = canvas.mutable_data_ptr<T>();
  const auto corner = corners.accessor<double, 2>();
  for (std::int64_t k = 0; k < all.size(0); ++k) {
    T* to = first + static_cast<std::int64_t>(corner[k][0]) * stride +
            static_cast<std::int64_t>(corner[k][1]);
    for (std::int64_t row = 0; row < size; ++row, to += stride, value += size)
      for (std::int64_t col = 0; col < size; ++col) to[col] += value[col];
  }
}

/// Adds values (k, N, N) where the layout has them, and touches no more of the canvas.
void add_at(const at::Tensor& canvas, const at::Tensor& values, const CanvasLayout& layout) {
  if (layout.interpolation == Interpolation::probe_fourier) {
    require_on_canvas(layout);
    return values.is_complex() ? add_rows<c10::complex<float>>(canvas, values, layout.corners)
                               : add_rows<float>(canvas, values, layout.corners);
  }
  const at::Tensor low = layout.corners.floor().amin(0);
  const at::Tensor high = layout.corners.floor().amax(0) + static_cast<double>(values.size(-1) + 1);
  const auto row = low[0].item<double>(), col = low[1].item<double>();
  CanvasLayout part = layout;
  part.corners = layout.corners - low;
  part.rows = std::min(layout.rows, static_cast<std::int64_t>(high[0].item<double>())) -
              static_cast<std::int64_t>(row);
  part.cols = std::min(layout.cols, static_cast<std::int64_t>(high[1].item<double>())) -
              static_cast<std::int64_t>(col);
  canvas.narrow(0, static_cast<std::int64_t>(row), part.rows)
      .narrow(1, static_cast<std::int64_t>(col), part.cols)
      .add_(add_patches(values, part)[0]);
}

}  // namespace

bool stitches_in_order(std::int64_t patches, std::int64_t size, at::Device device) {
  return device.is_cpu() && patches * size * size > kPixelsInOrder;
}

at::Tensor order_to_stitch(const at::Tensor& positions, std::int64_t size) {
  const at::Tensor whole = positions.round();
  const std::int64_t count = positions.size(0);
  if (PhasesInOrder(at::ones({size, size}), whole).most_at_once(0) <= count / 8)
    return at::arange(count, at::kLong);
  const at::Tensor extent = positions.amax(0) - positions.amin(0);
  return positions.select(1, extent.argmax().item<std::int64_t>()).argsort();
}

struct StitcherInOrder::Parts {
  Patches of;
  Reconstruction image;
  CanvasLayout layout;  ///< of all
  PhasesInOrder phases;
  at::Tensor window;                          ///< (slots, N, N) complex64, patches that are there
  std::vector<std::int64_t> slots, empty;     ///< of each patch; slots that are free
  std::int64_t come = 0, done = 0;            ///< patches so far; those of them that have a factor
  at::Tensor object, weight, power, squares;  ///< sums of w c p, w, w |p|^2, w^2

  Parts(const Patches& patches, const Scan& scan)
      : of(patches),
        image(canvas_for(patches, scan)),
        layout(layout_of(patches, image, patches.frames)),
        phases(unmoved_weights(patches), layout.corners.round()) {}

  std::int64_t count() const { return of.frames.size(0); }
  std::int64_t size() const { return of.probe.size(-1); }
  std::int64_t together() const {
    return std::max<std::int64_t>(kPixelsInOrder / (size() * size()), 1);
  }
  std::int64_t added_at_once() const {
    return std::max<std::int64_t>(kPixelsAdded / (size() * size()), 1);
  }
  void make_room();
  void settle();
  void let_go(const at::Tensor& numbers, const at::Tensor& slots_of);
  at::Tensor drift();
};

void StitcherInOrder::Parts::make_room() {
  const std::int64_t most = phases.most_at_once(together());
  window = at::empty({most, size(), size()}, at::kComplexFloat);
  slots.assign(static_cast<std::size_t>(count()), -1);
  for (std::int64_t slot = most; slot-- > 0;) empty.push_back(slot);
  object = at::zeros(image.coverage.sizes(), at::kComplexFloat);
  for (at::Tensor* sum : {&weight, &power, &squares}) *sum = at::zeros(image.coverage.sizes());
}

/// Adds patches that nothing waits for to the sums.
void StitcherInOrder::Parts::let_go(const at::Tensor& numbers, const at::Tensor& slots_of) {
  const CanvasLayout there = select_patches(layout, numbers);
  const at::Tensor patches = window.index_select(0, slots_of);
  const at::Tensor weights = weights_of(of, there);
  at::Tensor factors = at::empty({numbers.size(0), 1, 1}, at::kComplexFloat);
  auto* factor = factors.mutable_data_ptr<c10::complex<float>>();
  for (const std::int64_t number :
       at::IntArrayRef(numbers.const_data_ptr<std::int64_t>(), numbers.numel()))
    *factor++ = c10::complex<float>(
        c10::complex<double>(phases.first_factors()[static_cast<std::size_t>(number)]));
  add_at(object, patches * factors * weights, there);
  add_at(weight, weights, there);
  add_at(power, weights * at::view_as_real(patches).square().sum(-1), there);
  add_at(squares, weights.square(), there);
}

void StitcherInOrder::Parts::settle() {
  const std::vector<std::int64_t> leave = phases.come(window, slots, come);
  done = come;
  std::vector<std::int64_t> slots_of;
  for (const std::int64_t number : leave) {
    slots_of.push_back(slots[static_cast<std::size_t>(number)]);
    empty.push_back(slots_of.back());
  }
  if (leave.empty()) return;
  const std::vector<at::Tensor> places = at::tensor(slots_of, at::kLong).split(added_at_once());
  std::size_t batch = 0;
  for (const at::Tensor& numbers : at::tensor(leave, at::kLong).split(added_at_once()))
    let_go(numbers, places[batch++]);
}

/// What the last factors turn the first ones by, unit factors for each pixel of the image.
at::Tensor StitcherInOrder::Parts::drift() {
  const at::Tensor last = phases.last_factors();
  at::Tensor turn = at::empty_like(last);
  const auto* to = last.const_data_ptr<c10::complex<float>>();
  auto* out = turn.mutable_data_ptr<c10::complex<float>>();
  for (const std::complex<double>& first : phases.first_factors())
    *out++ = *to++ * c10::complex<float>(c10::complex<double>(std::conj(first)));
  at::Tensor sum = at::zeros_like(object);
  const at::Tensor weights = unmoved_weights(of).to(at::kComplexFloat);
  for (const at::Tensor& some : at::arange(count(), at::kLong).split(added_at_once()))
    add_at(sum, turn.index_select(0, some).view({-1, 1, 1}) * weights,
           select_patches(layout, some));
  const at::Tensor size_of = sum.abs();
  return at::where(size_of.gt(0), sum / size_of.clamp_min(1e-30), 1);
}

StitcherInOrder::StitcherInOrder(const Patches& of, const Scan& scan)
    : parts_(std::make_unique<Parts>(of, scan)) {
  parts_->make_room();
}

StitcherInOrder::~StitcherInOrder() = default;

void StitcherInOrder::add(const at::Tensor& patches) {
  const at::NoGradGuard no_grad;
  Parts& own = *parts_;
  for (const at::Tensor& patch : patches.unbind(0)) {
    const std::int64_t slot = own.empty.back();
    own.empty.pop_back();
    own.window[slot].copy_(patch);
    own.slots[static_cast<std::size_t>(own.come++)] = slot;
    if (own.come - own.done == own.together() || own.come == own.count()) own.settle();
  }
}

Stitched StitcherInOrder::finish() {
  const at::NoGradGuard no_grad;
  Parts& own = *parts_;
  require(own.done == own.count(), "stitch: expected {} patches, found {}", own.count(), own.done);
  const at::Tensor lit = lit_pixels(own.weight, kLitToShow);
  const at::Tensor mean = own.object / own.weight;
  Stitched found{.image = std::move(own.image), .agreement = {}};
  found.image.object = mean_where_lit(own.object * own.drift(), own.weight, lit).unsqueeze(0);
  found.image.coverage = (own.weight / own.weight.max()).masked_fill(lit.logical_not(), 0);
  const at::Tensor distance =
      (own.power - own.weight * at::view_as_real(mean).square().sum(-1)).clamp_min_(0);
  found.agreement = agreement_from(distance, own.weight, own.squares);
  return found;
}

}  // namespace ptyche
