// How the physics is computed: one meaning, two engines.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace ptyche {

enum class Engine {
  fused,      ///< hand-written forward and backward in one pass over memory
  reference,  ///< LibTorch operations and autograd: obvious before fast
};

std::string to_string(Engine engine);
/// Throws InvalidInput listing the names that exist.
Engine engine_from(const std::string& name);

/// What one engine does, in words, for `ptyche info --engines`.
struct EngineCoverage {
  Engine engine;
  std::string operators, number_types, devices, sizes, limits;
};
std::vector<EngineCoverage> engine_coverage();

/// Throws InvalidInput that names the case and the engine that covers it, where the fused engine
/// does not cover patches like `patches` (k, N, N).
void require_fused_covers(const at::Tensor& patches);

}  // namespace ptyche
