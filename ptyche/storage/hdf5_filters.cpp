#include "ptyche/storage/hdf5_filters.h"

#include <blosc.h>
#include <hdf5.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Packed bytes that are read from the front; more than there are is damage.
class PackedBytes {
 public:
  PackedBytes(const std::uint8_t* first, std::size_t bytes) : at_(first), left_(bytes) {}
  std::size_t left() const { return left_; }

  const std::uint8_t* take(std::size_t bytes) {
    require(bytes <= left_, "damaged: {} packed bytes expected, {} left", bytes, left_);
    const std::uint8_t* const first = at_;
    at_ += bytes;
    left_ -= bytes;
    return first;
  }
  /// The next `bytes` as a number whose first byte counts most.
  std::uint64_t number(std::size_t bytes) {
    const std::uint8_t* const first = take(bytes);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | first[i];
    return value;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

/// The size that stands at the front of a chunk.
std::size_t stated_size(PackedBytes& packed, std::size_t most_bytes) {
  const std::uint64_t total = packed.number(8);
  require(total <= most_bytes, "damaged: a chunk of {} bytes says that it has {}", most_bytes,
          total);
  return total;
}

void unpack_lz4_block(PackedBytes& packed, std::uint8_t* to, std::size_t bytes) {
  const std::size_t length = packed.number(4);
  const std::uint8_t* const from = packed.take(length);
  const int found =
      LZ4_decompress_safe(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to),
                          static_cast<int>(length), static_cast<int>(bytes));
  require(found >= 0 && static_cast<std::size_t>(found) == bytes, "damaged LZ4 block");
}

void unpack_zstd_block(PackedBytes& packed, std::uint8_t* to, std::size_t bytes) {
  const std::size_t length = packed.number(4);
  const std::size_t found = ZSTD_decompress(to, bytes, packed.take(length), length);
  require(ZSTD_isError(found) == 0 && found == bytes, "damaged zstd block");
}

/// 8 bytes of size, 4 of the block's, then blocks of 4 bytes of size and data; a block of its full
/// size is not packed.
Bytes unpack_lz4(PackedBytes packed, std::size_t most_bytes) {
  Bytes result(stated_size(packed, most_bytes));
  const std::size_t block = packed.number(4);
  require(block > 0 || result.empty(), "damaged: LZ4 blocks of {} bytes", block);
  for (std::size_t done = 0; done < result.size(); done += block) {
    const std::size_t bytes = std::min(block, result.size() - done);
    PackedBytes ahead = packed;
    if (ahead.number(4) == bytes) {
      packed = ahead;
      std::memcpy(result.data() + done, packed.take(bytes), bytes);
    } else {
      unpack_lz4_block(packed, result.data() + done, bytes);
    }
  }
  return result;
}

/// Elements in a block of bitshuffle where the file does not say.
std::size_t default_block(std::size_t element_bytes) {
  constexpr std::size_t kBytes = 8192, kFewest = 128;
  return std::max(kBytes / element_bytes / 8 * 8, kFewest);
}

enum class Within { nothing, lz4, zstd };

/// Bit planes in blocks, each packed on its own; what is left of less than 8 elements is plain.
Bytes unpack_bitshuffle(PackedBytes packed, std::size_t total, std::size_t element_bytes,
                        std::size_t block, Within within) {
  Bytes result(total);
  const std::size_t elements = total / element_bytes, whole = elements / 8 * 8;
  Bytes bits(std::min(block, whole) * element_bytes);
  for (std::size_t done = 0; done < whole; done += block) {
    const std::size_t count = std::min(block, whole - done), bytes = count * element_bytes;
    if (within == Within::lz4) unpack_lz4_block(packed, bits.data(), bytes);
    if (within == Within::zstd) unpack_zstd_block(packed, bits.data(), bytes);
    const std::uint8_t* const from = within == Within::nothing ? packed.take(bytes) : bits.data();
    unshuffle_bits(from, result.data() + done * element_bytes, count, element_bytes);
  }
  const std::size_t rest = total - whole * element_bytes;
  if (rest > 0) std::memcpy(result.data() + whole * element_bytes, packed.take(rest), rest);
  return result;
}

/// parameters: version, version, element bytes, block or 0, packing (0 none, 2 LZ4, 3 zstd).
Bytes unpack_bitshuffle(const std::vector<unsigned>& parameters, PackedBytes packed,
                        std::size_t most_bytes) {
  require(parameters.size() >= 3 && parameters[2] > 0, "damaged: bitshuffle of {} parameters",
          parameters.size());
  const std::size_t element_bytes = parameters[2];
  const unsigned packing = parameters.size() > 4 ? parameters[4] : 0;
  std::size_t block = parameters.size() > 3 ? parameters[3] : 0, total = packed.left();
  if (packing != 0) {
    total = stated_size(packed, most_bytes);
    block = packed.number(4) / element_bytes;
  }
  if (block == 0) block = default_block(element_bytes);
  require(block % 8 == 0 && total <= most_bytes && packing != 1 && packing <= 3,
          "damaged: bitshuffle in blocks of {} elements, packing {}", block, packing);
  return unpack_bitshuffle(packed, total, element_bytes, block,
                           packing == 2   ? Within::lz4
                           : packing == 3 ? Within::zstd
                                          : Within::nothing);
}

/// Marc Lehmann's LZF: a byte below 32 is followed by one more literals than it says, another gives
/// length and distance of what is repeated.
Bytes unpack_lzf(PackedBytes packed, std::size_t most_bytes) {
  Bytes result;
  result.reserve(most_bytes);
  while (packed.left() > 0) {
    const std::size_t control = packed.number(1);
    const bool literals = control < 32;
    std::size_t length = literals ? control + 1 : control >> 5;
    if (length == 7 && !literals) length += packed.number(1);
    if (!literals) length += 2;
    require(result.size() + length <= most_bytes, "damaged LZF: longer than {}", most_bytes);
    if (literals) {
      const std::uint8_t* const from = packed.take(length);
      result.insert(result.end(), from, from + length);
      continue;
    }
    const std::size_t back = ((control & 31) << 8) + packed.number(1) + 1;
    require(back <= result.size(), "damaged LZF: {} bytes back of {}", back, result.size());
    for (std::size_t i = 0; i < length; ++i) result.push_back(result[result.size() - back]);
  }
  return result;
}

Bytes unpack_zstd(PackedBytes packed, std::size_t most_bytes) {
  const std::size_t length = packed.left();
  const std::uint8_t* const from = packed.take(length);
  Bytes result(most_bytes);
  const std::size_t found = ZSTD_decompress(result.data(), most_bytes, from, length);
  require(ZSTD_isError(found) == 0, "damaged zstd: {}", ZSTD_getErrorName(found));
  result.resize(found);
  return result;
}

Bytes unpack_blosc(PackedBytes packed, std::size_t most_bytes) {
  const std::size_t length = packed.left();
  const std::uint8_t* const from = packed.take(length);
  std::size_t size = 0;
  require(blosc_cbuffer_validate(from, length, &size) >= 0 && size <= most_bytes,
          "damaged Blosc chunk");
  Bytes result(size);
  const int found = blosc_decompress_ctx(from, result.data(), size, 1);
  require(found >= 0 && static_cast<std::size_t>(found) == size, "damaged Blosc chunk");
  return result;
}

/// Transpose of an 8 x 8 matrix of bits, row after row of the number's bytes (Warren, Hacker's
/// Delight, 2nd ed. 2012, section 7-3).
inline std::uint64_t transposed_bits(std::uint64_t x) {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
  return x ^ t ^ (t << 28);
}

/// Exchanges, of two numbers, the bits of `a` under `mask << shift` with those of `b` under `mask`.
inline void exchange(std::uint64_t& a, std::uint64_t& b, int shift, std::uint64_t mask) {
  const std::uint64_t t = ((a >> shift) ^ b) & mask;
  a ^= t << shift;
  b ^= t;
}

/// Transpose of an 8 x 8 matrix of bytes: byte j of row i becomes byte i of row j.
inline void transpose_bytes(std::uint64_t (&rows)[8]) {
  for (int i = 0; i < 4; ++i) exchange(rows[i], rows[i + 4], 32, 0x00000000FFFFFFFFULL);
  for (const int i : {0, 1, 4, 5}) exchange(rows[i], rows[i + 2], 16, 0x0000FFFF0000FFFFULL);
  for (const int i : {0, 2, 4, 6}) exchange(rows[i], rows[i + 1], 8, 0x00FF00FF00FF00FFULL);
}

/// Eight bit planes of `plane` bytes each as 8 * plane bytes in their order. Planes without a bit
/// are most of a detector's high bytes.
void join_planes(const std::uint8_t* bits, std::size_t plane, std::uint8_t* to) {
  std::size_t group = 0;
  for (; group + 8 <= plane; group += 8, to += 64) {
    std::uint64_t rows[8], any = 0;
    for (std::size_t bit = 0; bit < 8; ++bit) {
      std::memcpy(&rows[bit], bits + bit * plane + group, 8);
      any |= rows[bit];
    }
    if (any != 0) {
      transpose_bytes(rows);
      for (std::uint64_t& row : rows) row = transposed_bits(row);
    }
    std::memcpy(to, rows, 64);
  }
  for (; group < plane; ++group, to += 8) {
    std::uint64_t x = 0;
    for (std::size_t bit = 0; bit < 8; ++bit)
      x |= static_cast<std::uint64_t>(bits[bit * plane + group]) << (8 * bit);
    x = transposed_bits(x);
    std::memcpy(to, &x, 8);
  }
}

template <std::size_t kBytes>
void interleave(const std::uint8_t* planes, std::size_t count, std::uint8_t* to) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < kBytes; ++byte)
      to[i * kBytes + byte] = planes[byte * count + i];
}

