// Which reader a scan is read with, and positions that the file does not hold.
#pragma once

#include <filesystem>
#include <vector>

#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"

namespace ptyche {

/// Of a folder the file in it that a scan begins with (ptychodus' diffraction.h5, the only .ptyd,
/// .cxi or master file), the folder itself where it holds TIFF images; any other path as it is.
std::filesystem::path scan_file_in(const std::filesystem::path& path);

/// Whether the user says how the file is to be read.
bool names_a_reader(const ReadOptions& options);

/// What --patterns points to; else --format, a name of a format or a recipe's file; else the format
/// that recognises the file. Throws InvalidInput that lists the formats.
Reader chosen_reader(const ReadOptions& options, const std::vector<Reader>& formats);

/// Positions from --positions or --scan-shape, else the file's. Throws InvalidInput that says what
/// is missing and which option gives it.
void settle_places(RawScan& raw, const ReadOptions& options);

}  // namespace ptyche
