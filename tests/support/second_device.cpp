#include "tests/support/second_device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ptyche {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;
at::Device the_device() { return {kType, 0}; }
std::atomic<std::int64_t> copies_there{0}, copies_back{0};

/// Host memory that says it is the device's.
class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &free_memory, the_device()};
    void* memory = c10::alloc_cpu(bytes);
    return {memory, memory, &free_memory, the_device()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_memory; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  static void free_memory(void* memory) {
    if (memory) c10::free_cpu(memory);
  }
};
Memory memory;

/// One device, one stream.
struct Guard final : c10::impl::NoOpDeviceGuardImpl<kType> {
  c10::Device exchangeDevice(c10::Device) const override { return the_device(); }
  c10::Device getDevice() const override { return the_device(); }
  c10::Stream getStream(c10::Device) const noexcept override { return only_stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return only_stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return only_stream(); }

 private:
  static c10::Stream only_stream() noexcept {
    return c10::Stream(c10::Stream::DEFAULT, the_device());
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    static const at::Generator generator = at::detail::createCPUGenerator();
    return generator;
  }
};

bool is_there(const at::Tensor& tensor) { return tensor.device().type() == kType; }

/// The same memory as a tensor of the CPU.
at::Tensor on_host(const at::Tensor& tensor) {
  if (!tensor.defined() || !is_there(tensor)) return tensor;
  const c10::Storage& storage = tensor.storage();
  at::Tensor host = at::empty({0}, tensor.options().device(at::kCPU));
  host.unsafeGetTensorImpl()->set_storage_keep_dtype(
      c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(),
                   c10::DataPtr(const_cast<void*>(storage.data()), c10::Device(at::kCPU)),
                   c10::GetAllocator(at::kCPU), /*resizable=*/true));
  host.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                    tensor.storage_offset());
  host._set_conj(tensor.is_conj());
  host._set_neg(tensor.is_neg());
  return host;
}

/// A tensor there with the shape, layout and flags of `host`, in `storage`.
at::Tensor tensor_there(const at::Tensor& host, c10::Storage storage) {
  at::Tensor there = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), host.dtype());
  there.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(),
                                                     host.storage_offset());
  there._set_conj(host.is_conj());
  there._set_neg(host.is_neg());
  return there;
}

c10::Storage storage_like(const at::Tensor& host) {
  const std::size_t bytes = host.storage().nbytes();
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, memory.allocate(bytes), &memory,
                       /*resizable=*/true);
  if (bytes > 0) std::memcpy(storage.mutable_data(), host.storage().data(), bytes);
  return storage;
}

/// Operands of one call: each tensor there and its counterpart on the host.
class Operands {
 public:
  Operands(const c10::OperatorHandle& op, torch::jit::Stack* stack) : op_(op) {
    const std::size_t count = op.schema().arguments().size();
    for (std::size_t i = stack->size() - count; i < stack->size(); ++i) lend((*stack)[i]);
    refuse_mixed();
  }

  /// What the operator has returned as values there.
  void take_back(torch::jit::Stack* stack) {
    for (const auto& [there, host] : lent_) follow(there, host);
    const std::size_t count = op_.schema().returns().size();
    for (std::size_t i = stack->size() - count; i < stack->size(); ++i) give((*stack)[i]);
  }

 private:
  void lend(c10::IValue& value) {
    if (value.isTensor()) {
      value = lend(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(lend(tensor));
      value = list;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
        list.push_back(tensor ? std::optional(lend(*tensor)) : std::nullopt);
      value = list;
    } else if (value.isDevice() && value.toDevice().type() == kType) {
      value = c10::Device(at::kCPU);
      makes_there_ = true;
    }
  }

  at::Tensor lend(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (!is_there(tensor)) {
      if (tensor.dim() > 0) strange_ = tensor;
      return tensor;
    }
    for (const auto& [there, host] : lent_)
      if (there.is_same(tensor)) return host;
    lent_.emplace_back(tensor, on_host(tensor));
    return lent_.back().second;
  }

  void refuse_mixed() const {
    TORCH_CHECK(!strange_.defined() || (lent_.empty() && !makes_there_),
                toString(op_.schema().operator_name()), ": operands on ", the_device(), " and on ",
                strange_.device(), ", there of sizes ", strange_.sizes());
  }

  /// An output that the operator has resized.
  static void follow(const at::Tensor& there, const at::Tensor& host) {
    if (host.storage().data() != there.storage().data())
      there.unsafeGetTensorImpl()->set_storage_keep_dtype(storage_like(host));
    if (host.sizes() != there.sizes() || host.strides() != there.strides() ||
        host.storage_offset() != there.storage_offset())
      there.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(),
                                                         host.storage_offset());
  }

