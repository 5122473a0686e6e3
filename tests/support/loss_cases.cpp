#include "tests/support/loss_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tests/support/checks.h"

namespace ptyche {
namespace {

constexpr std::int64_t kObjectPatterns = 7;

at::Tensor bell_probe(std::int64_t modes, std::int64_t size, double middle, double width) {
  const at::Tensor along = at::arange(size, at::kDouble) - middle;
  const at::Tensor bell = (-(along / (width * static_cast<double>(size))).square()).exp();
  const at::Tensor noise = random_tensor({modes, size, size}, at::kComplexDouble, 11) * 0.3 + 1;
  return noise * bell.unsqueeze(1) * bell * 3;
}

at::Tensor groups_of(const LossCase& of) {
  std::vector<std::int64_t> group;
  if (of.scattered)
    for (std::int64_t k = 0; k < *std::ranges::max_element(of.group_sizes); ++k)
      for (std::size_t g = 0; g < of.group_sizes.size(); ++g) {
        if (k < of.group_sizes[g]) group.push_back(static_cast<std::int64_t>(g));
      }
  else
    for (std::size_t g = 0; g < of.group_sizes.size(); ++g)
      group.insert(group.end(), static_cast<std::size_t>(of.group_sizes[g]),
                   static_cast<std::int64_t>(g));
  return at::tensor(group, at::kLong);
}

/// Every second pattern of each group; of a scattered batch every second one of all.
at::Tensor merged_of(const LossCase& of, std::int64_t patterns) {
  if (!of.half_merged || of.scattered)
    return at::arange(0, patterns, of.half_merged ? 2 : 1, at::kLong);
  std::vector<std::int64_t> merged;
  std::int64_t pattern = 0;
  for (const std::int64_t size : of.group_sizes)
    for (std::int64_t k = 0; k < size; ++k, ++pattern)
      if (k % 2 == 0) merged.push_back(pattern);
  return at::tensor(merged, at::kLong);
}

at::Tensor leaf(const at::Tensor& x, at::ScalarType type) {
  return x.detach().to(type).clone().requires_grad_(true);
}

at::Tensor near_one(at::IntArrayRef shape) {
  return random_tensor(shape.vec(), at::kComplexDouble, 2) * 0.3 + 1;
}

GroupLoss loss_of(const at::Tensor& transmission, const at::Tensor& merged, const at::Tensor& probe,
                  const CanvasLayout& layout, const Measured& measured,
                  const LossOptions& options) {
  if (merged.defined()) return group_loss(transmission, merged, probe, layout, measured, options);
  const bool moved = layout.interpolation == Interpolation::probe_fourier;
  return {object_loss(transmission, probe, layout.corners, moved ? layout.fractions : at::Tensor(),
                      measured, options),
          0};
}

}  // namespace

at::Tensor probe_of(std::int64_t modes, std::int64_t size, at::ScalarType type) {
  return bell_probe(modes, size, static_cast<double>(size) / 2 - 0.5, 0.27).to(type);
}

LossBatch make_batch(const LossCase& of) {
  LossBatch batch;
  const auto complex = at::toComplexType(of.real);
  const bool object = of.group_sizes.empty();
  batch.group = object ? at::zeros({kObjectPatterns}, at::kLong) : groups_of(of);
  const std::int64_t patterns = batch.group.numel();
  batch.positions =
      object ? random_tensor({patterns, 2}, at::kDouble, 3).mul(9) + 30.3
             : random_tensor({patterns, 2}, at::kDouble, 1).mul(of.scattered ? 14.7 : 3.7);
  if (of.whole_pixels) batch.positions = batch.positions.round();
  if (!object) batch.merged = merged_of(of, patterns);
  batch.transmission = (object ? near_one({of.size + 70, of.size + 65})
                               : near_one({batch.merged.numel(), of.size, of.size}))
                           .to(complex);
  batch.probe =
      of.scattered
          ? bell_probe(of.modes, of.size, static_cast<double>(of.size) / 2, 0.2).to(complex)
          : probe_of(of.modes, of.size, complex);
  batch.background = (random_tensor({of.size, of.size}, at::kDouble, 3).square() + 0.2).to(of.real);
  batch.intensities = 0.5 + random_tensor({patterns}, at::kDouble, 6).square();
  batch.counts = random_tensor({patterns, of.size, of.size}, at::kDouble, 4)
                     .square()
                     .mul(4)
                     .round()
                     .to(of.real);
  batch.mask = random_tensor({of.size, of.size}, at::kDouble, 5).gt(-1.5);
  return batch;
}

CanvasLayout layout_of(const LossCase& of, const LossBatch& batch) {
  if (!of.group_sizes.empty())
    return lay_out(batch.positions, batch.group, of.groups(), of.size, of.interpolation);
  const bool bilinear = of.interpolation == Interpolation::bilinear;
  const at::Tensor whole = batch.positions.round();
  return {.group = batch.group,
          .corners = bilinear ? batch.positions : whole,
          .fractions = bilinear ? at::zeros_like(whole) : batch.positions - whole,
          .interpolation = of.interpolation,
          .pattern_size = of.size,
          .groups = 1,
          .rows = of.size + 70,
          .cols = of.size + 65};
}

Measured measured_of(const LossCase& of, const LossBatch& batch) {
  return {batch.counts, batch.mask, of.background ? batch.background : at::Tensor(),
          of.intensities ? batch.intensities : at::Tensor()};
}

LossOptions options_of(const LossCase& of, Engine engine) {
  LossOptions options{.engine = engine, .kind = of.kind};
  options.merge.floor = of.merge_floor;
  if (of.near_field)
    options.propagation = NearField{.wavelength_m = 1e-10, .pixel_m = 1e-8, .distance_m = 5e-6};
  return options;
}

std::vector<at::Tensor> loss_and_gradients(const LossCase& of, const LossBatch& batch,
                                           Engine engine) {
  LossBatch own = batch;
  for (at::Tensor* x :
       {&own.transmission, &own.probe, &own.background, &own.positions, &own.intensities})
    *x = leaf(*x, x->scalar_type());
  const GroupLoss result = loss_of(own.transmission, own.merged, own.probe, layout_of(of, own),
                                   measured_of(of, own), options_of(of, engine));
  (result.loss * 0.7).backward();
  std::vector<at::Tensor> all{result.loss.detach(), at::scalar_tensor(result.contrast, at::kDouble),
                              own.transmission.grad(), own.probe.grad(), own.positions.grad()};
  if (of.background) all.push_back(own.background.grad());
  if (of.intensities) all.push_back(own.intensities.grad());
  return all;
}

LossAnswers reference_answers(const LossCase& of, const LossBatch& batch) {
  const at::Tensor transmission = leaf(batch.transmission, at::kComplexDouble);
  const at::Tensor probe = leaf(batch.probe, at::kComplexDouble);
  CanvasLayout layout = layout_of(of, batch);
  layout.corners = leaf(layout.corners, at::kDouble);
  layout.fractions = leaf(layout.fractions, at::kDouble);
  Measured measured = measured_of(of, batch);
  if (of.background) measured.background = leaf(measured.background, at::kDouble);
  if (of.intensities) measured.intensities = leaf(measured.intensities, at::kDouble);
  const at::Tensor loss = loss_of(transmission, batch.merged, probe, layout, measured,
                                  options_of(of, Engine::reference))
                              .loss;
  loss.backward();
  return {loss.detach(),
          transmission.grad(),
          probe.grad(),
          of.background ? measured.background.grad() : at::Tensor(),
          layout.corners.grad(),
          layout.fractions.grad(),
          of.intensities ? measured.intensities.grad() : at::Tensor()};
}

double largest_mismatch(const LossAnswers& found, const LossAnswers& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].defined() || found[i].numel() == 0) continue;
    const bool none = !expected[i].defined() || expected[i].abs().max().item<double>() == 0;
    const double own =
        none ? found[i].abs().max().item<double>()
             : relative_difference(found[i].to(expected[i].scalar_type()), expected[i]);
    if (std::isnan(own)) return own;
    largest = std::max(largest, own);
  }
  return largest;
}

