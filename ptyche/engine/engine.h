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

/// The option --engine of everything that computes physics.
Field engine_field(Engine& engine);

/// The option --device: where data and arithmetic are, the CPU (`auto` too) or the first NVIDIA
/// GPU, `cuda`. It decides where the data goes, and where the data is, is computed: beyond the CPU
/// by the reference engine, whatever --engine says. The result is the same to rounding.
Field device_field(at::Device& device);

/// Throws InvalidInput that says what is missing, the build or the GPU, where this program cannot
/// use the device.
void require_device(at::Device device);

/// What one engine does, in words, for `ptyche info --engines`.
struct EngineCoverage {
  Engine engine;
  std::string operators, number_types, devices, sizes, limits;
};
std::vector<EngineCoverage> engine_coverage();

/// Throws InvalidInput that names the case and the engine that covers it, where the fused engine
/// does not cover complex numbers like `transmission`'s in patterns of `size` pixels a side.
void require_fused_covers(const at::Tensor& transmission, std::int64_t size);

}  // namespace ptyche
