#include "ptyche/model/precision.h"

#include <ATen/autocast_mode.h>

#include <fstream>
#include <sstream>

#include "ptyche/core/error.h"

namespace ptyche {

Precision precision_from(const std::string& name) {
  if (name == "auto") return Precision::automatic;
  if (name == "float32") return Precision::float32;
  if (name == "bfloat16") return Precision::bfloat16;
  throw InvalidInput(fmt::format("precision: expected auto, float32 or bfloat16, found {}", name));
}

std::string to_string(Precision precision) {
  if (precision == Precision::automatic) return "auto";
  return precision == Precision::float32 ? "float32" : "bfloat16";
}

bool processor_has_fast_bfloat16() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(line);
    for (std::string flag; flags >> flag;)
      if (flag == "avx512_bf16" || flag == "amx_bf16") return true;
    return false;
  }
  return false;
}

Autocast::Autocast(Precision precision)
    : active_(precision == Precision::bfloat16 ||
              (precision == Precision::automatic && processor_has_fast_bfloat16())) {
  if (!active_) return;
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
}

Autocast::~Autocast() {
  if (!active_) return;
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
}

Field precision_field(Precision& precision) {
  return {
      .name = "precision",
      .target = choice(precision, {{"auto", Precision::automatic},
                                   {"float32", Precision::float32},
                                   {"bfloat16", Precision::bfloat16}}),
      .help = "of the network's arithmetic; auto = bfloat16 where the processor is faster with it"};
}

}  // namespace ptyche