std::vector<LossCase> scattered_cases() {
  std::vector<LossCase> all;
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    for (const LossInfo& loss : losses())
      for (const bool half : {false, true})
        all.push_back({.modes = 2,
                       .group_sizes = {4, 1, 7},
                       .interpolation = way,
                       .kind = loss.kind,
                       .half_merged = half});
    for (const std::int64_t size : {13, 20, 64, 67})
      all.push_back({.size = size, .group_sizes = {3, 2}, .interpolation = way});
    for (const std::int64_t modes : {1, 4})
      all.push_back(
          {.modes = modes, .group_sizes = {16, 64}, .interpolation = way, .background = false});
    all.push_back({.group_sizes = {1}, .interpolation = way});
    all.push_back({.group_sizes = {5}, .interpolation = way, .whole_pixels = true});
    all.push_back({.group_sizes = {5, 2}, .interpolation = way, .merge_floor = 0.001});
    all.push_back({.modes = 2, .group_sizes = {}, .interpolation = way});
  }
  for (LossCase& of : all) {
    if (of.size == LossCase().size) of.size = 16;
    of.scattered = true;
  }
  return all;
}

std::string to_string(const LossCase& of) {
  return fmt::format("N {}, modes {}, groups of {}, {}, loss {}, {}{}{}", of.size, of.modes,
                     of.group_sizes.empty() ? "a whole object"
                                            : fmt::format("{}", fmt::join(of.group_sizes, ", ")),
                     to_string(of.interpolation), info_of(of.kind).name,
                     of.half_merged ? "half merged" : "all merged",
                     of.background ? ", background" : "", of.whole_pixels ? ", whole pixels" : "");
}

}  // namespace ptyche
