#include "ptyche/engine/cuda/device_kernels.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"

namespace ptyche::cuda {

/// PTX, empty in a program that is built for CPUs (cmake/DeviceKernels.cmake).
std::string_view kernel_code();

namespace {

/// The part of the driver's interface that launches kernels, as its reference manual declares it
/// (CUDA Driver API, sections 6.8, 6.10, 6.22); the program is built without CUDA's headers.
struct Driver {
  int (*device_get)(int* device, int ordinal) = nullptr;
  int (*primary_context)(void** context, int device) = nullptr;
  int (*current_context)(void** context) = nullptr;
  int (*use_context)(void* context) = nullptr;
  int (*load)(void** module, const void* code) = nullptr;
  int (*function)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned shared, void* stream, void** arguments, void** extra) = nullptr;
  bool whole = false;
};

Driver open_driver() {
  Driver driver;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return driver;
  driver.whole = true;
  const auto find = [&](auto& to, const char* name) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, name));
    driver.whole = driver.whole && to != nullptr;
  };
  find(driver.device_get, "cuDeviceGet");
  find(driver.primary_context, "cuDevicePrimaryCtxRetain");
  find(driver.current_context, "cuCtxGetCurrent");
  find(driver.use_context, "cuCtxSetCurrent");
  find(driver.load, "cuModuleLoadData");
  find(driver.function, "cuModuleGetFunction");
  find(driver.launch, "cuLaunchKernel");
  return driver;
}

const Driver& driver() {
  static const Driver found = open_driver();
  return found;
}

/// LibTorch's own context of the device, in this thread.
void enter(at::Device device) {
  void* context = nullptr;
  if (driver().current_context(&context) == 0 && context != nullptr) return;
  int number = 0;
  require(driver().device_get(&number, device.index()) == 0 &&
              driver().primary_context(&context, number) == 0 && driver().use_context(context) == 0,
          "--device cuda: the driver does not give access to GPU {}", device.index());
}

/// The kernels as the driver has them for one GPU; null where it refuses them.
void* module_of(at::Device device) {
  static std::mutex mutex;
  static std::map<int, void*> modules;
  const std::scoped_lock lock(mutex);
  const auto [place, is_new] = modules.try_emplace(device.index(), nullptr);
  if (!is_new) return place->second;
  enter(device);
  const std::string code(kernel_code());
  const int status = driver().load(&place->second, code.c_str());
  if (status != 0)
    note("the driver refuses the program's own kernels (CUDA error {}); LibTorch's are used",
         status);
  return place->second;
}

/// A kernel's arguments, by their addresses.
template <class... Arguments>
void launch(at::Device device, const char* name, std::int64_t blocks, unsigned threads,
            Arguments... arguments) {
  enter(device);
  void* function = nullptr;
  std::array<void*, sizeof...(Arguments)> addresses{&arguments...};
  const c10::impl::VirtualGuardImpl guard(device.type());
  void* const stream = guard.getStream(device).native_handle();
  int status = driver().function(&function, module_of(device), name);
  if (status == 0)
    status = driver().launch(function, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0,
                             stream, addresses.data(), nullptr);
  require(status == 0, "--device cuda: kernel {} failed (CUDA error {})", name, status);
}

constexpr std::int64_t kSide = 64;             // of the kernel's patterns
constexpr std::int64_t kFeaturesTogether = 8;  // that one thread has
constexpr std::int64_t kNormThreads = 256, kMostFeatures = 512;

}  // namespace

bool has_kernels(at::Device device) {
  return device.is_cuda() && !kernel_code().empty() && driver().whole &&
         module_of(device) != nullptr;
}

bool covers_single_pattern(const at::Tensor& probes) {
  return probes.scalar_type() == at::kComplexFloat && probes.size(0) > 0 && probes.size(1) == 1 &&
         probes.size(-1) == kSide && has_kernels(probes.device());
}

at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& amplitudes,
                                  const at::Tensor& mask, const std::vector<std::int64_t>& steps,
                                  double regularisation, double floor) {
  const at::Tensor waves = probes.contiguous(), measured = amplitudes.contiguous();
  const at::Tensor counted = mask.contiguous();
  const at::Tensor kept = at::tensor(steps, at::kInt).to(probes.device());
  const auto count = static_cast<int>(steps.size());
  at::Tensor objects = at::empty({probes.size(0), count, kSide, kSide}, probes.options());
  launch(probes.device(), "single_pattern_64", probes.size(0), kSide * kSide / 8,
         waves.const_data_ptr(), measured.const_data_ptr(), counted.const_data_ptr(),
         kept.const_data_ptr(), count, static_cast<float>(regularisation),
         static_cast<float>(floor), objects.mutable_data_ptr());
  return objects;
}

bool covers_group_norm_gelu(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight) {
  const bool type = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  return type && x.dim() == 4 && x.numel() > 0 && weight.scalar_type() == at::kFloat &&
         x.size(1) % kFeaturesTogether == 0 && x.size(1) <= kMostFeatures &&
         x.size(1) % groups == 0 && x.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         has_kernels(x.device());
}

at::Tensor group_norm_gelu(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight,
                           const at::Tensor& bias, double eps) {
  at::Tensor y = at::empty_like(x);
  const auto features = static_cast<int>(x.size(1));
  const bool single = x.scalar_type() == at::kFloat;
  launch(x.device(), single ? "group_norm_gelu_float" : "group_norm_gelu_bfloat16", x.size(0),
         kNormThreads, x.const_data_ptr(), weight.const_data_ptr(), bias.const_data_ptr(),
         static_cast<int>(x.size(2) * x.size(3)), features, static_cast<int>(groups),
         static_cast<float>(eps), y.mutable_data_ptr());
  return y;
}

at::Tensor overlap_products(const at::Tensor& patches, const at::Tensor& roots,
                            const at::Tensor& corners, const at::Tensor& pairs) {
  constexpr unsigned kThreads = 256;
  const at::Tensor listed = pairs.contiguous();
  at::Tensor products = at::empty({pairs.size(0)}, patches.options().dtype(at::kComplexDouble));
  launch(patches.device(), "overlap_products", pairs.size(0), kThreads, patches.const_data_ptr(),
         roots.const_data_ptr(), corners.const_data_ptr(), listed.const_data_ptr(),
         static_cast<int>(patches.size(1)), products.mutable_data_ptr());
  return products;
}

}  // namespace ptyche::cuda
