// A result in the layouts of other programs, and as pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"

namespace ptyche {

/// Formats that results are written in: "ptychodus", "PyNX", "ptyr", "images", "NPY".
const std::vector<std::string>& result_formats_written();

/// The one that goes with a file's name (.h5 .cxi .ptyr .npy; a name without an ending is a folder
/// of images). Throws InvalidInput for other endings.
std::string result_format_for(const std::filesystem::path& file);

/// Writes the result, atomically. "images" makes a folder with amplitude and phase as TIFF of
/// float32 and as PNG of 16 bits, and scale.json, which says what a PNG's 0 and 65535 are, and the
/// pixel. Throws InvalidInput for an unknown format and for what the format needs and the result
/// lacks.
///   unwrap  of images: the phase as unwrapped_phase has it, not between -pi and pi
void write_result_as(const std::string& format, const std::filesystem::path& file,
                     const Reconstruction& image, bool unwrap = false);

}  // namespace ptyche
