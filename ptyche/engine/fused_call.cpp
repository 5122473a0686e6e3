#include "ptyche/engine/fused_call.h"

#include <cmath>
#include <numeric>

#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"
#include "ptyche/physics/propagation.h"

namespace ptyche {
namespace {

template <class T>
T* pointer(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return tensor.is_complex() ? reinterpret_cast<T*>(tensor.data_ptr<c10::complex<T>>())
                             : tensor.data_ptr<T>();
}

void place_patterns(const CanvasLayout& layout, std::vector<cpu::Place>& places) {
  const at::Tensor corners = layout.corners.to(at::kDouble).contiguous();
  const at::Tensor fractions = layout.fractions.to(at::kDouble).contiguous();
  places.reserve(static_cast<std::size_t>(corners.size(0)));
  const auto* corner = corners.data_ptr<double>();
  const auto* shift = fractions.data_ptr<double>();
  for (std::int64_t k = 0; k < corners.size(0); ++k, corner += 2, shift += 2) {
    const double row = std::floor(corner[0]), col = std::floor(corner[1]);
    places.push_back({.row = static_cast<std::int64_t>(row),
                      .col = static_cast<std::int64_t>(col),
                      .row_fraction = corner[0] - row,
                      .col_fraction = corner[1] - col,
                      .row_shift = shift[0],
                      .col_shift = shift[1]});
  }
}

/// Patterns sorted by group, and which of them have a patch.
template <class T>
void sort_patterns(const FusedSetting& setting, cpu::LossCall<T>& call) {
  const at::Tensor groups = setting.layout.group.contiguous();
  const auto* group = groups.data_ptr<std::int64_t>();
  const auto count = static_cast<std::size_t>(groups.numel());
  call.first_of_group.assign(static_cast<std::size_t>(setting.layout.groups) + 1, 0);
  for (std::size_t k = 0; k < count; ++k) ++call.first_of_group[group[k] + 1];
  std::partial_sum(call.first_of_group.begin(), call.first_of_group.end(),
                   call.first_of_group.begin());
  std::vector<std::int64_t> next = call.first_of_group;
  call.pattern_of.resize(count);
  for (std::size_t k = 0; k < count; ++k)
    call.pattern_of[next[group[k]]++] = static_cast<std::int64_t>(k);
  call.patch_of.assign(count, -1);
  if (!setting.merged.defined()) return;
  const at::Tensor merged = setting.merged.contiguous();
  const auto* pattern = merged.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < merged.numel(); ++k) call.patch_of[pattern[k]] = k;
}

template <class T>
void fill_options(const FusedSetting& setting, cpu::LossCall<T>& call) {
  call.kind = setting.options.kind;
  call.floor = info_of(call.kind).floor;
  call.merge_floor = setting.options.merge.floor;
  call.moved_probe = setting.layout.interpolation == Interpolation::probe_fourier;
  call.size = setting.layout.pattern_size;
  call.groups = setting.layout.groups;
  call.rows = setting.layout.rows;
  call.cols = setting.layout.cols;
}

/// Undefined in the far field.
at::Tensor transfer_of(const FusedSetting& setting, const at::Tensor& picture) {
  const at::Tensor transfer =
      detector_transfer(setting.layout.pattern_size, setting.options.propagation);
  return transfer.defined() ? transfer.to(picture.scalar_type()) : transfer;
}

/// The kernels of the CPU make the weights of moved probes themselves, one at a time.
template <class T>
void fill_weights(const FusedSetting& setting, FusedCall<T>& buffers) {
  cpu::LossCall<T>& call = buffers.call;
  buffers.weight = mode_power(buffers.probe.detach());
  call.dark_weight = kLitToMerge * buffers.weight.max().template item<double>();
  if (call.moved_probe && setting.options.device == ComputeDevice::cpu) return;
  if (call.moved_probe) {
    buffers.weight =
        merge_weights(buffers.probe, select_patches(setting.layout, setting.merged)).contiguous();
    call.weight_step = call.size * call.size;
  }
  call.merge_weight = pointer<T>(buffers.weight);
}

template <class T>
void fill_inputs(const FusedSetting& setting, FusedCall<T>& buffers) {
  cpu::LossCall<T>& call = buffers.call;
  call.modes = buffers.probe.size(0);
  call.patterns = buffers.counts.size(0);
  call.probe = pointer<T>(buffers.probe);
  call.counts = pointer<T>(buffers.counts);
  call.mask = buffers.mask.template data_ptr<bool>();
  call.background = pointer<T>(buffers.background);
  call.transfer = pointer<T>(buffers.transfer);
  place_patterns(setting.layout, call.places);
  sort_patterns(setting, call);
  if (!setting.merged.defined()) {
    call.object = pointer<T>(buffers.picture);
    return;
  }
  call.patches = pointer<T>(buffers.picture);
  fill_weights(setting, buffers);
}

template <class T>
void fill_outputs(FusedCall<T>& buffers, bool with_background) {
  cpu::LossCall<T>& call = buffers.call;
  buffers.picture_gradient = at::empty_like(buffers.picture);
  buffers.probe_gradient = at::empty_like(buffers.probe);
  buffers.place_gradient = at::zeros({call.patterns, 4}, at::kDouble);
  (call.object ? call.object_gradient : call.patch_gradient) = pointer<T>(buffers.picture_gradient);
  call.probe_gradient = pointer<T>(buffers.probe_gradient);
  call.place_gradient = pointer<double>(buffers.place_gradient);
  if (!with_background) return;
  buffers.background_gradient = at::empty_like(buffers.background);
  call.background_gradient = pointer<T>(buffers.background_gradient);
}

}  // namespace

template <class T>
FusedCall<T> make_fused_call(const FusedSetting& setting, const at::Tensor& picture,
                             const at::Tensor& probe, const at::Tensor& background, bool gradient) {
  const auto real = c10::CppTypeToScalarType<T>::value;
  FusedCall<T> buffers{
      .picture = picture.contiguous(),
      .probe = probe.to(picture.scalar_type()).contiguous(),
      .background = background.numel() > 0 ? background.to(real).contiguous() : at::Tensor(),
      .counts = setting.counts.to(real).contiguous(),
      .mask = setting.mask.contiguous(),
      .weight = {},
      .transfer = transfer_of(setting, picture),
      .picture_gradient = {},
      .probe_gradient = {},
      .background_gradient = {},
      .place_gradient = {},
      .call = {}};
  fill_options(setting, buffers.call);
  buffers.call.want_gradient = gradient;
  buffers.call.want_place = setting.layout.corners.requires_grad();
  fill_inputs(setting, buffers);
  if (gradient) fill_outputs(buffers, background.numel() > 0);
  return buffers;
}

template FusedCall<float> make_fused_call(const FusedSetting&, const at::Tensor&, const at::Tensor&,
                                          const at::Tensor&, bool);
template FusedCall<double> make_fused_call(const FusedSetting&, const at::Tensor&,
                                           const at::Tensor&, const at::Tensor&, bool);

}  // namespace ptyche
