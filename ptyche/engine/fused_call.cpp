#include "ptyche/engine/fused_call.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"

namespace ptyche {
namespace {

template <class T>
T* pointer(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return tensor.is_complex() ? reinterpret_cast<T*>(tensor.data_ptr<c10::complex<T>>())
                             : tensor.data_ptr<T>();
}

/// Whole pixels under the corners, and the rests; the beam's intensity in each pattern.
std::vector<cpu::PatchPosition> positions_of(const CanvasLayout& layout,
                                             const at::Tensor& intensities) {
  const at::Tensor corners = layout.corners.to(at::kDouble).contiguous();
  const at::Tensor fractions = layout.fractions.to(at::kDouble).contiguous();
  std::vector<cpu::PatchPosition> positions;
  positions.reserve(static_cast<std::size_t>(corners.size(0)));
  const bool changes = intensities.defined() && intensities.numel() > 0;
  const at::Tensor factors =
      changes ? intensities.detach().to(at::kDouble).contiguous() : intensities;
  const double* factor = changes ? factors.const_data_ptr<double>() : nullptr;
  const auto* corner = corners.data_ptr<double>();
  const auto* shift = fractions.data_ptr<double>();
  for (std::int64_t k = 0; k < corners.size(0); ++k, corner += 2, shift += 2) {
    const double row = std::floor(corner[0]), col = std::floor(corner[1]);
    positions.push_back({.row = static_cast<std::int64_t>(row),
                         .col = static_cast<std::int64_t>(col),
                         .row_fraction = corner[0] - row,
                         .col_fraction = corner[1] - col,
                         .row_shift = shift[0],
                         .col_shift = shift[1],
                         .intensity = factor ? factor[k] : 1});
  }
  return positions;
}

/// Patterns sorted by group, and which of them have a patch.
template <class T>
void sort_patterns(const CanvasLayout& layout, const at::Tensor& merged,
                   cpu::LossInputs<T>& inputs) {
  const at::Tensor groups = layout.group.contiguous();
  const auto* group = groups.data_ptr<std::int64_t>();
  const auto count = static_cast<std::size_t>(groups.numel());
  inputs.first_of_group.assign(static_cast<std::size_t>(layout.groups) + 1, 0);
  for (std::size_t k = 0; k < count; ++k) ++inputs.first_of_group[group[k] + 1];
  std::partial_sum(inputs.first_of_group.begin(), inputs.first_of_group.end(),
                   inputs.first_of_group.begin());
  std::vector<std::int64_t> next = inputs.first_of_group;
  inputs.pattern_of.resize(count);
  for (std::size_t k = 0; k < count; ++k)
    inputs.pattern_of[next[group[k]]++] = static_cast<std::int64_t>(k);
  inputs.patch_of.assign(count, -1);
  if (!merged.defined()) return;
  const at::Tensor listed = merged.contiguous();
  const auto* pattern = listed.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < listed.numel(); ++k) inputs.patch_of[pattern[k]] = k;
}

/// The pointer to what is kept from here on.
template <class T>
T* keep(const at::Tensor& tensor, std::vector<at::Tensor>& kept) {
  if (!tensor.defined()) return nullptr;
  kept.push_back(tensor.contiguous());
  return pointer<T>(kept.back());
}

/// mode_power of a contiguous probe, (N, N): LibTorch's calls for it take as long as two patterns.
template <class T>
at::Tensor power_of(const at::Tensor& probe) {
  const auto pixels = static_cast<std::size_t>(probe.size(1) * probe.size(2));
  at::Tensor power = at::empty({probe.size(1), probe.size(2)}, c10::CppTypeToScalarType<T>::value);
  T* to = pointer<T>(power);
  const T* mode = pointer<T>(probe);
  for (std::int64_t number = 0; number < probe.size(0); ++number, mode += 2 * pixels)
    for (std::size_t i = 0; i < pixels; ++i)
      to[i] =
          (number > 0 ? to[i] : 0) + mode[2 * i] * mode[2 * i] + mode[2 * i + 1] * mode[2 * i + 1];
  return power;
}

/// The kernels of the CPU make the weights of moved probes themselves, one at a time.
template <class T>
void fill_weights(const at::Tensor& probe, std::vector<at::Tensor>& kept,
                  cpu::LossInputs<T>& inputs) {
  const at::Tensor weight = power_of<T>(probe.detach());
  const T* power = pointer<T>(weight);
  inputs.dark_weight = kLitToMerge * *std::max_element(power, power + weight.numel());
  if (!inputs.moved_probe) inputs.merge_weight = keep<T>(weight, kept);
}

/// Sizes and options.
template <class T>
cpu::LossInputs<T> described(const CanvasLayout& layout, const at::Tensor& intensities,
                             const LossOptions& options) {
  cpu::LossInputs<T> inputs;
  inputs.size = layout.pattern_size;
  inputs.patterns = layout.corners.size(0);
  inputs.groups = layout.groups;
  inputs.rows = layout.rows;
  inputs.cols = layout.cols;
  inputs.moved_probe = layout.interpolation == Interpolation::probe_fourier;
  inputs.kind = options.kind;
  inputs.floor = info_of(options.kind).floor;
  inputs.merge_floor = options.merge.floor;
  inputs.want_gradient = false;
  inputs.want_position = layout.corners.requires_grad();
  inputs.positions = positions_of(layout, intensities);
  return inputs;
}

}  // namespace

