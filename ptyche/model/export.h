// A model in the layouts of other programs: as a graph that they run, and as weights alone.
#pragma once

#include <cstdint>
#include <filesystem>

#include "ptyche/model/model.h"

namespace ptyche {

/// ONNX (storage/onnx.h): from counts to patches, with the physics stem in it, for any number of
/// patterns. docs/network.md describes inputs, output and what is left to the caller; the file's
/// metadata says the same and how the model was trained.
///   pattern_size  N; 0 = the model's. Another one is for networks of any scan alone.
/// Throws InvalidInput for networks other than the U-Net, and for a pattern size out of range.
void write_onnx(const std::filesystem::path& file, const Model& model,
                std::int64_t pattern_size = 0);

/// safetensors (https://github.com/huggingface/safetensors): the network's weights under the names
/// of model.ptyche in float32, and for a network of one's own scans `stem_probe`, `probe` (modes,
/// N, N, 2: real and imaginary part, sqrt(photon)) and, where there is one, `background` (N, N).
void write_safetensors(const std::filesystem::path& file, const Model& model);

}  // namespace ptyche
