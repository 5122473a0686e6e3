#include "ptyche/core/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fmt/format.h>

#include <cstdlib>

namespace ptyche {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code unknown;
  const fs::path running = fs::read_symlink("/proc/self/exe", unknown);
  const bool by_linker = running.filename().string().starts_with("ld-linux");
  return (by_linker ? fs::path(program_invocation_name) : running).parent_path();
}

fs::path plugin_file(const std::string& name, const char* variable) {
  if (const char* const named = std::getenv(variable); named != nullptr && *named != '\0')
    return named;
  return program_folder() / name;
}

std::string other_version(const fs::path& file) {
  return fmt::format("the plug-in {} belongs to another version of this program", file.string());
}

Plugin open_plugin(const fs::path& file, const char* symbol, const std::string& how_made) {
  std::error_code unknown;
  if (!fs::exists(file, unknown))
    return {nullptr, fmt::format("no plug-in {}; {}", file.string(), how_made)};
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return {nullptr, fmt::format("the plug-in cannot be opened: {}", dlerror())};
  const auto table_of = reinterpret_cast<const void* (*)()>(dlsym(library, symbol));
  const void* const table = table_of != nullptr ? table_of() : nullptr;
  return {table, table != nullptr ? "" : other_version(file)};
}

}  // namespace ptyche
