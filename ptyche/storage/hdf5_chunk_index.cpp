#include "ptyche/storage/hdf5_chunk_index.h"

#include <cstring>
#include <string>
#include <string_view>

#include "ptyche/core/error.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {
namespace {

constexpr std::uint64_t kUndefined = ~std::uint64_t{0};
constexpr int kLayout = 8, kContinuation = 16;  // messages of an object header
constexpr std::size_t kLongestHeader = 1 << 20;

/// Not as the specification says, or another version of it.
struct NotAsSpecified {};

void as_specified(bool is_so) {
  if (!is_so) throw NotAsSpecified();
}

/// Some bytes of the file, read in order.
class IndexBytes {
 public:
  IndexBytes(const ByteReader& file, std::int64_t base, std::uint64_t at, std::size_t count)
      : bytes_(count, '\0') {
    as_specified(at < (std::uint64_t{1} << 62));
    file.read(base + static_cast<std::int64_t>(at), static_cast<std::int64_t>(count),
              bytes_.data());
  }
  std::uint64_t number(std::size_t bytes) {
    as_specified(bytes <= 8 && left() >= bytes);
    std::uint64_t value = 0;  // little-endian, as this processor
    std::memcpy(&value, bytes_.data() + at_, bytes);
    at_ += bytes;
    return value;
  }
  bool begins(std::string_view signature) {
    const bool does = std::string_view(bytes_).substr(at_).starts_with(signature);
    if (does) at_ += signature.size();
    return does;
  }
  void skip(std::size_t bytes) {
    as_specified(left() >= bytes);
    at_ += bytes;
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

/// Messages of an object header, block after block.
class ObjectHeader {
 public:
  ObjectHeader(const ByteReader& file, std::int64_t base) : file_(file), base_(base) {}

  /// Where the tree of the dataset begins whose header is at an address.
  std::uint64_t tree_of(std::uint64_t header) {
    IndexBytes start(file_, base_, header, 16);
    start.begins("OHDR") ? begin_second(start, header) : begin_first(start, header);
    for (int block = 0; !blocks_.empty() && block < 64; ++block) {
      const Block next = blocks_.back();
      blocks_.pop_back();
      search(next);
    }
    as_specified(tree_.has_value());
    return *tree_;
  }

 private:
  struct Block {
    std::uint64_t at = 0, bytes = 0;
  };

  void begin_first(IndexBytes& start, std::uint64_t header) {
    as_specified(start.number(1) == 1);
    start.skip(7);  // reserved, number of messages, references
    blocks_.push_back({header + 16, start.number(4)});
  }

  void begin_second(IndexBytes& start, std::uint64_t header) {
    second_ = true;
    as_specified(start.number(1) == 2);
    const std::uint64_t flags = start.number(1);
    has_order_ = (flags & 4) != 0;
    const std::size_t before = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const std::size_t length = std::size_t{1} << (flags & 3);
    IndexBytes size(file_, base_, header + before, length);
    blocks_.push_back({header + before + length, size.number(length)});
  }

  void search(const Block& block) {
    as_specified(block.bytes <= kLongestHeader);
    IndexBytes bytes(file_, base_, block.at, static_cast<std::size_t>(block.bytes));
    std::size_t behind = 0;
    if (second_ && bytes.begins("OCHK")) behind = 4;  // a checksum
    const std::size_t head = second_ ? 4 + (has_order_ ? 2U : 0U) : 8;
    while (bytes.left() >= head + behind) {
      const std::uint64_t type = bytes.number(second_ ? 1 : 2);
      const std::uint64_t length = bytes.number(2);
      bytes.skip(head - (second_ ? 3 : 4));
      as_specified(length + behind <= bytes.left());
      const std::size_t end = bytes.left() - static_cast<std::size_t>(length);
      if (type == kLayout) read_layout(bytes);
      if (type == kContinuation) {
        const std::uint64_t at = bytes.number(8);
        blocks_.push_back({at, bytes.number(8)});
      }
      bytes.skip(bytes.left() - end);
    }
  }

  /// Version 3, chunked.
  void read_layout(IndexBytes& bytes) {
    as_specified(bytes.number(1) == 3 && bytes.number(1) == 2);
    bytes.skip(1);  // axes and one more
    tree_ = bytes.number(8);
  }

  const ByteReader& file_;
  std::int64_t base_;
  bool second_ = false, has_order_ = false;
  std::vector<Block> blocks_;
  std::optional<std::uint64_t> tree_;
};

/// The leaves of a tree of version 1.
class ChunkTree {
 public:
  ChunkTree(const ByteReader& file, std::int64_t base, std::size_t rank, std::size_t most)
      : file_(file), base_(base), rank_(rank), most_(most) {}

  std::vector<IndexedChunk> chunks(std::uint64_t root) {
    if (root != kUndefined) visit(root, -1);
    return std::move(chunks_);
  }

 private:
  /// level  that the node must have; -1 = any
  void visit(std::uint64_t node, int level) {
    as_specified(++nodes_ <= most_ + 64);
    IndexBytes head(file_, base_, node, 24);
    as_specified(head.begins("TREE") && head.number(1) == 1);
    const auto own = static_cast<int>(head.number(1));
    as_specified(own < 16 && (level < 0 || own == level));
    const std::uint64_t entries = head.number(2);
    const std::size_t key = 8 + 8 * (rank_ + 1);
    IndexBytes body(file_, base_, node + 24, static_cast<std::size_t>(entries) * (key + 8));
    for (std::uint64_t entry = 0; entry < entries; ++entry) {
      IndexedChunk chunk{.bytes = static_cast<std::int64_t>(body.number(4)),
                         .skipped = static_cast<std::uint32_t>(body.number(4))};
      for (std::size_t axis = 0; axis < rank_; ++axis)
        chunk.offset.push_back(static_cast<std::int64_t>(body.number(8)));
      body.skip(8);
      const std::uint64_t child = body.number(8);
      as_specified(child != kUndefined && child < (std::uint64_t{1} << 62));
      if (own > 0) {
        visit(child, own - 1);
        continue;
      }
      chunk.at = static_cast<std::int64_t>(child);
      as_specified(chunks_.size() < most_);
      chunks_.push_back(std::move(chunk));
    }
  }

  const ByteReader& file_;
  std::int64_t base_;
  std::size_t rank_, most_, nodes_ = 0;
  std::vector<IndexedChunk> chunks_;
};

/// The file's addresses and lengths have eight bytes each.
bool has_usual_sizes(hid_t dataset) {
  const Hdf5Id file(H5Iget_file_id(dataset), H5Fclose);
  const Hdf5Id created(H5Fget_create_plist(file.get()), H5Pclose);
  std::size_t addresses = 0, lengths = 0;
  return H5Pget_sizes(created.get(), &addresses, &lengths) >= 0 && addresses == 8 && lengths == 8;
}

}  // namespace

std::optional<std::vector<IndexedChunk>> chunks_by_tree(hid_t dataset, const ByteReader& file,
                                                        std::int64_t base, std::size_t rank,
                                                        std::size_t most) {
  H5O_info_t info;
  if (!has_usual_sizes(dataset) || H5Oget_info2(dataset, &info, H5O_INFO_BASIC) < 0)
    return std::nullopt;
  try {
    return ChunkTree(file, base, rank, most).chunks(ObjectHeader(file, base).tree_of(info.addr));
  } catch (const NotAsSpecified&) {
    return std::nullopt;
  } catch (const InvalidInput&) {  // beyond the file's end
    return std::nullopt;
  }
}

}  // namespace ptyche
