// Which scan it is: by all bytes of its files, or by some of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/io/read_scan.h"

namespace ptyche {

/// SHA-256 of the scan's file; where it is of several (links of an HDF5 file to others, EMPAD's raw
/// file, tables beside, a folder of images) that of the list of their names and SHA-256. On the way
/// a seal (seal.h) is compared. Throws InvalidInput for a broken one.
std::string hash_of_scan(const std::filesystem::path& file, const ReadOptions& options);

/// The same with further files that the reading has opened (tables and results beside).
std::string hash_with(const std::string& hash, const std::vector<std::filesystem::path>& files);

/// 16 hex digits of the file's size and of kPieces pieces all over it: quick, and enough to tell
/// scans apart; of a folder of the first file, and of how many there are.
std::string fingerprint_of_file(const std::filesystem::path& file);

}  // namespace ptyche
