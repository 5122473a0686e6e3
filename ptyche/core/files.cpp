#include "ptyche/core/files.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <numeric>

#include "ptyche/core/error.h"
#include "ptyche_version.h"

namespace ptyche {

namespace fs = std::filesystem;
namespace {

// The name is as long as any: one made of the target's would be too long where that nearly is.
constexpr std::string_view kTemporaryStart = ".ptyche.", kTemporaryEnd = ".part";

std::string reason() { return errno ? std::strerror(errno) : "unknown reason"; }

/// An open file; `close` says whether all of it went well.
struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

/// The mode that a file gets which is made without asking for one.
mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/// Where a folder lies once it has the name of a leftover; where it was if it cannot be renamed.
fs::path renamed_to_leftover(const fs::path& folder) {
  const fs::path name = folder.parent_path() / fmt::format("{}{:06}{}", kTemporaryStart,
                                                           getpid() % 1'000'000, kTemporaryEnd);
  std::error_code stays;
  fs::rename(folder, name, stays);
  return stays ? folder : name;
}

/// Some file systems (a quota, a network) say only now that the disk is full.
void bring_to_disk(const fs::path& file) {
  const Descriptor opened(open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  const bool done = opened.number >= 0 && (fsync(opened.number) == 0 || errno == EINVAL);
  require(done, "could not be written: {}", reason());
}

fs::path folder_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

}  // namespace

TemporaryFile::TemporaryFile(const fs::path& folder) {
  std::string name = (folder / fmt::format("{}XXXXXX{}", kTemporaryStart, kTemporaryEnd)).string();
  const Descriptor made(mkostemps(name.data(), static_cast<int>(kTemporaryEnd.size()), O_CLOEXEC));
  require(made.number >= 0, "no file can be made in {}: {}", folder.string(), reason());
  path = name;
  fchmod(made.number, usual_mode());
}

TemporaryFile::~TemporaryFile() { remove_if_possible({path}); }

void write_atomically(const fs::path& target, const std::function<void(const fs::path&)>& write) {
  with_context(target.string(), [&] {
    const TemporaryFile temporary(folder_of(target));
    write(temporary.path);
    bring_to_disk(temporary.path);
    std::error_code error;
    fs::rename(temporary.path, target, error);
    require(!error, "could not be put in place: {}", error.message());
  });
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

bool is_leftover(const std::string& name) {
  return name.starts_with(kTemporaryStart) && name.ends_with(kTemporaryEnd) &&
         name.size() == kTemporaryStart.size() + 6 + kTemporaryEnd.size();
}

void remove_if_possible(const std::vector<fs::path>& paths) {
  std::error_code stays;
  for (const fs::path& path : paths) {
    const bool is_folder = fs::is_directory(fs::symlink_status(path, stays));
    fs::remove_all(is_folder ? renamed_to_leftover(path) : path, stays);
  }
}

std::string not_a_file(const fs::path& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "none";
    if (errno == ELOOP) return "a loop of symbolic links";
    if (errno == ENAMETOOLONG) return "a name that is too long";
    return fmt::format("one that cannot be looked at ({})", reason());
  }
  if (S_ISREG(found.st_mode))
    return access(path.c_str(), R_OK) == 0
               ? ""
               : fmt::format("one that cannot be opened ({})", reason());
  if (S_ISDIR(found.st_mode)) return "a folder";
  return S_ISFIFO(found.st_mode) ? "a FIFO" : "a device";
}

std::string read_bytes(const fs::path& file, std::int64_t most) {
  return with_context(file.string(), [&] {
    const std::string other = not_a_file(file);
    require(other.empty(), "expected a file, found {}", other);
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    const auto size = static_cast<std::int64_t>(fs::file_size(file));
    require(most <= 0 || size <= most, "expected a file of at most {} bytes, found {}", most, size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    in.read(bytes.data(), size);
    require(in.is_open() && !in.bad(), "could not be read: {}", reason());
    bytes.resize(static_cast<std::size_t>(in.gcount()));
    return bytes;
  });
}

void require_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, "{}: the output folder could not be made: {}", folder.string(), error.message());
  try {
    const TemporaryFile probe(folder);
    errno = 0;
    std::ofstream out(probe.path);
    out << "x";
    out.close();
    require(!out.fail(), "{}", reason());
  } catch (const InvalidInput& found) {
    throw InvalidInput(fmt::format("{}: the output folder does not take files: {}", folder.string(),
                                   found.what()));
  }
}

namespace {

/// SHA-256 of what it is shown piece by piece.
class Sha256 {
 public:
  Sha256() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr);
  }
  void add(const char* bytes, std::size_t count) { EVP_DigestUpdate(state_.get(), bytes, count); }
  Sha256 copy() const {
    Sha256 other;
    EVP_MD_CTX_copy_ex(other.state_.get(), state_.get());
    return other;
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    EVP_DigestFinal_ex(state_.get(), digest.data(), &length);
    std::string text;
    for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> state_;
};

}  // namespace

