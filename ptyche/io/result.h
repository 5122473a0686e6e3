// Results of any program, to look at, to compare, to start from.
#pragma once

#include <filesystem>
#include <string>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// A result and the name of its format. Probe and positions are undefined or empty where the file
/// has none.
struct Result {
  Reconstruction image;
  std::string format;
  bool own_frame = false;  ///< its positions are in a frame of its own, not in the scan's
};

/// Reads the result in a file of any format that holds one. Throws InvalidInput naming file,
/// dataset, expected and found.
Result read_result(const std::filesystem::path& file);

/// What a solve of `scan` starts from. The object of another program is laid where its positions
/// fall on the scan's in the mean, or, where it has none, with its middle on the scan's. Throws
/// InvalidInput for a result without a probe.
Reconstruction read_start(const std::filesystem::path& file, const Scan& scan);

/// The probe in a result of any format, or in an .npy file, (modes, N, N) complex64. Throws
/// InvalidInput where there is none.
at::Tensor read_probe_file(const std::filesystem::path& file);

}  // namespace ptyche
