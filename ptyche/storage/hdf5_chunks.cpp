#include "ptyche/storage/hdf5_chunks.h"

#include <libdeflate.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "ptyche/core/error.h"
#include "ptyche/storage/frame_stack.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/hdf5_chunk_index.h"
#include "ptyche/storage/hdf5_filters.h"

namespace ptyche {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Lengths = std::vector<std::int64_t>;

struct Filter {
  int number = 0;
  std::vector<unsigned> parameters;
};

/// How a dataset lies in its file.
struct Storage {
  std::shared_ptr<const SharedFile> file;
  Lengths shape, chunk;         ///< chunk: of a contiguous dataset its shape
  std::vector<Filter> filters;  ///< in the order in which they packed
  std::int64_t element_bytes = 0;
  std::int64_t base = 0;            ///< byte of the file at which the addresses of chunks begin
  std::int64_t contiguous_at = -1;  ///< byte of the file
  Bytes fill;

  std::int64_t images() const { return product(shape, 0, shape.size() - 2); }
  std::int64_t chunk_bytes() const { return product(chunk, 0, chunk.size()) * element_bytes; }
  static std::int64_t product(const Lengths& lengths, std::size_t begin, std::size_t end) {
    std::int64_t result = 1;
    for (std::size_t i = begin; i < end; ++i) result *= lengths[i];
    return result;
  }
};

bool can_unpack(int filter) {
  constexpr int kOurs[] = {
      kBlosc, kLzf, kLz4, kBitshuffle, kZstd, H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE};
  return std::find(std::begin(kOurs), std::end(kOurs), filter) != std::end(kOurs);
}

std::optional<std::vector<Filter>> filters_of(hid_t properties) {
  std::vector<Filter> filters;
  const int count = H5Pget_nfilters(properties);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t parameters = 32;
    unsigned values[32] = {};
    const int number = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &parameters,
                                      values, 0, nullptr, &config);
    if (!can_unpack(number) || parameters > 32) return std::nullopt;
    filters.push_back({number, {values, values + parameters}});
  }
  return filters;
}

/// The file as the library has it open, whatever has taken its name since; nothing where the
/// library reads it by another way than plain calls of the system.
std::shared_ptr<const SharedFile> file_of(hid_t dataset) {
  const Hdf5Id file(H5Iget_file_id(dataset), H5Fclose);
  const Hdf5Id access(H5Fget_access_plist(file.get()), H5Pclose);
  void* descriptor = nullptr;
  if (H5Pget_driver(access.get()) != H5FD_SEC2 ||
      H5Fget_vfd_handle(file.get(), access.get(), &descriptor) < 0 || descriptor == nullptr)
    return nullptr;
  return std::make_shared<SharedFile>(*static_cast<const int*>(descriptor));
}

/// Where byte 0 of HDF5's addresses lies in the file.
std::int64_t base_of(hid_t dataset) {
  const Hdf5Id file(H5Iget_file_id(dataset), H5Fclose);
  const Hdf5Id created(H5Fget_create_plist(file.get()), H5Pclose);
  hsize_t bytes = 0;
  return H5Pget_userblock(created.get(), &bytes) < 0 ? -1 : static_cast<std::int64_t>(bytes);
}

bool place_chunks(hid_t properties, Storage& storage) {
  std::vector<hsize_t> lengths(storage.shape.size());
  if (H5Pget_chunk(properties, static_cast<int>(lengths.size()), lengths.data()) < 0) return false;
  storage.chunk.assign(lengths.begin(), lengths.end());
  const auto filters = filters_of(properties);
  if (!filters || storage.chunk_bytes() <= 0) return false;
  storage.filters = *filters;
  return true;
}

bool place_contiguous(hid_t dataset, Storage& storage) {
  const haddr_t at = H5Dget_offset(dataset);  // a user block is in it, other than in a chunk's
  if (at == HADDR_UNDEF) return false;
  storage.contiguous_at = static_cast<std::int64_t>(at);
  storage.chunk = storage.shape;
  return true;
}

