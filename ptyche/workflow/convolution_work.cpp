#include "ptyche/workflow/convolution_work.h"

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

/// Products of one convolution: every number of the smaller image meets every weight of a channel.
double flops_of(const at::Tensor& image, const at::Tensor& weight, bool transposed,
                at::IntArrayRef stride) {
  double pixels = static_cast<double>(image.size(0));
  for (std::int64_t axis = 2; axis < image.dim(); ++axis) {
    const auto side = static_cast<double>(image.size(axis));
    // One stride may stand for all axes.
    const std::int64_t step = stride[stride.size() == 1 ? 0 : static_cast<std::size_t>(axis - 2)];
    pixels *= transposed ? side : side / static_cast<double>(step);
  }
  return 2 * pixels * static_cast<double>(weight.numel());
}

/// aten::convolution(input, weight, bias, stride, padding, dilation, transposed, ...) and
/// aten::convolution_backward(by_output, input, weight, bias_sizes, stride, padding, dilation,
/// transposed, output_padding, groups, output_mask).
std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  const auto inputs = call.inputs();
  if (name == "aten::convolution" && inputs.size() > 6)
    counter() += flops_of(inputs[0].toTensor(), inputs[1].toTensor(), inputs[6].toBool(),
                          inputs[3].toIntVector());
  if (name == "aten::convolution_backward" && inputs.size() > 10) {
    const auto mask = inputs[10].toBoolList();
    counter() += (static_cast<int>(mask[0]) + static_cast<int>(mask[1])) *
                 flops_of(inputs[1].toTensor(), inputs[2].toTensor(), inputs[7].toBool(),
                          inputs[4].toIntVector());
  }
  return nullptr;
}

}  // namespace

double convolution_flops(const std::function<void()>& work) {
  counter() = 0;
  const at::CallbackHandle handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(count).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return counter();
}

}  // namespace ptyche
