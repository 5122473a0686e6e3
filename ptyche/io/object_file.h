// The object out of any file that holds one.
#pragma once

#include <filesystem>

#include "ptyche/data/reconstruction.h"

namespace ptyche {

/// Reads a reconstruction (read_reconstruction), the truth of a simulated scan (CXI with
/// ptyche/truth, in the frame of the scan's positions) or an NPZ array `object`, `objectGuess`,
/// `truth` or `YY_pred` (rows, cols) complex; told by content. For the last two only object,
/// geometry's pixel and provenance's source are filled in: lit everywhere, origin 0. Throws
/// InvalidInput naming file, dataset, expected and found.
Reconstruction read_object_file(const std::filesystem::path& file);

}  // namespace ptyche
