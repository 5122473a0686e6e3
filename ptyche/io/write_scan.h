// A scan in the layouts of other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/data/scan.h"

namespace ptyche {

/// Formats that scans are written in: "CXI", "NXcxi_ptycho", "ptychodus", "ptyd", "PtychoPINN".
const std::vector<std::string>& scan_formats_written();

/// The one that goes with a file's name (.cxi .nxs .ptyd .npz; a name without an ending is
/// ptychodus' folder). Throws InvalidInput for other endings.
std::string scan_format_for(const std::filesystem::path& file);

/// Writes all patterns of the scan, atomically. A probe is written only where the scan was given
/// one. Throws InvalidInput for a scan in object pixels where the format wants metres.
void write_scan_as(const std::string& format, const std::filesystem::path& file, const Scan& scan);

}  // namespace ptyche
