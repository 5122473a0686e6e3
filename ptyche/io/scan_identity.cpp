#include "ptyche/io/scan_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/io/place.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/seal.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  require(!files.empty(), "expected files in the folder, found none");
  return files;
}

/// The files that options name beside the scan's.
void add_named(const std::string& option, std::set<fs::path>& files) {
  if (option.empty()) return;
  for (const Place& place : places_from_text(option))
    for (const std::string& file : place.files)
      if (fs::is_regular_file(file)) files.insert(file);
}

/// The kinds of files that have others beside them: detectors' and HDF5.
std::vector<fs::path> beside(const fs::path& file) {
  const std::string kind = kind_of_file(file);
  if (kind != "HDF5" && kind != "EMPAD" && kind != "MIB") return {};
  return open_arrays(file)->linked_files();
}

std::set<fs::path> further_files(const fs::path& file, const ReadOptions& options) {
  std::set<fs::path> files;
  if (fs::is_directory(file)) {
    const std::vector<fs::path> all = files_in(file);
    files.insert(all.begin(), all.end());
  } else {
    for (const fs::path& linked : beside(file)) files.insert(linked);
  }
  add_named(options.patterns, files);
  add_named(options.positions, files);
  files.erase(file);
  return files;
}

}  // namespace

std::string hash_of_scan(const fs::path& file, const ReadOptions& options) {
  const std::set<fs::path> further = further_files(file, options);
  const std::string own = fs::is_directory(file) ? "" : sha256_of_sound_file(file);
  if (further.empty()) return own;
  std::string list = own + "\n";
  for (const fs::path& one : further)
    list += one.filename().string() + " " + sha256_of_sound_file(one) + "\n";
  return sha256_of(list);
}

std::string hash_with(const std::string& hash, const std::vector<fs::path>& files) {
  if (files.empty()) return hash;
  std::string list = hash + "\n";
  for (const fs::path& one : std::set<fs::path>(files.begin(), files.end()))
    list += one.filename().string() + " " + sha256_of_sound_file(one) + "\n";
  return sha256_of(list);
}

std::string fingerprint_of_file(const fs::path& file) {
  constexpr std::int64_t kPieces = 16, kPieceBytes = 65536;
  if (fs::is_directory(file)) {
    const std::vector<fs::path> files = files_in(file);
    return fingerprint_of_file(files.front()) + fmt::format("+{}", files.size());
  }
  const SharedFile bytes(file);
  std::string text = fmt::format("{}\n", bytes.size());
  const std::int64_t length = std::min(kPieceBytes, bytes.size());
  for (std::int64_t i = 0; i < kPieces; ++i) {
    std::string piece(static_cast<std::size_t>(length), '\0');
    bytes.read((bytes.size() - length) / (kPieces - 1) * i, length, piece.data());
    text += piece;
  }
  return sha256_of(text).substr(0, 16);
}

}  // namespace ptyche
