// Where the members of a zip archive lie, so that they are read past libzip: by many threads, or
// only in part (PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.5.3).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ptyche/storage/frame_stack.h"

namespace ptyche {

/// Deflate packs by no more than this (RFC 1951: 258 bytes in 2 bits): a larger size is a lie.
inline constexpr double kLargestDeflateRatio = 1032;

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::int64_t packed_bytes = 0, bytes = 0;
  std::uint32_t crc = 0;
  std::int64_t at = 0;  ///< of its first packed byte in the file
};

/// The member; nothing where there is none of this name, it is packed in another way than deflate,
/// or the archive's directory is not understood.
std::optional<ZipMember> find_zip_member(const SharedFile& file, const std::string& name);

/// The member's unpacked bytes. A deflated one is one stream, which no second core can help to
/// unpack: its bytes come in order.
std::shared_ptr<const ByteReader> member_reader(std::shared_ptr<const SharedFile> file,
                                                const ZipMember& member);

/// All of the member's bytes, to `to`, and their checksum compared. Throws InvalidInput for damage.
void read_member(const SharedFile& file, const ZipMember& member, char* to);

/// Compares the checksum of a member that is not packed.
void check_stored_member(const SharedFile& file, const ZipMember& member);

}  // namespace ptyche
