#include "ptyche/engine/engine.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "ptyche/core/error.h"
#include "ptyche/engine/cpu/kernels.h"

namespace ptyche {

std::string to_string(Engine engine) { return engine == Engine::fused ? "fused" : "reference"; }

std::vector<EngineCoverage> engine_coverage() {
  return {
      {.engine = Engine::fused,
       .operators =
           "merge, extract, exit wave, far and near field, background, mask, Poisson and amplitude "
           "loss; gradients by patch, object, probe, position, background; the projections of "
           "single patterns that networks start from; tilts of exit waves (far field)",
       .number_types = "complex64, complex128",
       .devices = fmt::format("CPU ({} kernels)", cpu::kernels<float>().name),
       .sizes = fmt::format("N with no prime factor above {} (a large one is slow: its own length "
                            "per pixel)",
                            cpu::kLargestRadix),
       .limits = "first derivatives"},
      {.engine = Engine::reference,
       .operators = "every operator, translate and warp among them",
       .number_types = "complex64, complex128",
       .devices = "CPU; CUDA (--device cuda)",
       .sizes = "any even N",
       .limits = "ten times slower"}};
}

void require_device(at::Device device) {
  if (!device.is_cuda()) return;
  require(c10::impl::hasDeviceGuardImpl(at::kCUDA),
          "--device cuda: this program is built for CPUs; {} makes one for NVIDIA GPUs",
          "./run build cuda");
  require(c10::impl::getDeviceGuardImpl(at::kCUDA)->deviceCount() > 0,
          "--device cuda: no NVIDIA GPU was found; {} shows what the driver finds", "nvidia-smi");
}

void require_fused_covers(const at::Tensor& transmission, std::int64_t size) {
  require(cpu::has_fft(size),
          "engine fused: patterns of {0} x {0} have a prime factor above {1}; --engine reference "
          "covers them",
          size, cpu::kLargestRadix);
  require(transmission.scalar_type() == at::kComplexFloat ||
              transmission.scalar_type() == at::kComplexDouble,
          "engine fused: expected complex64 or complex128, found {}; --engine reference "
          "covers them",
          at::toString(transmission.scalar_type()));
}

Field engine_field(Engine& engine) {
  return {.name = "engine",
          .target = choice(engine, {{"fused", Engine::fused}, {"reference", Engine::reference}}),
          .help = "implementation of the physics (ptyche info --engines)"};
}

Field device_field(at::Device& device) {
  std::vector<std::pair<std::string, at::Device>> words{{"auto", at::Device(at::kCPU)},
                                                        {"cpu", at::Device(at::kCPU)},
                                                        {"cuda", at::Device(at::kCUDA, 0)}};
  // Code may have chosen another one.
  if (!device.is_cpu() && !device.is_cuda()) words.emplace_back(device.str(), device);
  return {.name = "device",
          .target = choice(device, words),
          .help =
              "processor for data and arithmetic; cuda needs ./run build cuda and an NVIDIA "
              "GPU, auto is cpu",
          .affects_result = false};
}

}  // namespace ptyche
