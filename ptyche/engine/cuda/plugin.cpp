#include "ptyche/engine/cuda/plugin.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/engine/cuda/plugin_table.h"

namespace ptyche::cuda {
namespace {

using Text = std::array<char, 1024>;

struct Plugin {
  const PluginTable* table = nullptr;  ///< nullptr: see `state`
  std::string state;                   ///< the GPU, or what is missing
};

std::filesystem::path plugin_file() {
  if (const char* named = std::getenv("PTYCHE_CUDA_PLUGIN")) return named;
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() /
         "libptyche_cuda.so";
}

/// Whether program and plug-in were compiled from the same declarations.
bool fits(const PluginTable& table) {
  const PluginTable own;
  return table.interface_number == own.interface_number && table.call_bytes == own.call_bytes &&
         table.result_bytes == own.result_bytes;
}

/// The library stays open until the process ends.
Plugin open_plugin() {
  const std::filesystem::path file = plugin_file();
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown))
    return {nullptr, fmt::format("no plug-in {}; ./run build cuda makes it where nvcc is installed",
                                 file.string())};
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {nullptr, fmt::format("the plug-in cannot be opened: {}", dlerror())};
  const auto table_of =
      reinterpret_cast<decltype(&ptyche_cuda_plugin)>(dlsym(library, "ptyche_cuda_plugin"));
  const PluginTable* table = table_of ? table_of() : nullptr;
  if (!table || !fits(*table))
    return {nullptr, fmt::format("the plug-in {} belongs to another version of this program",
                                 file.string())};
  Text text{};
  const bool there = table->device(text.data(), text.size());
  return {there ? table : nullptr, text.data()};
}

const Plugin& plugin() {
  static const Plugin opened = open_plugin();
  return opened;
}

}  // namespace

void require_device() { require(plugin().table, "{}", plugin().state); }

std::string describe_device() { return plugin().state; }

template <class T>
cpu::LossResult fused_loss(const cpu::LossInputs<T>& call) {
  require_device();
  require(call.object || call.merge_weight, "fused loss: the call was made for the CPU");
  cpu::LossResult result;
  Text text{};
  bool done = false;
  if constexpr (sizeof(T) == sizeof(float))
    done = plugin().table->loss_float(call, result, text.data(), text.size());
  else
    done = plugin().table->loss_double(call, result, text.data(), text.size());
  if (!done) throw std::runtime_error(text.data());
  return result;
}

template cpu::LossResult fused_loss(const cpu::LossInputs<float>&);
template cpu::LossResult fused_loss(const cpu::LossInputs<double>&);

}  // namespace ptyche::cuda
