#include "ptyche/engine/fused_call.h"

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

/// Whole pixels under the corners, and the rests.
std::vector<cpu::PatchPosition> positions_of(const CanvasLayout& layout) {
  const at::Tensor corners = layout.corners.to(at::kDouble).contiguous();
  const at::Tensor fractions = layout.fractions.to(at::kDouble).contiguous();
  std::vector<cpu::PatchPosition> positions;
  positions.reserve(static_cast<std::size_t>(corners.size(0)));
  const auto* corner = corners.data_ptr<double>();
  const auto* shift = fractions.data_ptr<double>();
  for (std::int64_t k = 0; k < corners.size(0); ++k, corner += 2, shift += 2) {
    const double row = std::floor(corner[0]), col = std::floor(corner[1]);
    positions.push_back({.row = static_cast<std::int64_t>(row),
                         .col = static_cast<std::int64_t>(col),
                         .row_fraction = corner[0] - row,
                         .col_fraction = corner[1] - col,
                         .row_shift = shift[0],
                         .col_shift = shift[1]});
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

/// Undefined in the far field.
at::Tensor transfer_of(std::int64_t size, const Propagation& propagation, at::ScalarType type) {
  const at::Tensor transfer = detector_transfer(size, propagation);
  return transfer.defined() ? transfer.to(type) : transfer;
}

/// The kernels of the CPU make the weights of moved probes themselves, one at a time.
template <class T>
void fill_weights(const CanvasLayout& layout, const at::Tensor& merged, ComputeDevice device,
                  FusedCall<T>& call) {
  cpu::LossInputs<T>& inputs = call.inputs;
  call.weight = mode_power(call.probe.detach());
  inputs.dark_weight = kLitToMerge * call.weight.max().template item<double>();
  if (inputs.moved_probe && device == ComputeDevice::cpu) return;
  if (inputs.moved_probe) {
    call.weight = merge_weights(call.probe, select_patches(layout, merged)).contiguous();
    inputs.weight_step = inputs.size * inputs.size;
  }
  inputs.merge_weight = pointer<T>(call.weight);
}

template <class T>
void fill_inputs(const at::Tensor& merged, const CanvasLayout& layout, const LossOptions& options,
                 FusedCall<T>& call) {
  cpu::LossInputs<T>& inputs = call.inputs;
  inputs.kind = options.kind;
  inputs.floor = info_of(options.kind).floor;
  inputs.merge_floor = options.merge.floor;
  inputs.moved_probe = layout.interpolation == Interpolation::probe_fourier;
  inputs.size = layout.pattern_size;
  inputs.groups = layout.groups;
  inputs.rows = layout.rows;
  inputs.cols = layout.cols;
  inputs.want_position = layout.corners.requires_grad();
  inputs.modes = call.probe.size(0);
  inputs.patterns = call.counts.size(0);
  inputs.probe = pointer<T>(call.probe);
  inputs.counts = pointer<T>(call.counts);
  inputs.mask = call.mask.template data_ptr<bool>();
  inputs.background = pointer<T>(call.background);
  inputs.transfer = pointer<T>(call.transfer);
  inputs.positions = positions_of(layout);
  sort_patterns(layout, merged, inputs);
  (merged.defined() ? inputs.patches : inputs.object) = pointer<T>(call.transmission);
  if (merged.defined()) fill_weights(layout, merged, options.device, call);
}

template <class T>
void fill_outputs(FusedCall<T>& call) {
  cpu::LossInputs<T>& inputs = call.inputs;
  call.transmission_gradient = at::empty_like(call.transmission);
  call.probe_gradient = at::empty_like(call.probe);
  call.position_gradient = at::zeros({inputs.patterns, 4}, at::kDouble);
  (inputs.object ? inputs.object_gradient : inputs.patch_gradient) =
      pointer<T>(call.transmission_gradient);
  inputs.probe_gradient = pointer<T>(call.probe_gradient);
  inputs.position_gradient = pointer<double>(call.position_gradient);
  if (!call.background.defined()) return;
  call.background_gradient = at::empty_like(call.background);
  inputs.background_gradient = pointer<T>(call.background_gradient);
}

}  // namespace

template <class T>
FusedCall<T> make_fused_call(const at::Tensor& transmission, const at::Tensor& merged,
                             const at::Tensor& probe, const CanvasLayout& layout,
                             const Measured& measured, const LossOptions& options, bool gradient) {
  const auto real = c10::CppTypeToScalarType<T>::value;
  FusedCall<T> call;
  call.transmission = transmission.contiguous();
  call.probe = probe.to(transmission.scalar_type()).contiguous();
  if (measured.background.defined() && measured.background.numel() > 0)
    call.background = measured.background.to(real).contiguous();
  call.counts = measured.counts.to(real).contiguous();
  call.mask = measured.mask.contiguous();
  call.transfer = transfer_of(layout.pattern_size, options.propagation, transmission.scalar_type());
  call.inputs.want_gradient = gradient;
  fill_inputs(merged, layout, options, call);
  if (gradient) fill_outputs(call);
  return call;
}

template FusedCall<float> make_fused_call(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                          const CanvasLayout&, const Measured&, const LossOptions&,
                                          bool);
template FusedCall<double> make_fused_call(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                           const CanvasLayout&, const Measured&, const LossOptions&,
                                           bool);

}  // namespace ptyche
