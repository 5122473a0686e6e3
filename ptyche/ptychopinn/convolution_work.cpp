#include "ptyche/ptychopinn/convolution_work.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <string_view>

namespace ptyche {
namespace {

/// LibTorch's callback is a bare function, so what it adds to has to be found from anywhere.
double& counter() {
  thread_local double flops = 0;
  return flops;
}

/// Every pixel of the output meets every weight of one of its channels.
double flops_of(const at::Tensor& image, const at::Tensor& weight, at::IntArrayRef stride) {
  auto pixels = static_cast<double>(image.size(0));
  for (std::int64_t axis = 2; axis < image.dim(); ++axis) {
    // One stride may stand for all axes.
    const std::int64_t step = stride[stride.size() == 1 ? 0 : static_cast<std::size_t>(axis - 2)];
    pixels *= static_cast<double>(image.size(axis)) / static_cast<double>(step);
  }
  return 2 * pixels * static_cast<double>(weight.numel());
}

/// aten::convolution(input, weight, bias, stride, ...) and aten::convolution_backward(by_output,
/// input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask).
std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  const auto inputs = call.inputs();
  if (name == "aten::convolution" && inputs.size() > 3)
    counter() += flops_of(inputs[0].toTensor(), inputs[1].toTensor(), inputs[3].toIntVector());
  if (name == "aten::convolution_backward" && inputs.size() > 10) {
    const auto mask = inputs[10].toBoolList();
    counter() += (static_cast<int>(mask[0]) + static_cast<int>(mask[1])) *
                 flops_of(inputs[1].toTensor(), inputs[2].toTensor(), inputs[4].toIntVector());
  }
  return nullptr;
}

/// While it lives, this thread's convolutions are counted.
struct Counting {
  Counting()
      : handle(
            at::addThreadLocalCallback(at::RecordFunctionCallback(count).needsInputs(true).scopes(
                {at::RecordScope::FUNCTION}))) {}
  ~Counting() { at::removeCallback(handle); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  at::CallbackHandle handle;
};

}  // namespace

double convolution_flops(const std::function<void()>& work) {
  counter() = 0;
  const Counting counting;
  work();
  return counter();
}

}  // namespace ptyche
