#include "ptyche/engine/int8_convolution.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/processor.h"

namespace ptyche {
namespace {

constexpr double kLargestByte = 127;

/// Of LibTorch's oneDNN, which its C++ headers do not declare; a build may be without them.
using Operator = std::optional<c10::OperatorHandle>;

const Operator& weights_in_order() {
  static const Operator found =
      c10::Dispatcher::singleton().findSchema({"onednn::qconv_prepack", ""});
  return found;
}

const Operator& convolution() {
  static const Operator found =
      c10::Dispatcher::singleton().findSchema({"onednn::qconv2d_pointwise", ""});
  return found;
}

at::Tensor call(const Operator& each, std::vector<c10::IValue> arguments) {
  each->callBoxed(arguments);
  return arguments[0].toTensor();
}

/// Stride, border and spacing of a 3 x 3 convolution.
c10::IValue ones() { return c10::IValue(c10::List<std::int64_t>({1, 1})); }

}  // namespace

bool processor_multiplies_bytes() {
  static const bool does =
      processor_has_any({"avx512_vnni", "avx_vnni"}) && weights_in_order() && convolution();
  return does;
}

Int8Convolution::Int8Convolution(const at::Tensor& weight, const at::Tensor& bias,
                                 const ByteUnits& units)
    : units_(units),
      scale_((weight.abs().amax({1, 2, 3}) / kLargestByte).clamp_min(1e-30)),
      zero_(at::zeros({weight.size(0)}, at::kLong)),
      bias_(bias) {
  const at::Tensor whole = (weight / scale_.view({-1, 1, 1, 1})).round().to(at::kChar);
  weight_ = call(weights_in_order(), {whole.contiguous(), scale_, 1 / units.per_unit, units.zero,
                                      ones(), ones(), ones(), std::int64_t{1}, c10::IValue()});
}

at::Tensor Int8Convolution::operator()(const at::Tensor& bytes, at::ScalarType type) const {
  return call(convolution(), {bytes, 1 / units_.per_unit, units_.zero, weight_, scale_, zero_,
                              bias_, ones(), ones(), ones(), std::int64_t{1}, 1.0, std::int64_t{0},
                              c10::IValue(static_cast<std::int64_t>(type)), std::string("none"),
                              c10::List<std::optional<at::Scalar>>(), c10::IValue()});
}

}  // namespace ptyche