/// All first bytes, all second bytes, ... as elements.
void interleave(const std::uint8_t* planes, std::size_t count, std::size_t bytes,
                std::uint8_t* to) {
  if (bytes == 2) return interleave<2>(planes, count, to);
  if (bytes == 4) return interleave<4>(planes, count, to);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < bytes; ++byte)
      to[i * bytes + byte] = planes[byte * count + i];
}

}  // namespace

void unshuffle_bits(const std::uint8_t* bits, std::uint8_t* elements, std::size_t count,
                    std::size_t element_bytes) {
  const std::size_t plane = count / 8;
  if (element_bytes == 1) return join_planes(bits, plane, elements);
  thread_local Bytes bytes;
  bytes.resize(count * element_bytes);
  for (std::size_t byte = 0; byte < element_bytes; ++byte)
    join_planes(bits + byte * count, plane, bytes.data() + byte * count);
  interleave(bytes.data(), count, element_bytes, elements);
}

std::vector<std::uint8_t> unpacked(int filter, const std::vector<unsigned>& parameters,
                                   const std::uint8_t* first, std::size_t bytes,
                                   std::size_t most_bytes) {
  const PackedBytes packed(first, bytes);
  switch (filter) {
    case kBitshuffle:
      return unpack_bitshuffle(parameters, packed, most_bytes);
    case kLz4:
      return unpack_lz4(packed, most_bytes);
    case kLzf:
      return unpack_lzf(packed, most_bytes);
    case kZstd:
      return unpack_zstd(packed, most_bytes);
    case kBlosc:
      return unpack_blosc(packed, most_bytes);
    default:
      throw InvalidInput(fmt::format("expected a filter that is built in, found {}", filter));
  }
}

