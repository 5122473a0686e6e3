// The plug-in: the kernels of the fused loss, compiled for the GPU, behind a table of functions.
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>

#include "ptyche/engine/cuda/host_call.h"
#include "ptyche/engine/cuda/machine.cuh"
#include "ptyche/engine/cuda/plugin_table.h"

namespace ptyche::cuda {

/// fused_loss of pointers that lie in device memory already; returns when the work is queued.
/// `canvas_of` lies on the host.
template void fused_loss(const Problem<float>&, Machine&, const std::int64_t*, std::int64_t);
template void fused_loss(const Problem<double>&, Machine&, const std::int64_t*, std::int64_t);

namespace {

/// The first device's machine, made at first use. It is never destroyed: at the end of the process
/// the driver may be gone before it.
Machine& machine() {
  static Machine* const only = [] {
    check(cudaSetDevice(0), "choose the first device");
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
    return std::make_unique<Machine>(stream).release();
  }();
  return *only;
}

std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

template <class Work>
bool guarded(char* text, std::size_t bytes, const Work& work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    std::snprintf(text, bytes, "%s", error.what());
    return false;
  }
}

bool device(char* text, std::size_t bytes) {
  return guarded(text, bytes, [&] {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
      throw std::runtime_error(std::string("CUDA: found no GPU that its driver offers here (") +
                               cudaGetErrorString(status) + ")");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "ask the GPU");
    std::snprintf(text, bytes, "%s, %zu MiB", properties.name, properties.totalGlobalMem >> 20);
  });
}

template <class T>
bool loss(const cpu::LossInputs<T>& call, cpu::LossResult& result, char* text, std::size_t bytes) {
  return guarded(text, bytes, [&] {
    const std::lock_guard lock(one_at_a_time());
    check(cudaSetDevice(0), "choose the first device");  // it is chosen thread by thread
    machine().begin();
    result = fused_loss_from_host(call, machine());
  });
}

}  // namespace
}  // namespace ptyche::cuda

extern "C" __attribute__((visibility("default"))) const ptyche::cuda::PluginTable*
ptyche_cuda_plugin() {
  static const ptyche::cuda::PluginTable table = [] {
    ptyche::cuda::PluginTable made;
    made.device = ptyche::cuda::device;
    made.loss_float = ptyche::cuda::loss<float>;
    made.loss_double = ptyche::cuda::loss<double>;
    return made;
  }();
  return &table;
}