/// Nothing where the library must do it.
std::optional<Storage> storage_of(hid_t dataset, hid_t memory_type, const Lengths& shape) {
  const Hdf5Id type(H5Dget_type(dataset), H5Tclose);
  const Hdf5Id properties(H5Dget_create_plist(dataset), H5Pclose);
  if (shape.size() < 2 || H5Tequal(type.get(), memory_type) <= 0) return std::nullopt;
  if (H5Pget_external_count(properties.get()) != 0) return std::nullopt;
  Storage storage;
  storage.file = file_of(dataset);
  storage.shape = shape;
  storage.base = base_of(dataset);
  storage.element_bytes = static_cast<std::int64_t>(H5Tget_size(memory_type));
  storage.fill.resize(static_cast<std::size_t>(storage.element_bytes));
  if (!storage.file || storage.base < 0 ||
      H5Pget_fill_value(properties.get(), memory_type, storage.fill.data()) < 0)
    return std::nullopt;
  const H5D_layout_t layout = H5Pget_layout(properties.get());
  const bool placed = layout == H5D_CHUNKED      ? place_chunks(properties.get(), storage)
                      : layout == H5D_CONTIGUOUS ? place_contiguous(dataset, storage)
                                                 : false;
  return placed ? std::optional(storage) : std::nullopt;
}

// One chunk.

struct Unpacker {
  Unpacker() : deflate(libdeflate_alloc_decompressor(), libdeflate_free_decompressor) {}
  std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> deflate;
  Bytes packed, other;
};

void inflate(Unpacker& own, std::int64_t bytes) {
  own.other.resize(static_cast<std::size_t>(bytes));
  std::size_t length = 0;
  const bool whole =
      libdeflate_zlib_decompress(own.deflate.get(), own.packed.data(), own.packed.size(),
                                 own.other.data(), own.other.size(), &length) == LIBDEFLATE_SUCCESS;
  require(whole, "damaged gzip chunk");
  own.other.resize(length);
  own.packed.swap(own.other);
}

template <std::size_t kBytes>
void interleave_planes(const std::uint8_t* planes, std::size_t count, std::uint8_t* to) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t byte = 0; byte < kBytes; ++byte)
      to[i * kBytes + byte] = planes[byte * count + i];
}

/// HDF5's shuffle: all first bytes, then all second bytes; what is left over stays behind.
void unshuffle(Unpacker& own, std::size_t bytes) {
  own.other.resize(own.packed.size());
  const std::size_t count = own.packed.size() / bytes, whole = count * bytes;
  std::copy(own.packed.begin() + static_cast<std::ptrdiff_t>(whole), own.packed.end(),
            own.other.begin() + static_cast<std::ptrdiff_t>(whole));
  if (bytes == 2) interleave_planes<2>(own.packed.data(), count, own.other.data());
  if (bytes == 4) interleave_planes<4>(own.packed.data(), count, own.other.data());
  if (bytes == 8) interleave_planes<8>(own.packed.data(), count, own.other.data());
  for (std::size_t byte = 0; bytes != 2 && bytes != 4 && bytes != 8 && byte < bytes; ++byte)
    for (std::size_t i = 0; i < count; ++i)
      own.other[i * bytes + byte] = own.packed[byte * count + i];
  own.packed.swap(own.other);
}

/// own.packed as the file has it -> as the program has it.
void unpack(Unpacker& own, const Storage& storage, std::uint32_t skipped) {
  for (std::size_t i = storage.filters.size(); i-- > 0;) {
    if ((skipped >> i & 1) != 0) continue;
    const Filter& filter = storage.filters[i];
    if (filter.number == H5Z_FILTER_DEFLATE)
      inflate(own, storage.chunk_bytes());
    else if (filter.number == H5Z_FILTER_SHUFFLE)
      unshuffle(own, static_cast<std::size_t>(storage.element_bytes));
    else
      own.packed = unpacked(filter.number, filter.parameters, own.packed.data(), own.packed.size(),
                            static_cast<std::size_t>(storage.chunk_bytes()));
  }
  require(static_cast<std::int64_t>(own.packed.size()) == storage.chunk_bytes(),
          "damaged chunk: {} bytes expected, found {}", storage.chunk_bytes(), own.packed.size());
}