  void give(c10::IValue& value) const {
    if (value.isTensor()) {
      value = give(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(give(tensor));
      value = list;
    }
  }

  /// The operand itself, a view of an operand, or something new.
  at::Tensor give(const at::Tensor& result) const {
    if (!result.defined() || (lent_.empty() && !makes_there_)) return result;
    for (const auto& [there, host] : lent_)
      if (host.is_same(result)) return there;
    for (const auto& [there, host] : lent_)
      if (result.storage().data() && result.storage().data() == there.storage().data())
        return tensor_there(result, there.storage());
    return tensor_there(result, storage_like(result));
  }

  const c10::OperatorHandle& op_;
  std::vector<std::pair<at::Tensor, at::Tensor>> lent_;
  at::Tensor strange_;
  bool makes_there_ = false;
};

/// Before anything else runs: autograd counts the devices when it is first used.
const bool ready = [] {
  if (std::getenv("PTYCHE_TEST_DEVICE") != nullptr) return false;  // it would be LibTorch's one
  static Guard guard;
  static Hooks hooks;
  c10::register_privateuse1_backend("second");
  c10::SetAllocator(kType, &memory);
  c10::impl::registerDeviceGuard(kType, &guard);
  at::RegisterPrivateUse1HooksInterface(&hooks);
  return true;
}();

/// Every operator that has no kernel of its own below: the CPU's, on the same memory.
void by_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Operands operands(op, stack);
  op.callBoxed(stack);
  operands.take_back(stack);
}

at::Tensor empty_there(at::IntArrayRef size, std::optional<at::ScalarType> type,
                       std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                       std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &memory,
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   type.value_or(at::kFloat), format);
}

at::Tensor empty_strided_there(at::IntArrayRef size, at::IntArrayRef stride,
                               std::optional<at::ScalarType> type, std::optional<at::Layout>,
                               std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &memory,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           type.value_or(at::kFloat));
}

/// The only way between the two memories.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  if (is_there(from) != is_there(to)) ++(is_there(to) ? copies_there : copies_back);
  on_host(to).copy_(on_host(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

void require_there(const char* op, std::initializer_list<at::Tensor> operands) {
  for (const at::Tensor& operand : operands)
    TORCH_CHECK(!operand.defined() || is_there(operand), op, ": operands on ", the_device(),
                " and on ", operand.device());
}

at::Tensor given(const at::Tensor& host) {
  return host.defined() ? tensor_there(host, storage_like(host)) : host;
}

/// LibTorch has no convolution for unknown devices.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, std::int64_t groups) {
  require_there("convolution", {input, weight, bias.value_or(at::Tensor())});
  const at::Tensor offsets = on_host(bias.value_or(at::Tensor()));
  return given(at::convolution(on_host(input), on_host(weight),
                               offsets.defined() ? std::optional(offsets) : std::nullopt, stride,
                               padding, dilation, transposed, output_padding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& slope, const at::Tensor& input, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, std::int64_t groups, std::array<bool, 3> wanted) {
  require_there("convolution_backward", {slope, input, weight});
  const std::vector<std::int64_t> offsets{weight.size(transposed ? 1 : 0) *
                                          (transposed ? groups : 1)};
  const auto [by_input, by_weight, by_bias] = at::convolution_backward(
      on_host(slope), on_host(input), on_host(weight), at::OptionalIntArrayRef(offsets), stride,
      padding, dilation, transposed, output_padding, groups, wanted);
  return {given(by_input), given(by_weight), given(by_bias)};
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&by_the_cpu>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty_there);
  library.impl("empty_strided", &empty_strided_there);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  // What LibTorch has for any device wants its operand contiguous; the kernels of CPU and GPU do
  // not.
  library.impl("native_group_norm", torch::CppFunction::makeFromBoxedFunction<&by_the_cpu>());
  library.impl("convolution_overrideable", &convolution);
  library.impl("convolution_backward_overrideable", &convolution_backward);
}

/// Copies write conjugates and negatives out, and to do so are made of this.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace

at::Device second_device() {
  static const char* const name = std::getenv("PTYCHE_TEST_DEVICE");
  return name == nullptr ? the_device() : at::Device(at::Device(name).type(), 0);
}

double allowed(double rounding) {
  return second_device() == the_device() ? rounding : std::min(1000 * rounding, 0.01);
}

bool counts_transfers() { return second_device() == the_device(); }

TransferCounts transfers() { return {copies_there, copies_back}; }

}  // namespace ptyche
