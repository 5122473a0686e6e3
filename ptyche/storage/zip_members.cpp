#include "ptyche/storage/zip_members.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

using Chars = std::vector<char>;

/// A number of `bytes` bytes, the least first.
std::int64_t number_at(const Chars& from, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(from.at(at + i));
  return static_cast<std::int64_t>(value);
}

Chars bytes_of(const SharedFile& file, std::int64_t at, std::int64_t count) {
  Chars bytes(static_cast<std::size_t>(count));
  file.read(at, count, bytes.data());
  return bytes;
}

struct Directory {
  std::int64_t at = 0, bytes = 0;
};

constexpr std::int64_t kEnd = 22, kLongestComment = 65535, kLocator = 20, kEnd64 = 56;
constexpr std::int64_t kLargestDirectory = std::int64_t{64} << 20;

/// The directory's place by the record at the file's end, in its 64-bit form where there is one.
std::optional<Directory> directory_of(const SharedFile& file) {
  const std::int64_t tail = std::min(file.size(), kEnd + kLongestComment + kLocator);
  if (tail < kEnd) return std::nullopt;
  const Chars end = bytes_of(file, file.size() - tail, tail);
  const std::size_t at = std::string_view(end.data(), end.size()).rfind("PK\x05\x06");
  if (at == std::string_view::npos || at + kEnd > end.size()) return std::nullopt;
  Directory directory{number_at(end, at + 16, 4), number_at(end, at + 12, 4)};
  if (at < kLocator || std::memcmp(end.data() + at - kLocator, "PK\x06\x07", 4) != 0)
    return directory;
  const std::int64_t record = number_at(end, at - kLocator + 8, 8);
  if (record < 0 || record + kEnd64 > file.size()) return std::nullopt;
  const Chars end64 = bytes_of(file, record, kEnd64);
  if (std::memcmp(end64.data(), "PK\x06\x06", 4) != 0) return std::nullopt;
  return Directory{number_at(end64, 48, 8), number_at(end64, 40, 8)};
}

/// The 64-bit numbers of an entry, in the order in which the short ones are full (4.5.3).
void take_long_numbers(const Chars& from, std::size_t at, std::size_t bytes,
                       std::initializer_list<std::int64_t*> numbers) {
  const std::size_t end = at + bytes;
  while (at + 4 <= end) {
    const auto length = static_cast<std::size_t>(number_at(from, at + 2, 2));
    if (number_at(from, at, 2) == 1) {
      std::size_t next = at + 4;
      for (std::int64_t* number : numbers)
        if (*number == 0xffffffffL && next + 8 <= std::min(end, at + 4 + length)) {
          *number = number_at(from, next, 8);
          next += 8;
        }
      return;
    }
    at += 4 + length;
  }
}

/// The entry's place is that of its local header, behind which the data begin.
std::optional<ZipMember> placed(const SharedFile& file, ZipMember member, std::int64_t header_at) {
  constexpr std::int64_t kLocal = 30;
  if (header_at < 0 || header_at + kLocal > file.size()) return std::nullopt;
  const Chars local = bytes_of(file, header_at, kLocal);
  if (std::memcmp(local.data(), "PK\x03\x04", 4) != 0) return std::nullopt;
  member.at = header_at + kLocal + number_at(local, 26, 2) + number_at(local, 28, 2);
  const bool inside = member.packed_bytes >= 0 && member.bytes >= 0 && member.at >= 0 &&
                      member.at <= file.size() && member.packed_bytes <= file.size() - member.at;
  const bool fits = member.deflated || member.packed_bytes == member.bytes;
  return inside && fits ? std::optional(member) : std::nullopt;
}

constexpr std::size_t kEntry = 46;

/// Nothing for an entry that is packed or encrypted in another way.
std::optional<ZipMember> member_at(const SharedFile& file, const Chars& entries, std::size_t at,
                                   const std::string& name, std::size_t extra_bytes) {
  const std::int64_t method = number_at(entries, at + 10, 2), flags = number_at(entries, at + 8, 2);
  if ((method != 0 && method != 8) || (flags & 1) != 0) return std::nullopt;
  ZipMember member{.name = name, .deflated = method == 8};
  member.crc = static_cast<std::uint32_t>(number_at(entries, at + 16, 4));
  member.packed_bytes = number_at(entries, at + 20, 4);
  member.bytes = number_at(entries, at + 24, 4);
  std::int64_t header_at = number_at(entries, at + 42, 4);
  take_long_numbers(entries, at + kEntry + name.size(), extra_bytes,
                    {&member.bytes, &member.packed_bytes, &header_at});
  return placed(file, member, header_at);
}

}  // namespace

std::optional<ZipMember> find_zip_member(const SharedFile& file, const std::string& name) {
  const auto directory = directory_of(file);
  if (!directory || directory->at < 0 || directory->bytes < 0 ||
      directory->bytes > kLargestDirectory || directory->at > file.size() - directory->bytes)
    return std::nullopt;
  const Chars entries = bytes_of(file, directory->at, directory->bytes);
  for (std::size_t at = 0; at + kEntry <= entries.size();) {
    if (std::memcmp(entries.data() + at, "PK\x01\x02", 4) != 0) return std::nullopt;
    const auto length = [&](std::size_t field) {
      return static_cast<std::size_t>(number_at(entries, at + field, 2));
    };
    const std::size_t name_bytes = length(28), extra = length(30), comment = length(32);
    if (at + kEntry + name_bytes + extra + comment > entries.size()) return std::nullopt;
    if (name == std::string_view(entries.data() + at + kEntry, name_bytes))
      return member_at(file, entries, at, name, extra);
    at += kEntry + name_bytes + extra + comment;
  }
  return std::nullopt;
}

