#include "tests/support/fused_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tests/support/checks.h"

namespace ptyche {
namespace {

constexpr std::int64_t kObjectPatterns = 7;

/// Dark in the corners, so that merged canvases have pixels that nothing lights.
at::Tensor probe_of(const FusedCase& of) {
  const at::Tensor along = at::arange(of.size, at::kDouble) - static_cast<double>(of.size) / 2;
  const at::Tensor bell = (-(along / (0.2 * static_cast<double>(of.size))).square()).exp();
  const at::Tensor noise =
      random_tensor({of.modes, of.size, of.size}, at::kComplexDouble, 11) * 0.3 + 1;
  return noise * bell.unsqueeze(1) * bell * 3;
}

/// Groups take turns, so that their patterns do not lie together.
at::Tensor groups_of(const FusedCase& of) {
  std::vector<std::int64_t> group;
  for (std::int64_t k = 0; k < 64; ++k)
    for (std::size_t g = 0; g < of.group_sizes.size(); ++g)
      if (k < of.group_sizes[g]) group.push_back(static_cast<std::int64_t>(g));
  return at::tensor(group, at::kLong);
}

void lay_out_groups(const FusedCase& of, FusedInputs& inputs) {
  const at::Tensor group = groups_of(of);
  at::Tensor positions = random_tensor({group.numel(), 2}, at::kDouble, 1).mul(14.7);
  if (of.whole_pixels) positions = positions.round();
  inputs.setting.layout =
      lay_out(positions, group, static_cast<std::int64_t>(of.group_sizes.size()), of.size,
              of.interpolation);
  inputs.setting.merged = at::arange(0, group.numel(), of.half_merged ? 2 : 1, at::kLong);
  inputs.picture =
      random_tensor({inputs.setting.merged.numel(), of.size, of.size}, at::kComplexDouble, 2) *
          0.3 +
      1;
}

void lay_out_object(const FusedCase& of, FusedInputs& inputs) {
  const bool bilinear = of.interpolation == Interpolation::bilinear;
  const at::Tensor corners = random_tensor({kObjectPatterns, 2}, at::kDouble, 3).mul(9) + 30.3;
  inputs.setting.layout = {
      .group = at::zeros({kObjectPatterns}, at::kLong),
      .corners = bilinear && !of.whole_pixels ? corners : corners.round(),
      .fractions = bilinear ? at::zeros_like(corners) : corners - corners.round(),
      .interpolation = of.interpolation,
      .pattern_size = of.size,
      .groups = 1,
      .rows = of.size + 70,
      .cols = of.size + 65};
  inputs.picture = random_tensor({of.size + 70, of.size + 65}, at::kComplexDouble, 2) * 0.3 + 1;
}

at::Tensor leaf(const at::Tensor& x, at::ScalarType type) {
  return x.detach().to(type).clone().requires_grad_(true);
}

}  // namespace

FusedInputs fused_inputs(const FusedCase& of) {
  FusedInputs inputs;
  if (of.group_sizes.empty())
    lay_out_object(of, inputs);
  else
    lay_out_groups(of, inputs);
  const std::int64_t patterns = inputs.setting.layout.corners.size(0);
  inputs.picture = inputs.picture.to(at::toComplexType(of.real));
  inputs.probe = probe_of(of).to(at::toComplexType(of.real));
  inputs.background =
      of.background ? (random_tensor({of.size, of.size}, at::kDouble, 3).square() + 0.2).to(of.real)
                    : at::empty({0}, of.real);
  FusedSetting& setting = inputs.setting;
  setting.counts = random_tensor({patterns, of.size, of.size}, at::kDouble, 4).square().mul(4);
  setting.counts = setting.counts.round().to(of.real);
  setting.mask = random_tensor({of.size, of.size}, at::kDouble, 5).gt(-1.5);
  setting.options.kind = of.kind;
  setting.options.merge.floor = of.merge_floor;
  return inputs;
}

FusedAnswers reference_answers(const FusedInputs& inputs) {
  const at::Tensor picture = leaf(inputs.picture, at::kComplexDouble);
  const at::Tensor probe = leaf(inputs.probe, at::kComplexDouble);
  const at::Tensor background = leaf(inputs.background, at::kDouble);
  CanvasLayout layout = inputs.setting.layout;
  layout.corners = leaf(layout.corners, at::kDouble);
  layout.fractions = leaf(layout.fractions, at::kDouble);
  LossOptions options = inputs.setting.options;
  options.engine = Engine::reference;
  const bool moved = layout.interpolation == Interpolation::probe_fourier;
  const Measured measured{inputs.setting.counts, inputs.setting.mask,
                          background.numel() > 0 ? background : at::Tensor()};
  const at::Tensor loss =
      inputs.setting.merged.defined()
          ? group_loss(picture, inputs.setting.merged, probe, layout, measured, options).loss
          : object_loss(picture, probe, layout.corners, moved ? layout.fractions : at::Tensor(),
                        measured, options);
  loss.backward();
  return {loss.detach(),     picture.grad(),        probe.grad(),
          background.grad(), layout.corners.grad(), layout.fractions.grad()};
}

double largest_mismatch(const FusedAnswers& found, const FusedAnswers& expected) {
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

std::vector<FusedCase> fused_cases() {
  std::vector<FusedCase> all;
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    for (const LossKind kind :
         {LossKind::poisson, LossKind::amplitude_square, LossKind::amplitude_absolute})
      for (const bool half : {false, true})
        all.push_back({.modes = 2,
                       .group_sizes = {4, 1, 7},
                       .interpolation = way,
                       .kind = kind,
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
  return all;
}

std::string to_string(const FusedCase& of) {
  return fmt::format("N {}, modes {}, groups of {}, {}, loss {}, {}{}{}", of.size, of.modes,
                     of.group_sizes.empty() ? "a whole object"
                                            : fmt::format("{}", fmt::join(of.group_sizes, ", ")),
                     to_string(of.interpolation), static_cast<int>(of.kind),
                     of.half_merged ? "half merged" : "all merged",
                     of.background ? ", background" : "", of.whole_pixels ? ", whole pixels" : "");
}

}  // namespace ptyche