/// Where a chunk lies.
struct ChunkBytes {
  std::int64_t at = -1;  ///< in the file; -1 = never written
  std::int64_t bytes = 0;
  std::uint32_t skipped = 0;  ///< bit i: filter i was not applied
};

struct ChunkPlace {
  Lengths offset;
  ChunkBytes packed;
};

/// Which image the leading indices of a dataset's element number.
std::int64_t image_number(const Lengths& shape, const Lengths& index) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis)
    number = number * shape[axis] + index[axis];
  return number;
}

/// Copies of an unpacked chunk what belongs to the block; `values` null: the fill value.
class Scatter {
 public:
  Scatter(const Storage& storage, const ImageBlock& block, std::uint8_t* to)
      : storage_(storage), block_(block), to_(to), rank_(storage.shape.size()) {}

  void operator()(const Lengths& offset, const std::uint8_t* values) const {
    const std::int64_t image_bytes =
        storage_.chunk[rank_ - 2] * storage_.chunk[rank_ - 1] * storage_.element_bytes;
    const std::int64_t images = Storage::product(storage_.chunk, 0, rank_ - 2);
    for (std::int64_t i = 0; i < images; ++i) {
      const std::int64_t image = image_of(offset, i) - block_.first;
      if (image < 0 || image >= block_.count) continue;
      copy_image(offset, image, values == nullptr ? nullptr : values + i * image_bytes);
    }
  }

 private:
  /// The image that is the chunk's i-th; -1 beyond the dataset's end.
  std::int64_t image_of(const Lengths& offset, std::int64_t i) const {
    Lengths index = offset;
    for (std::size_t axis = rank_ - 2; axis-- > 0;) {
      index[axis] += i % storage_.chunk[axis];
      i /= storage_.chunk[axis];
      if (index[axis] >= storage_.shape[axis]) return -1;
    }
    return image_number(storage_.shape, index);
  }

  void copy_image(const Lengths& offset, std::int64_t image, const std::uint8_t* values) const {
    const Window& window = block_.window;
    const std::int64_t top = offset[rank_ - 2], left = offset[rank_ - 1];
    const std::int64_t lines = storage_.chunk[rank_ - 2], line = storage_.chunk[rank_ - 1];
    const std::int64_t row_begin = std::max(window.row_begin, top);
    const std::int64_t row_end = std::min(window.row_end, top + lines);
    const std::int64_t col_begin = std::max(window.col_begin, left);
    const std::int64_t col_end = std::min(window.col_end, left + line);
    const std::int64_t each = storage_.element_bytes;
    if (col_begin >= col_end || row_begin >= row_end) return;
    if (values != nullptr && line == window.cols() && left == window.col_begin) {  // whole rows
      put(to_ + (image * window.rows() + row_begin - window.row_begin) * line * each,
          values + (row_begin - top) * line * each, (row_end - row_begin) * line);
      return;
    }
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      std::uint8_t* const out =
          to_ + ((image * window.rows() + row - window.row_begin) * window.cols() + col_begin -
                 window.col_begin) *
                    each;
      put(out,
          values == nullptr ? nullptr : values + ((row - top) * line + col_begin - left) * each,
          col_end - col_begin);
    }
  }

  void put(std::uint8_t* out, const std::uint8_t* from, std::int64_t count) const {
    const auto each = static_cast<std::size_t>(storage_.element_bytes);
    if (from != nullptr)
      std::memcpy(out, from, static_cast<std::size_t>(count) * each);
    else
      for (std::int64_t i = 0; i < count; ++i, out += each)
        std::memcpy(out, storage_.fill.data(), each);
  }

  const Storage& storage_;
  const ImageBlock& block_;
  std::uint8_t* to_;
  std::size_t rank_;
};

// Which chunks.

