#include "tests/support/shared.h"

#include <cstdlib>

namespace ptyche {

std::optional<std::filesystem::path> shared_folder() {
  const char* named = std::getenv("PTYCHE_SHARED");
  const std::filesystem::path folder =
      named ? std::filesystem::path(named) : std::filesystem::path(PTYCHE_SOURCE_DIR) / "../shared";
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return std::filesystem::canonical(folder);
}

std::filesystem::path source_folder() { return PTYCHE_SOURCE_DIR; }

}  // namespace ptyche
