#include "ptyche/core/files.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "ptyche/core/error.h"
#include "ptyche_version.h"

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

namespace {

/// Insertions, deletions and substitutions between two words (Levenshtein 1966), row by row.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find(separator, first), text.size());
    parts.push_back(text.substr(first, end - first));
    first = end + 1;
  }
  return parts;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::size_t allowed = std::max<std::size_t>(1, word.size() / 3);
  const std::string* nearest = nullptr;
  std::size_t least = allowed + 1;
  for (const std::string& candidate : known) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = &candidate;
    }
  }
  return nearest ? "; did you mean '" + *nearest + "'?" : "";
}

std::string version() { return PTYCHE_VERSION; }
std::string commit() { return PTYCHE_COMMIT; }

}  // namespace ptyche