/// The chunks that the block touches, in the file's order.
std::vector<Lengths> offsets_of(const Storage& storage, const ImageBlock& block) {
  const std::size_t rank = storage.shape.size();
  Lengths begin(rank, 0), end = storage.shape;
  if (rank >= 3) {  // of the first axis the images say which part it is
    const std::int64_t inner =
        std::max<std::int64_t>(Storage::product(storage.shape, 1, rank - 2), 1);
    begin[0] = block.first / inner;
    end[0] = std::min((block.first + block.count - 1) / inner + 1, storage.shape[0]);
  }
  begin[rank - 2] = block.window.row_begin, end[rank - 2] = block.window.row_end;
  begin[rank - 1] = block.window.col_begin, end[rank - 1] = block.window.col_end;
  for (std::size_t axis = 0; axis < rank; ++axis)
    begin[axis] = begin[axis] / storage.chunk[axis] * storage.chunk[axis];
  std::vector<Lengths> offsets;
  for (Lengths at = begin;;) {
    offsets.push_back(at);
    std::size_t axis = rank;
    while (axis-- > 0) {
      at[axis] += storage.chunk[axis];
      if (at[axis] < end[axis]) break;
      at[axis] = begin[axis];
      if (axis == 0) return offsets;
    }
  }
}

/// Packed, a chunk is hardly larger than plain.
std::int64_t most_packed(const Storage& storage) { return 2 * storage.chunk_bytes() + 65536; }

std::optional<ChunkBytes> place_of(hid_t dataset, const Storage& storage, const Lengths& offset) {
  const std::vector<hsize_t> at(offset.begin(), offset.end());
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  unsigned skipped = 0;
  if (H5Dget_chunk_info_by_coord(dataset, at.data(), &skipped, &address, &bytes) < 0)
    return std::nullopt;
  ChunkBytes place{-1, 0, skipped};
  if (address == HADDR_UNDEF || bytes == 0) return place;
  require(static_cast<std::int64_t>(bytes) <= most_packed(storage),
          "damaged chunk: at most {} bytes expected, found {}", most_packed(storage), bytes);
  place.at = static_cast<std::int64_t>(address) + storage.base;
  place.bytes = static_cast<std::int64_t>(bytes);
  return place;
}

/// The chunk's number, the last axis counting fastest.
std::size_t chunk_number(const Storage& storage, const Lengths& offset) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < offset.size(); ++axis) {
    const std::int64_t each = storage.chunk[axis];
    number = number * ((storage.shape[axis] + each - 1) / each) + offset[axis] / each;
  }
  return static_cast<std::size_t>(number);
}

bool is_chunk(const Storage& storage, const Lengths& offset) {
  for (std::size_t axis = 0; axis < offset.size(); ++axis)
    if (offset[axis] < 0 || offset[axis] >= storage.shape[axis] ||
        offset[axis] % storage.chunk[axis] != 0)
      return false;
  return true;
}

constexpr std::size_t kMostChunks = std::size_t{1} << 22;  // whose places are kept

/// All chunks by their numbers, by the file's own index; nothing where the library has to be asked,
/// which is also believed where it says of the first or the last chunk something else.
std::optional<std::vector<ChunkBytes>> places_by_tree(hid_t dataset, const Storage& storage) {
  double count = 1;
  for (std::size_t axis = 0; axis < storage.shape.size(); ++axis)
    count *= std::ceil(static_cast<double>(storage.shape[axis]) /
                       static_cast<double>(storage.chunk[axis]));
  if (count > static_cast<double>(kMostChunks)) return std::nullopt;
  const auto chunks =
      chunks_by_tree(dataset, *storage.file, storage.base, storage.shape.size(), kMostChunks);
  if (!chunks || chunks->empty()) return std::nullopt;
  std::vector<ChunkBytes> places(static_cast<std::size_t>(count));
  for (const IndexedChunk& chunk : *chunks) {
    if (!is_chunk(storage, chunk.offset)) return std::nullopt;
    require(chunk.bytes <= most_packed(storage),
            "damaged chunk: at most {} bytes expected, found {}", most_packed(storage),
            chunk.bytes);
    places[chunk_number(storage, chunk.offset)] = {chunk.at + storage.base, chunk.bytes,
                                                   chunk.skipped};
  }
  for (const IndexedChunk* chunk : {&chunks->front(), &chunks->back()}) {
    const auto said = place_of(dataset, storage, chunk->offset);
    if (!said || said->at != chunk->at + storage.base || said->bytes != chunk->bytes)
      return std::nullopt;
  }
  return places;
}

