// How the physics is computed: one meaning, two engines.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "ptyche/core/field.h"

namespace ptyche {

enum class Engine {
  fused,      ///< hand-written forward and backward in one pass over memory
  reference,  ///< LibTorch operations and autograd: obvious before fast
};

std::string to_string(Engine engine);

/// Where the physics is computed, its data living in the CPU's memory in any case.
enum class ComputeDevice {
  cpu,
  cuda,  ///< first NVIDIA GPU, fused engine only; the network stays on the CPU
};

/// The options --engine and --device of everything that computes physics. `auto` is the CPU: every
/// call to the GPU copies its inputs there and its gradients back, and it has not been measured
/// where that pays.
Field engine_field(Engine& engine);
Field device_field(ComputeDevice& device);

/// What one engine does, in words, for `ptyche info --engines`.
struct EngineCoverage {
  Engine engine;
  std::string operators, number_types, devices, sizes, limits;
};
std::vector<EngineCoverage> engine_coverage();

/// Throws InvalidInput that names the case and the engine that covers it, where the fused engine
/// does not cover complex numbers like `transmission`'s in patterns of `size` pixels a side on
/// `device`, the detector in the far or the near field, and says what is missing (plug-in, GPU)
/// where this machine does not have the device.
void require_fused_covers(const at::Tensor& transmission, std::int64_t size, ComputeDevice device,
                          bool near_field);

/// Throws InvalidInput that says what is missing where `engine` cannot compute on `device` here.
void require_device(Engine engine, ComputeDevice device);

}  // namespace ptyche
