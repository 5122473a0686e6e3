// What libptyche_cuda.so offers to the program: one table, found by name, so that the program
// itself needs no part of CUDA.
#pragma once

#include <cstddef>

#include "ptyche/engine/cpu/loss.h"

namespace ptyche::cuda {

/// Counted up with every change of what stands below.
inline constexpr int kPluginInterface = 3;

/// All functions return whether they succeeded and write a text, ended by 0, into `text` of `bytes`
/// bytes: no exception crosses the border.
struct PluginTable {
  int interface_number = kPluginInterface;
  /// sizeof what crosses the border, as the plug-in was compiled.
  std::size_t call_bytes = sizeof(cpu::LossInputs<double>);
  std::size_t result_bytes = sizeof(cpu::LossResult);

  /// The name of the GPU that would be used, or why there is none.
  bool (*device)(char* text, std::size_t bytes) = nullptr;
  /// cpu::fused_loss on that GPU; pointers lie in host memory. One call at a time; a second waits.
  bool (*loss_float)(const cpu::LossInputs<float>&, cpu::LossResult&, char* text,
                     std::size_t bytes) = nullptr;
  bool (*loss_double)(const cpu::LossInputs<double>&, cpu::LossResult&, char* text,
                      std::size_t bytes) = nullptr;
};

}  // namespace ptyche::cuda

/// The plug-in's only symbol that is visible.
extern "C" const ptyche::cuda::PluginTable* ptyche_cuda_plugin();
