// The number types in which a network's layers work.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "ptyche/core/field.h"

namespace ptyche {

enum class Precision {
  automatic,  ///< what is fastest here
  float32,
  bfloat16,
  int8,  ///< bytes where the network has layers for them, elsewhere bfloat16 if that is fast here
};

/// "auto", "float32", "bfloat16" or "int8".
std::string to_string(Precision precision);

/// The option --precision of what trains a network, and of what only runs one, which knows int8.
Field precision_field(Precision& precision);
Field inference_precision_field(Precision& precision);

/// True if the processor multiplies bfloat16 faster than float32 (AMX or AVX-512 BF16).
bool processor_has_fast_bfloat16();

/// While it lives, network layers on `device` run in bfloat16 if asked for, or if automatic or int8
/// and fast there; else in float32.
class Autocast {
 public:
  explicit Autocast(Precision precision, at::Device device = at::kCPU);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool active_;
};

}  // namespace ptyche
