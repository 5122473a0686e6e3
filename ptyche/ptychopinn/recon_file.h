// The image of a study as PtychoPINN writes it.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>

namespace ptyche {

/// recon.npz in `folder`, which is made: `YY_pred` (rows, cols) complex, and its `amp` and `phase`.
void write_recon(const std::filesystem::path& folder, const at::Tensor& image);

}  // namespace ptyche