std::string sha256_of(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes.data(), bytes.size());
  return digest.hex();
}

namespace {

/// Adds the next bytes of `in` to the digest: `bytes` of them, or all where that is below 0.
void add_bytes(Sha256& digest, std::istream& in, std::int64_t bytes, const fs::path& file) {
  constexpr std::int64_t kPiece = 1 << 20;
  std::vector<char> piece(kPiece);
  std::int64_t done = 0;
  while (in && (bytes < 0 || done < bytes)) {
    in.read(piece.data(), bytes < 0 ? kPiece : std::min(kPiece, bytes - done));
    digest.add(piece.data(), static_cast<std::size_t>(in.gcount()));
    done += in.gcount();
  }
  require(!in.bad() && (bytes < 0 || done == bytes), "{}: could not be read", file.string());
}

std::ifstream opened_to_hash(const fs::path& file) {
  const std::string other = not_a_file(file);
  require(other.empty(), "{}: expected a file, found {}", file.string(), other);
  std::ifstream in(file, std::ios::binary);
  require(in.is_open(), "{}: could not be read", file.string());
  return in;
}

}  // namespace

std::string sha256_of_file(const fs::path& file, std::int64_t bytes) {
  std::ifstream in = opened_to_hash(file);
  Sha256 digest;
  add_bytes(digest, in, bytes, file);
  return digest.hex();
}

PartialSha256 sha256_of_file_and_part(const fs::path& file, std::int64_t bytes) {
  std::ifstream in = opened_to_hash(file);
  Sha256 whole;
  add_bytes(whole, in, bytes, file);
  const std::string part = whole.copy().hex();
  add_bytes(whole, in, -1, file);
  return {whole.hex(), part};
}

namespace {

/// Where a text stands between quotes and comments, character by character.
struct Quotes {
  char comment, open = 0;
  bool escaped = false, commented = false;

  /// Whether `c` stands outside of both.
  bool outside(char c) {
    if (commented) {
      commented = c != '\n';
      return false;
    }
    if (open == 0) {
      if (c == '"' || c == '\'') open = c;
      commented = comment != 0 && c == comment;
      return open == 0 && !commented;
    }
    const bool ends = !escaped && (c == open || c == '\n');  // an open quote ends with its line
    escaped = !escaped && c == '\\' && open == '"';
    if (ends) open = 0;
    return false;
  }
};

}  // namespace

void require_shallow(const std::string& text, const std::string& name, int most, char comment) {
  Quotes quotes{comment};
  int depth = 0, dots = 0, line = 1;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    }
    if (!quotes.outside(c)) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') depth = std::max(depth - 1, 0);
    if (c == '.' && comment != 0) ++dots;  // of a key like a.b.c, each a level
    if (c == '=' || c == ',') dots = 0;
    require(depth <= most && dots <= most,
            "{}:{}: expected lists and sections at most {} deep, found deeper ones", name, line,
            most);
  }
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
std::string commit_date() { return PTYCHE_COMMIT_DATE; }

namespace {

/// In quotes where a shell would read it otherwise.
std::string for_a_shell(const std::string& word) {
  const char* const plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word)
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

}  // namespace

std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line = "ptyche", word;
  std::getline(in, word, '\0');  // the program's own name, however it was found
  while (std::getline(in, word, '\0')) line.append(" ").append(for_a_shell(word));
  return line;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace ptyche