namespace {

class StoredMember : public ByteReader {
 public:
  StoredMember(std::shared_ptr<const SharedFile> file, ZipMember member)
      : file_(std::move(file)), member_(std::move(member)) {}
  void read(std::int64_t offset, std::int64_t bytes, void* to) const override {
    require(offset + bytes <= member_.bytes, "truncated: expected {} bytes, found {}",
            offset + bytes, member_.bytes);
    file_->read(member_.at + offset, bytes, to);
  }
  std::shared_ptr<void> in_memory(std::int64_t offset, std::int64_t bytes) const override {
    if (offset + bytes > member_.bytes) return nullptr;
    return file_->in_memory(member_.at + offset, bytes);
  }

 private:
  std::shared_ptr<const SharedFile> file_;
  ZipMember member_;
};

/// zlib's state of one stream: raw deflate has no header of its own.
struct Inflater {
  Inflater() { inflateInit2(&stream, -MAX_WBITS); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
  std::int64_t taken = 0, given = 0;
};

class DeflatedMember : public ByteReader {
 public:
  DeflatedMember(std::shared_ptr<const SharedFile> file, ZipMember member)
      : file_(std::move(file)), member_(std::move(member)), packed_(kPiece) {}

  void read(std::int64_t offset, std::int64_t bytes, void* to) const override {
    if (!state_ || state_->given > offset) state_ = std::make_unique<Inflater>();
    Chars skipped(kPiece);
    while (state_->given < offset)
      next(skipped.data(), std::min<std::int64_t>(kPiece, offset - state_->given));
    next(static_cast<char*>(to), bytes);
  }
  bool in_order_only() const override { return true; }

 private:
  static constexpr std::int64_t kPiece = 1 << 18;

  void next(char* to, std::int64_t bytes) const {
    z_stream& stream = state_->stream;
    for (std::int64_t done = 0; done < bytes;) {
      if (stream.avail_in == 0) refill();
      const std::int64_t room = std::min<std::int64_t>(bytes - done, 1 << 30);
      stream.next_out = reinterpret_cast<Bytef*>(to + done);
      stream.avail_out = static_cast<uInt>(room);
      const int code = inflate(&stream, Z_NO_FLUSH);
      const std::int64_t got = room - stream.avail_out;
      require((code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) &&
                  (got > 0 || code == Z_OK),
              "truncated or damaged: expected {} more bytes of packed data", bytes - done);
      done += got;
      state_->given += got;
    }
  }

  void refill() const {
    const std::int64_t left = member_.packed_bytes - state_->taken;
    const std::int64_t bytes = std::min<std::int64_t>(kPiece, left);
    require(bytes > 0, "truncated: the packed data end after {} bytes", state_->given);
    file_->read(member_.at + state_->taken, bytes, packed_.data());
    state_->taken += bytes;
    state_->stream.next_in = reinterpret_cast<Bytef*>(packed_.data());
    state_->stream.avail_in = static_cast<uInt>(bytes);
  }

  std::shared_ptr<const SharedFile> file_;
  ZipMember member_;
  mutable Chars packed_;
  mutable std::unique_ptr<Inflater> state_;
};

void require_checksum(std::uint32_t found, const ZipMember& member) {
  require(found == member.crc, "damaged: expected the checksum {:08x}, found {:08x}", member.crc,
          found);
}

constexpr std::int64_t kCheckedPiece = std::int64_t{256} << 10;  // stays in a core's cache

}  // namespace

std::shared_ptr<const ByteReader> member_reader(std::shared_ptr<const SharedFile> file,
                                                const ZipMember& member) {
  if (member.deflated) return std::make_shared<DeflatedMember>(std::move(file), member);
  return std::make_shared<StoredMember>(std::move(file), member);
}

void read_member(const SharedFile& file, const ZipMember& member, char* to) {
  if (!member.deflated) {
    const std::int64_t pieces = (member.bytes + kCheckedPiece - 1) / kCheckedPiece;
    on_all_cores(pieces, [&](std::int64_t i) {
      const std::int64_t begin = i * kCheckedPiece;
      file.read(member.at + begin, std::min(kCheckedPiece, member.bytes - begin), to + begin);
    });
    return check_stored_member(file, member);
  }
  const Chars packed = bytes_of(file, member.at, member.packed_bytes);
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> state(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  const auto bytes = static_cast<std::size_t>(member.bytes);
  const bool whole = libdeflate_deflate_decompress(state.get(), packed.data(), packed.size(), to,
                                                   bytes, nullptr) == LIBDEFLATE_SUCCESS;
  require(whole, "truncated or damaged packed data");
  require_checksum(libdeflate_crc32(0, to, bytes), member);
}

void check_stored_member(const SharedFile& file, const ZipMember& member) {
  const std::int64_t pieces = (member.bytes + kCheckedPiece - 1) / kCheckedPiece;
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(pieces));
  const auto length = [&](std::int64_t i) {
    return std::min(kCheckedPiece, member.bytes - i * kCheckedPiece);
  };
  on_all_cores(pieces, [&](std::int64_t i) {
    const Chars bytes = bytes_of(file, member.at + i * kCheckedPiece, length(i));
    sums[static_cast<std::size_t>(i)] = libdeflate_crc32(0, bytes.data(), bytes.size());
  });
  uLong sum = 0;
  for (std::int64_t i = 0; i < pieces; ++i)
    sum = crc32_combine(sum, sums[static_cast<std::size_t>(i)], length(i));
  require_checksum(static_cast<std::uint32_t>(sum), member);
}

}  // namespace ptyche
