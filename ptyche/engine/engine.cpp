#include "ptyche/engine/engine.h"

#include "ptyche/core/error.h"
#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cuda/plugin.h"

namespace ptyche {

std::string to_string(Engine engine) { return engine == Engine::fused ? "fused" : "reference"; }

std::vector<EngineCoverage> engine_coverage() {
  return {
      {.engine = Engine::fused,
       .operators =
           "merge, extract, exit wave, far and near field, background, mask, Poisson and amplitude "
           "loss; gradients by patch, object, probe, position, background; the projections of "
           "single patterns that networks start from (on the CPU, with its sizes)",
       .number_types = "complex64, complex128",
       .devices =
           fmt::format("CPU ({} kernels); CUDA for the physics, the network stays on the CPU "
                       "({})",
                       cpu::kernels<float>().name, cuda::describe_device()),
       .sizes =
           fmt::format("N with no prime factor above {} on the CPU (a large one is slow: its own "
                       "length per pixel), any on CUDA",
                       cpu::kLargestRadix),
       .limits = "first derivatives; CUDA: far field only"},
      {.engine = Engine::reference,
       .operators = "every operator, translate and warp among them",
       .number_types = "complex64, complex128",
       .devices = "CPU",
       .sizes = "any even N",
       .limits = "ten times slower"}};
}

void require_device(Engine engine, ComputeDevice device) {
  if (device == ComputeDevice::cpu) return;
  require(engine == Engine::fused,
          "engine reference: this build computes it on the CPU only; --engine fused covers "
          "--device cuda");
  with_context("--device cuda", [] { cuda::require_device(); });
}

void require_fused_covers(const at::Tensor& transmission, std::int64_t size, ComputeDevice device,
                          bool near_field) {
  require(device == ComputeDevice::cpu || !near_field,
          "engine fused: CUDA covers the far field only; --device cpu covers the near field");
  require_device(Engine::fused, device);
  require(device == ComputeDevice::cuda || cpu::has_fft(size),
          "engine fused: patterns of {0} x {0} have a prime factor above {1}; --engine reference "
          "covers them",
          size, cpu::kLargestRadix);
  require(transmission.device().is_cpu(),
          "engine fused: expected numbers in the memory of the CPU, found them on {}",
          transmission.device().str());
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

Field device_field(ComputeDevice& device) {
  return {
      .name = "device",
      .target = choice(device, {{"auto", ComputeDevice::cpu},
                                {"cpu", ComputeDevice::cpu},
                                {"cuda", ComputeDevice::cuda}}),
      .help = "processor for the physics of training; the network stays on the CPU, auto is cpu"};
}

}  // namespace ptyche
