#include "ptyche/physics/fused_group_loss.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "ptyche/physics/amplitude_loss.h"
#include "ptyche/physics/cpu/fused_loss.h"
#include "ptyche/physics/poisson_loss.h"

namespace ptyche {
namespace {

/// Everything of a call that is no differentiable argument.
struct Setting {
  CanvasLayout layout;
  at::Tensor merged;  // undefined for a whole object
  at::Tensor counts, mask;
  LossOptions options;
};

/// What the kernels read and write, as contiguous tensors of one precision.
template <class T>
struct Buffers {
  at::Tensor picture, probe, background, counts, mask, weight;
  at::Tensor picture_gradient, probe_gradient, background_gradient, place_gradient;
  cpu::LossCall<T> call;
};

template <class T>
T* pointer(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return tensor.is_complex() ? reinterpret_cast<T*>(tensor.data_ptr<c10::complex<T>>())
                             : tensor.data_ptr<T>();
}

void place_patterns(const CanvasLayout& layout, std::vector<cpu::Place>& places) {
  const at::Tensor corners = layout.corners.to(at::kDouble).contiguous();
  const at::Tensor fractions = layout.fractions.to(at::kDouble).contiguous();
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
void sort_patterns(const Setting& setting, cpu::LossCall<T>& call) {
  const at::Tensor order = setting.layout.group.argsort(/*stable=*/true, 0, false).contiguous();
  const at::Tensor count = at::bincount(setting.layout.group, {}, setting.layout.groups);
  const at::Tensor first = at::cat({at::zeros({1}, at::kLong), count.cumsum(0)}).contiguous();
  const auto* of = order.data_ptr<std::int64_t>();
  call.pattern_of.assign(of, of + order.numel());
  const auto* begin = first.data_ptr<std::int64_t>();
  call.first_of_group.assign(begin, begin + first.numel());
  call.patch_of.assign(static_cast<std::size_t>(order.numel()), -1);
  if (!setting.merged.defined()) return;
  const at::Tensor merged = setting.merged.contiguous();
  const auto* pattern = merged.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < merged.numel(); ++k)
    call.patch_of[static_cast<std::size_t>(pattern[k])] = k;
}

template <class T>
void fill_options(const Setting& setting, cpu::LossCall<T>& call) {
  call.kind = setting.options.kind;
  call.floor = call.kind == LossKind::poisson ? kPoissonFloor : kAmplitudeFloor;
  call.merge_floor = setting.options.merge.floor;
  call.moved_probe = setting.layout.interpolation == Interpolation::probe_fourier;
  call.size = setting.layout.pattern_size;
  call.groups = setting.layout.groups;
  call.rows = setting.layout.rows;
  call.cols = setting.layout.cols;
}

template <class T>
void fill_inputs(const Setting& setting, Buffers<T>& buffers) {
  cpu::LossCall<T>& call = buffers.call;
  call.modes = buffers.probe.size(0);
  call.patterns = buffers.counts.size(0);
  call.probe = pointer<T>(buffers.probe);
  call.counts = pointer<T>(buffers.counts);
  call.mask = buffers.mask.template data_ptr<bool>();
  call.background = pointer<T>(buffers.background);
  place_patterns(setting.layout, call.places);
  sort_patterns(setting, call);
  if (!setting.merged.defined()) {
    call.object = pointer<T>(buffers.picture);
    return;
  }
  call.patches = pointer<T>(buffers.picture);
  buffers.weight = merge_weights(buffers.probe).contiguous();
  call.merge_weight = pointer<T>(buffers.weight);
  call.dark_weight = kDarkWeight * buffers.weight.max().template item<double>();
}

template <class T>
void fill_outputs(Buffers<T>& buffers, bool with_background) {
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

/// Loss, then contrast, then the gradients of picture, probe, background, corners, fractions.
template <class T>
std::vector<at::Tensor> run(const Setting& setting, const at::Tensor& picture,
                            const at::Tensor& probe, const at::Tensor& background, bool gradient) {
  const auto real = c10::CppTypeToScalarType<T>::value;
  Buffers<T> buffers{
      .picture = picture.contiguous(),
      .probe = probe.to(picture.scalar_type()).contiguous(),
      .background = background.numel() > 0 ? background.to(real).contiguous() : at::Tensor(),
      .counts = setting.counts.to(real).contiguous(),
      .mask = setting.mask.contiguous(),
      .weight = {},
      .picture_gradient = {},
      .probe_gradient = {},
      .background_gradient = {},
      .place_gradient = {},
      .call = {}};
  fill_options(setting, buffers.call);
  buffers.call.want_gradient = gradient;
  fill_inputs(setting, buffers);
  if (gradient) fill_outputs(buffers, background.numel() > 0);
  const cpu::LossResult result = cpu::fused_loss(buffers.call, at::get_num_threads());
  const double re = result.sum_re / result.pixels, im = result.sum_im / result.pixels;
  const double mean = re * re + im * im;
  const double contrast = std::sqrt(std::max(0.0, result.sum_square / result.pixels - mean) / mean);
  std::vector<at::Tensor> out{at::scalar_tensor(result.loss, at::kDouble),
                              at::scalar_tensor(contrast, at::kDouble)};
  if (!gradient) return out;
  const at::Tensor& place = buffers.place_gradient;
  out.insert(out.end(), {buffers.picture_gradient, buffers.probe_gradient.to(probe.scalar_type()),
                         buffers.background_gradient, place.slice(1, 0, 2), place.slice(1, 2, 4)});
  return out;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class FusedLoss : public torch::autograd::Function<FusedLoss> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& picture,
                               const at::Tensor& probe, const at::Tensor& background,
                               const at::Tensor& corners, const at::Tensor& fractions,
                               const Setting* setting) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const bool gradient = picture.requires_grad() || probe.requires_grad() ||
                          background.requires_grad() || corners.requires_grad() ||
                          fractions.requires_grad();
    std::vector<at::Tensor> out = picture.scalar_type() == at::kComplexDouble
                                      ? run<double>(*setting, picture, probe, background, gradient)
                                      : run<float>(*setting, picture, probe, background, gradient);
    if (gradient) {
      if (out[4].defined()) out[4] = out[4].to(background.scalar_type());
      context->save_for_backward({out.begin() + 2, out.end()});
    }
    context->mark_non_differentiable({out[1]});
    return {out[0], out[1]};
  }

