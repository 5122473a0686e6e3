#include "tests/support/shared.h"

#include <cstdlib>

#include "ptyche/core/error.h"

namespace ptyche {

std::optional<std::filesystem::path> shared_folder() {
  const char* named = std::getenv("PTYCHE_SHARED");
  const std::filesystem::path folder =
      named ? std::filesystem::path(named) : std::filesystem::path(PTYCHE_SOURCE_DIR) / "../shared";
  if (std::filesystem::is_directory(folder)) return std::filesystem::canonical(folder);
  require(named == nullptr, "PTYCHE_SHARED: expected a folder, found none at '{}'",
          folder.string());
  return std::nullopt;
}

std::optional<std::filesystem::path> shared_file(const std::string& name) {
  const auto folder = shared_folder();
  if (!folder) return std::nullopt;
  require(std::filesystem::exists(*folder / name),
          "{}: expected the file that a test compares with, "
          "found none",
          (*folder / name).string());
  return *folder / name;
}

std::filesystem::path source_folder() { return PTYCHE_SOURCE_DIR; }

}  // namespace ptyche
