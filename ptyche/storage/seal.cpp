#include "ptyche/storage/seal.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/storage/file_identity.h"

namespace ptyche {
namespace {

constexpr std::string_view kMark = "\nptyche SHA-256 of all above: ";
constexpr std::size_t kDigits = 64;
static_assert(kSealBytes == kMark.size() + kDigits + 1);
// Of a mark of 30 bytes, 1 to 16 damaged bytes anywhere in the file leave half; other files share a
// few letters with it by chance.
constexpr std::size_t kEnoughOfMark = kMark.size() / 2;

std::string last_bytes(const std::filesystem::path& file, std::int64_t size) {
  std::string end(kSealBytes, '\0');
  std::ifstream in(file, std::ios::binary);
  in.seekg(size - static_cast<std::int64_t>(kSealBytes));
  in.read(end.data(), static_cast<std::streamsize>(end.size()));
  require(in.gcount() == static_cast<std::streamsize>(end.size()), "{}: could not be read",
          file.string());
  return end;
}

std::size_t letters_of_mark(const std::string& end) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < kMark.size(); ++i) same += end[i] == kMark[i] ? 1 : 0;
  return same;
}

/// The seal's own bytes and how many stand before them; nothing where there is none.
struct SealedEnd {
  std::string seal;
  std::int64_t content = 0;
  bool fits(const std::string& digest) const { return seal == std::string(kMark) + digest + "\n"; }
};

std::optional<SealedEnd> sealed_end(const std::filesystem::path& file) {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
  const auto content = size - static_cast<std::int64_t>(kSealBytes);
  if (content < 0) return std::nullopt;
  const std::string end = last_bytes(file, size);
  if (letters_of_mark(end) < kEnoughOfMark) return std::nullopt;
  return SealedEnd{end, content};
}

Seal read_seal(const std::filesystem::path& file) {
  const auto end = sealed_end(file);
  if (!end) return Seal::none;
  return end->fits(sha256_of_file(file, end->content)) ? Seal::whole : Seal::broken;
}

}  // namespace

FileIdentity identity_of(const std::filesystem::path& file) {
  struct stat found {};
  require(stat(file.c_str(), &found) == 0, "{}: could not be read: {}", file.string(),
          [] { return std::string(std::strerror(errno)); });
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {found.st_dev, found.st_ino, found.st_size, nanoseconds(found.st_mtim),
          nanoseconds(found.st_ctim)};
}

void append_seal(const std::filesystem::path& file) {
  const std::string digest = sha256_of_file(file);
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::app);
  out << kMark << digest << "\n";
  out.close();
  require(!out.fail(), "could not be written: {}",
          [] { return std::string(std::strerror(errno)); });
}

Seal check_seal(const std::filesystem::path& file) {
  static KnownFiles<Seal> known;  // a scan of many GB is opened three times on its way
  return known.of(file, [&] { return read_seal(file); });
}

std::string sha256_of_sound_file(const std::filesystem::path& file) {
  const auto end = sealed_end(file);
  const PartialSha256 digests = sha256_of_file_and_part(file, end ? end->content : 0);
  require(!end || end->fits(digests.part),
          "the file is damaged: expected the SHA-256 that ptyche wrote at its end, found {}",
          "another one");
  return digests.whole;
}

}  // namespace ptyche