/// Where these chunks lie; nothing where the library must read them.
std::optional<std::vector<ChunkPlace>> places_of(hid_t dataset, const Storage& storage,
                                                 const std::vector<Lengths>& offsets) {
  constexpr std::size_t kFew = 64;  // the library is quick enough
  const auto all = offsets.size() > kFew ? places_by_tree(dataset, storage) : std::nullopt;
  std::vector<ChunkPlace> places;
  for (const Lengths& offset : offsets) {
    const auto place = all ? std::optional((*all)[chunk_number(storage, offset)])
                           : place_of(dataset, storage, offset);
    if (!place) return std::nullopt;
    places.push_back({offset, *place});
  }
  return places;
}

void read_chunks(const std::vector<ChunkPlace>& places, const Storage& storage,
                 const Scatter& scatter) {
  on_all_cores(static_cast<std::int64_t>(places.size()), [&](std::int64_t i) {
    thread_local Unpacker own;
    const ChunkPlace& place = places[static_cast<std::size_t>(i)];
    const ChunkBytes& packed = place.packed;
    if (packed.at < 0) return scatter(place.offset, nullptr);
    own.packed.resize(static_cast<std::size_t>(packed.bytes));
    storage.file->read(packed.at, packed.bytes, own.packed.data());
    unpack(own, storage, packed.skipped);
    scatter(place.offset, own.packed.data());
  });
}

std::unique_ptr<FrameStack> stack_in(const Storage& storage, const StackShape& shape) {
  return plain_stack(shape, {storage.file, storage.contiguous_at, shape.frame_bytes(), false});
}

bool read_contiguous(const Storage& storage, const ImageBlock& block, at::ScalarType type,
                     void* to) {
  const std::size_t rank = storage.shape.size();
  const StackShape shape{.frames = storage.images(),
                         .rows = storage.shape[rank - 2],
                         .cols = storage.shape[rank - 1],
                         .type = type};
  stack_in(storage, shape)
      ->read(block.first, block.window,
             at::from_blob(to, {block.count, block.window.rows(), block.window.cols()}, type));
  return true;
}

/// A type of so many bytes, to move them by.
std::optional<at::ScalarType> type_of_bytes(std::int64_t bytes) {
  if (bytes == 1) return at::kByte;
  if (bytes == 2) return at::kShort;
  if (bytes == 4) return at::kInt;
  if (bytes == 8) return at::kLong;
  if (bytes == 16) return at::kComplexDouble;
  return std::nullopt;
}

}  // namespace

ImageBlock ImageBlock::whole(const std::vector<std::int64_t>& shape) {
  const std::size_t rank = shape.size();
  return {0, Storage::product(shape, 0, rank - 2), {0, shape[rank - 2], 0, shape[rank - 1]}};
}

bool read_past_library(hid_t dataset, hid_t memory_type, const std::vector<std::int64_t>& shape,
                       const ImageBlock& block, void* to) {
  const auto storage = storage_of(dataset, memory_type, shape);
  if (!storage || block.count == 0) return false;
  if (storage->contiguous_at >= 0) {
    const auto type = type_of_bytes(storage->element_bytes);
    return type && read_contiguous(*storage, block, *type, to);
  }
  const auto places = places_of(dataset, *storage, offsets_of(*storage, block));
  if (!places) return false;
  read_chunks(*places, *storage, Scatter(*storage, block, static_cast<std::uint8_t*>(to)));
  return true;
}

struct ChunkTable::Chunks {
  Storage storage;
  std::vector<ChunkBytes> places;  // in the order of the chunks' numbers
};