namespace {

/// No chunk of HDF5 is larger (H5Dchunk.c: sizes are 32 bits).
constexpr std::size_t kLargestChunk = std::size_t{1} << 32;

/// The unpacked size, where bytes or parameters say it: only LZF's stand in the parameters alone.
std::size_t most_bytes_of(int filter, std::size_t parameters, const unsigned* values,
                          const std::uint8_t* packed, std::size_t bytes) {
  if (filter == kLzf && parameters > 2) return values[2];
  if (filter == kZstd) {
    const unsigned long long size = ZSTD_getFrameContentSize(packed, bytes);
    return size < kLargestChunk ? static_cast<std::size_t>(size) : 0;
  }
  return kLargestChunk;
}

template <int filter>
std::size_t unpack_for_library(unsigned flags, std::size_t parameters, const unsigned* values,
                               std::size_t bytes, std::size_t* buffer_bytes, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;  // nothing is packed here
  try {
    const auto* const packed = static_cast<const std::uint8_t*>(*buffer);
    const Bytes result = unpacked(filter, {values, values + parameters}, packed, bytes,
                                  most_bytes_of(filter, parameters, values, packed, bytes));
    void* const own = H5allocate_memory(std::max<std::size_t>(result.size(), 1), false);
    if (own == nullptr) return 0;
    std::memcpy(own, result.data(), result.size());
    H5free_memory(*buffer);
    *buffer = own;
    *buffer_bytes = result.size();
    return result.size();
  } catch (const std::exception&) {
    return 0;  // the library reports a failed filter
  }
}

template <int filter>
void register_filter(const char* name) {
  if (H5Zfilter_avail(filter) > 0) return;  // a plug-in stands first
  const H5Z_class2_t description{H5Z_CLASS_T_VERS,          filter, 0, 1, name, nullptr, nullptr,
                                 unpack_for_library<filter>};
  H5Zregister(&description);
}

}  // namespace

void register_hdf5_filters() {
  static const bool done = [] {
    register_filter<kBitshuffle>("bitshuffle");
    register_filter<kLz4>("lz4");
    register_filter<kLzf>("lzf");
    register_filter<kZstd>("zstd");
    register_filter<kBlosc>("blosc");
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace ptyche
