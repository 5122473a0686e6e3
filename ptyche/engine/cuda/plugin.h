// The CUDA kernels as the program reaches them: a shared library beside it, opened at first use.
//
// The program is built, tested and shipped without CUDA; libptyche_cuda.so (preset `cuda`) adds the
// GPU. PTYCHE_CUDA_PLUGIN names another file.
#pragma once

#include <string>

#include "ptyche/engine/cpu/loss.h"

namespace ptyche::cuda {

/// Throws InvalidInput that says what is missing: the plug-in, a library that it needs, or a GPU.
void require_device();

/// The GPU's name and memory, or in words what is missing.
std::string describe_device();

/// cpu::fused_loss on the GPU: copies the call's inputs there and its results back. Calls take
/// turns. Memory there, kept between calls: inputs, outputs and canvases, and O(modes N^2) for
/// every pattern of a chunk of at most kChunkBytes (fused_loss.h). The same call gives the same
/// numbers bit for bit. Throws InvalidInput as require_device, std::runtime_error where the GPU
/// fails or its memory does not suffice.
template <class T>
cpu::LossResult fused_loss(const cpu::LossInputs<T>& call);

}  // namespace ptyche::cuda
