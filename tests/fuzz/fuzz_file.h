// What the targets share. A target is one file with LLVMFuzzerTestOneInput: it may refuse what it
// is given by an InvalidInput that names the file, and nothing else may happen.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"

namespace ptyche::fuzz {

/// A file of this process alone, in memory where the system has such a folder.
inline std::filesystem::path file_named(const std::string& ending) {
  const std::filesystem::path memory = "/dev/shm";
  const auto folder =
      std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
  return folder / ("ptyche_fuzz_" + std::to_string(getpid()) + ending);
}

/// The input as a file with this ending; removed with the object.
struct InputFile {
  std::filesystem::path path;

  InputFile(const std::uint8_t* bytes, std::size_t size, const std::string& ending)
      : path(file_named(ending)) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  }
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

/// Runs `read`; a refusal must name the file, unless the work behind the reading may refuse as
/// well. Anything else that is thrown ends the fuzzer.
template <typename Read>
void may_refuse(const std::filesystem::path& file, Read&& read, bool works_on = false) {
  const Silence silence;
  try {
    read();
  } catch (const InvalidInput& error) {
    const std::string said = error.what();
    if (!works_on && said.find(file.filename().string()) == std::string::npos) std::abort();
  }
}

}  // namespace ptyche::fuzz