template <class T>
cpu::LossInputs<T> fused_inputs(const at::Tensor& transmission, const at::Tensor& merged,
                                const at::Tensor& probe, const CanvasLayout& layout,
                                const Measured& measured, const LossOptions& options,
                                std::vector<at::Tensor>& kept) {
  const auto real = c10::CppTypeToScalarType<T>::value;
  const at::Tensor own_probe = probe.to(transmission.scalar_type()).contiguous();
  cpu::LossInputs<T> inputs = described<T>(layout, measured.intensities, options);
  inputs.modes = probe.size(0);
  inputs.probe = keep<T>(own_probe, kept);
  if (measured.counts.defined()) inputs.counts = keep<T>(measured.counts.to(real), kept);
  kept.push_back(measured.mask.contiguous());
  inputs.mask = kept.back().data_ptr<bool>();
  if (measured.background.defined() && measured.background.numel() > 0)
    inputs.background = keep<T>(measured.background.to(real), kept);
  const at::Tensor transfer = detector_transfer(layout.pattern_size, options.propagation);
  if (transfer.defined()) inputs.transfer = keep<T>(transfer.to(transmission.scalar_type()), kept);
  sort_patterns(layout, merged, inputs);
  (merged.defined() ? inputs.patches : inputs.object) = keep<T>(transmission, kept);
  if (merged.defined()) fill_weights(own_probe, kept, inputs);
  return inputs;
}

template <class T>
std::array<at::Tensor, 5> take_gradients(cpu::LossInputs<T>& inputs) {
  const auto real = c10::CppTypeToScalarType<T>::value, pairs = at::toComplexType(real);
  const std::int64_t n = inputs.size;
  const auto merged = inputs.patterns - std::ranges::count(inputs.patch_of, -1);
  std::array<at::Tensor, 5> gradients{inputs.object ? at::empty({inputs.rows, inputs.cols}, pairs)
                                                    : at::empty({merged, n, n}, pairs),
                                      at::empty({inputs.modes, n, n}, pairs),
                                      inputs.background ? at::empty({n, n}, real) : at::Tensor(),
                                      at::zeros({inputs.patterns, 4}, at::kDouble),
                                      at::zeros({inputs.patterns}, at::kDouble)};
  inputs.want_gradient = true;
  (inputs.object ? inputs.object_gradient : inputs.patch_gradient) = pointer<T>(gradients[0]);
  inputs.probe_gradient = pointer<T>(gradients[1]);
  inputs.background_gradient = pointer<T>(gradients[2]);
  inputs.position_gradient = pointer<double>(gradients[3]);
  inputs.intensity_gradient = pointer<double>(gradients[4]);
  return gradients;
}

#define PTYCHE_FUSED(T)                                                             \
  template cpu::LossInputs<T> fused_inputs(                                         \
      const at::Tensor&, const at::Tensor&, const at::Tensor&, const CanvasLayout&, \
      const Measured&, const LossOptions&, std::vector<at::Tensor>&);               \
  template std::array<at::Tensor, 5> take_gradients(cpu::LossInputs<T>&);
PTYCHE_FUSED(float)
PTYCHE_FUSED(double)
#undef PTYCHE_FUSED

}  // namespace ptyche
