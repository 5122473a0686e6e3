#include "ptyche/core/files.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "ptyche/core/error.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

std::string reason() { return errno ? std::strerror(errno) : "unknown reason"; }

/// Removes the temporary file unless it was renamed away.
struct Leftover {
  fs::path path;
  ~Leftover() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

}  // namespace

void write_atomically(const fs::path& target, const std::function<void(const fs::path&)>& write) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const Leftover temporary{folder /
                           fmt::format(".{}.{}.part", target.filename().string(), getpid())};
  with_context(target.string(), [&] { write(temporary.path); });
  std::error_code error;
  fs::rename(temporary.path, target, error);
  require(!error, "{}: could not be put in place: {}", target.string(), error.message());
}

void write_text(const fs::path& target, const std::string& content) {
  write_atomically(target, [&](const fs::path& path) {
    errno = 0;
    std::ofstream out(path, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    require(!out.fail(), "could not be written: {}", reason());
  });
}

std::string read_bytes(const fs::path& file) {
  errno = 0;
  require(!fs::is_directory(file), "{}: expected a file, found a folder", file.string());
  std::ifstream in(file, std::ios::binary);
  std::ostringstream content;
  if (in.is_open() && in.peek() != std::ifstream::traits_type::eof()) content << in.rdbuf();
  require(in.is_open() && !in.bad(), "{}: could not be read: {}", file.string(), reason());
  return content.str();
}

void require_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, "{}: the output folder could not be made: {}", folder.string(), error.message());
  const fs::path probe = folder / fmt::format(".writable.{}", getpid());
  const Leftover leftover{probe};
  errno = 0;
  std::ofstream out(probe);
  out << "x";
  out.close();
  require(!out.fail(), "{}: the output folder does not take files: {}", folder.string(), reason());
}

std::string sha256_of_file(const fs::path& file) {
  const std::string bytes = read_bytes(file);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace ptyche
