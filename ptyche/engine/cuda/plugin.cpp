#include "ptyche/engine/cuda/plugin.h"

#include <array>
#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/core/plugin.h"
#include "ptyche/engine/cuda/plugin_table.h"

namespace ptyche::cuda {
namespace {

using Text = std::array<char, 1024>;

struct Gpu {
  const PluginTable* table = nullptr;  ///< nullptr: see `state`
  std::string state;                   ///< the GPU, or what is missing
};

/// Whether program and plug-in were compiled from the same declarations.
bool fits(const PluginTable& table) {
  const PluginTable own;
  return table.interface_number == own.interface_number && table.call_bytes == own.call_bytes &&
         table.result_bytes == own.result_bytes;
}

Gpu open_gpu() {
  const std::filesystem::path file = plugin_file("libptyche_cuda.so", "PTYCHE_CUDA_PLUGIN");
  const Plugin opened =
      open_plugin(file, "ptyche_cuda_plugin", "./run build cuda makes it where nvcc is installed");
  if (opened.table == nullptr) return {nullptr, opened.fault};
  const auto* const table = static_cast<const PluginTable*>(opened.table);
  if (!fits(*table)) return {nullptr, other_version(file)};
  Text text{};
  const bool there = table->device(text.data(), text.size());
  return {there ? table : nullptr, text.data()};
}

const Gpu& gpu() {
  static const Gpu opened = open_gpu();
  return opened;
}

}  // namespace

void require_device() { require(gpu().table, "{}", gpu().state); }

std::string describe_device() { return gpu().state; }

template <class T>
cpu::LossResult fused_loss(const cpu::LossInputs<T>& call) {
  require_device();
  require(call.object || call.merge_weight, "fused loss: the call was made for the CPU");
  cpu::LossResult result;
  Text text{};
  bool done = false;
  if constexpr (sizeof(T) == sizeof(float))
    done = gpu().table->loss_float(call, result, text.data(), text.size());
  else
    done = gpu().table->loss_double(call, result, text.data(), text.size());
  if (!done) throw std::runtime_error(text.data());
  return result;
}

template cpu::LossResult fused_loss(const cpu::LossInputs<float>&);
template cpu::LossResult fused_loss(const cpu::LossInputs<double>&);

}  // namespace ptyche::cuda
