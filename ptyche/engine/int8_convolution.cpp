#include "ptyche/engine/int8_convolution.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/processor.h"

namespace ptyche {
namespace {

const std::vector<std::int64_t> kOnes{1, 1};  // stride, border, spacing of a 3 x 3 convolution
constexpr double kLargestByte = 127;

/// An operator of LibTorch's oneDNN, which its C++ headers do not declare.
at::Tensor call(const char* name, std::vector<c10::IValue> arguments) {
  const auto found = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  found.callBoxed(arguments);
  return arguments[0].toTensor();
}

}  // namespace

bool processor_multiplies_bytes() {
  static const bool does = processor_has_any({"avx512_vnni", "avx_vnni"});
  return does;
}

Int8Convolution::Int8Convolution(const at::Tensor& weight, const at::Tensor& bias,
                                 const ByteUnits& units)
    : units_(units),
      scale_((weight.abs().amax({1, 2, 3}) / kLargestByte).clamp_min(1e-30)),
      zero_(at::zeros({weight.size(0)}, at::kLong)),
      bias_(bias) {
  const at::Tensor whole = (weight / scale_.view({-1, 1, 1, 1})).round().to(at::kChar);
  weight_ =
      call("onednn::qconv_prepack", {whole.contiguous(), scale_, 1 / units.per_unit, units.zero,
                                     kOnes, kOnes, kOnes, std::int64_t{1}, c10::IValue()});
}

at::Tensor Int8Convolution::operator()(const at::Tensor& bytes, at::ScalarType type) const {
  return call(
      "onednn::qconv2d_pointwise",
      {bytes, 1 / units_.per_unit, units_.zero, weight_, scale_, zero_, bias_, kOnes, kOnes, kOnes,
       std::int64_t{1}, 1.0, std::int64_t{0}, c10::IValue(static_cast<std::int64_t>(type)),
       std::string("none"), c10::List<std::optional<at::Scalar>>(), c10::IValue()});
}

}  // namespace ptyche
