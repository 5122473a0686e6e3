// Number type of the network's arithmetic; weights and physics are always float32.
#pragma once

#include <string>

#include "ptyche/core/field.h"

namespace ptyche {

enum class Precision { automatic, float32, bfloat16 };

/// "auto", "float32" or "bfloat16". Throws InvalidInput listing them.
Precision precision_from(const std::string& name);
std::string to_string(Precision precision);

/// The option --precision of everything that runs a network.
Field precision_field(Precision& precision);

/// True if the processor multiplies bfloat16 faster than float32 (AMX or AVX-512 BF16).
bool processor_has_fast_bfloat16();

/// While it lives, network layers run in bfloat16 if asked for, or if automatic and fast here.
class Autocast {
 public:
  explicit Autocast(Precision precision);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool active_;
};

}  // namespace ptyche