std::shared_ptr<const ChunkTable> ChunkTable::of(hid_t dataset, hid_t memory_type,
                                                 const std::vector<std::int64_t>& shape) {
  auto storage = storage_of(dataset, memory_type, shape);
  if (!storage || storage->contiguous_at >= 0) return nullptr;
  const std::vector<Lengths> offsets = offsets_of(*storage, ImageBlock::whole(shape));
  if (offsets.size() > kMostChunks) return nullptr;
  auto chunks = std::make_unique<Chunks>(Chunks{std::move(*storage), {}});
  const auto places = places_of(dataset, chunks->storage, offsets);
  if (!places) return nullptr;
  for (const ChunkPlace& place : *places) chunks->places.push_back(place.packed);
  return std::shared_ptr<const ChunkTable>(new ChunkTable(std::move(chunks)));
}

ChunkTable::ChunkTable(std::unique_ptr<const Chunks> chunks) : chunks_(std::move(chunks)) {}
ChunkTable::~ChunkTable() = default;

std::int64_t ChunkTable::images_together() const {
  const Lengths &shape = chunks_->storage.shape, &chunk = chunks_->storage.chunk;
  std::int64_t images = 1;
  for (std::size_t axis = shape.size() - 2; axis-- > 0;)
    images = chunk[axis] > 1 ? chunk[axis] * Storage::product(shape, axis + 1, shape.size() - 2)
                             : images;
  return images;
}

void ChunkTable::read(const ImageBlock& block, void* to) const {
  std::vector<ChunkPlace> places;
  for (Lengths& offset : offsets_of(chunks_->storage, block)) {
    const ChunkBytes packed = chunks_->places[chunk_number(chunks_->storage, offset)];
    places.push_back({std::move(offset), packed});
  }
  read_chunks(places, chunks_->storage,
              Scatter(chunks_->storage, block, static_cast<std::uint8_t*>(to)));
}

std::unique_ptr<FrameStack> contiguous_stack(hid_t dataset, hid_t memory_type,
                                             const std::vector<std::int64_t>& shape,
                                             const StackShape& frames) {
  const auto storage = storage_of(dataset, memory_type, shape);
  return storage && storage->contiguous_at >= 0 ? stack_in(*storage, frames) : nullptr;
}

bool read_by_library(hid_t dataset, hid_t memory_type, const std::vector<std::int64_t>& shape,
                     const ImageBlock& block, void* to) {
  const std::size_t rank = shape.size();
  const Window& window = block.window;
  const auto image =
      static_cast<std::size_t>(window.rows() * window.cols()) * H5Tget_size(memory_type);
  const Hdf5Id space(H5Dget_space(dataset), H5Sclose);
  const std::int64_t line = rank < 3 ? 1 : shape[rank - 3];
  for (std::int64_t done = 0; done < block.count;) {  // images of one line of the last such axis
    const std::int64_t first = block.first + done;
    const std::int64_t count = std::min(block.count - done, line - first % line);
    std::vector<hsize_t> start(rank, 0), lengths(rank, 1);
    std::int64_t rest = first;
    for (std::size_t axis = rank - 2; axis-- > 0; rest /= shape[axis])
      start[axis] = static_cast<hsize_t>(rest % shape[axis]);
    if (rank >= 3) lengths[rank - 3] = static_cast<hsize_t>(count);
    start[rank - 2] = static_cast<hsize_t>(window.row_begin);
    start[rank - 1] = static_cast<hsize_t>(window.col_begin);
    lengths[rank - 2] = static_cast<hsize_t>(window.rows());
    lengths[rank - 1] = static_cast<hsize_t>(window.cols());
    const Hdf5Id memory(H5Screate_simple(static_cast<int>(rank), lengths.data(), nullptr),
                        H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, lengths.data(),
                            nullptr) < 0 ||
        H5Dread(dataset, memory_type, memory.get(), space.get(), H5P_DEFAULT,
                static_cast<char*>(to) + static_cast<std::size_t>(done) * image) < 0)
      return false;
    done += count;
  }
  return true;
}

}  // namespace ptyche
