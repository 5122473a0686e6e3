// Pictures as arrays.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>

namespace ptyche {

/// A picture's brightness (rows, cols) float64: of a PNG of any kind its grey value, 0 black to 1
/// white, as the file has it (no gamma is undone, transparency is ignored); of a .npy file its real
/// numbers. Throws InvalidInput that begins with the file's name for other formats, damaged files
/// and numbers that are not finite.
at::Tensor read_image(const std::filesystem::path& file);

}  // namespace ptyche