  static variable_list backward(AutogradContext* context, variable_list from) {
    variable_list gradients = context->get_saved_variables();
    for (at::Tensor& gradient : gradients)
      if (gradient.defined())
        gradient = gradient * from[0].to(c10::toRealValueType(gradient.scalar_type()));
    gradients.emplace_back();  // the setting
    return gradients;
  }
};

/// The function's arguments are defined tensors: an empty one stands for no background.
variable_list apply(const at::Tensor& picture, const at::Tensor& probe, const Setting& setting,
                    const at::Tensor& background) {
  return FusedLoss::apply(picture, probe, background.defined() ? background : at::empty({0}),
                          setting.layout.corners, setting.layout.fractions, &setting);
}

}  // namespace

GroupLoss fused_group_loss(const at::Tensor& patches, const at::Tensor& merged,
                           const at::Tensor& probe, const CanvasLayout& layout,
                           const Measured& measured, const LossOptions& options) {
  const Setting setting{layout, merged, measured.counts, measured.mask, options};
  const variable_list out = apply(patches, probe, setting, measured.background);
  return {out[0], out[1].item<double>()};
}

at::Tensor fused_object_loss(const at::Tensor& object, const at::Tensor& probe,
                             const CanvasLayout& layout, const Measured& measured,
                             const LossOptions& options) {
  const Setting setting{layout, {}, measured.counts, measured.mask, options};
  return apply(object, probe, setting, measured.background)[0];
}

}  // namespace ptyche
