#include "ptyche/model/precision.h"

#include <ATen/autocast_mode.h>

#include <utility>
#include <vector>

#include "ptyche/core/processor.h"

namespace ptyche {

std::string to_string(Precision precision) {
  switch (precision) {
    case Precision::automatic:
      break;
    case Precision::float32:
      return "float32";
    case Precision::bfloat16:
      return "bfloat16";
    case Precision::int8:
      return "int8";
  }
  return "auto";
}

bool processor_has_fast_bfloat16() {
  static const bool has = processor_has_any({"avx512_bf16", "amx_bf16"});
  return has;
}

namespace {

/// GPUs are (Ampere and later).
bool automatic_is_bfloat16(at::Device device) {
  return device.is_cuda() || (device.is_cpu() && processor_has_fast_bfloat16());
}

}  // namespace

Autocast::Autocast(Precision precision, at::Device device)
    : device_(device.type()),
      active_(precision == Precision::bfloat16 ||
              (precision != Precision::float32 && automatic_is_bfloat16(device))) {
  if (!active_) return;
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
}

Autocast::~Autocast() {
  if (!active_) return;
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, false);
}

namespace {

using NamedPrecisions = std::vector<std::pair<std::string, Precision>>;

Field field_of(Precision& precision, const NamedPrecisions& names, const std::string& automatic) {
  return {.name = "precision",
          .target = choice(precision, names),
          .help = "number type of the network's arithmetic; auto = " + automatic};
}

NamedPrecisions precisions_of_training() {
  return {{"auto", Precision::automatic},
          {"float32", Precision::float32},
          {"bfloat16", Precision::bfloat16}};
}

}  // namespace

Field precision_field(Precision& precision) {
  return field_of(
      precision, precisions_of_training(),
      "bfloat16 where the processor is faster with it; images by the network unet then in bytes, "
      "too (infer --precision int8)");
}

Field inference_precision_field(Precision& precision) {
  NamedPrecisions names = precisions_of_training();
  names.emplace_back("int8", Precision::int8);
  return field_of(precision, names,
                  "bfloat16 and bytes (int8) where the processor is faster with them");
}

}  // namespace ptyche
