// The values of an HDF5 dataset, fetched past the library on all cores: the library itself has one
// thread, and unpacks what is then cut away.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "ptyche/data/array.h"
#include "ptyche/storage/frame_stack.h"

namespace ptyche {

/// A part of a dataset: its last two axes are rows and columns of images, all axes before them
/// number the images.
struct ImageBlock {
  std::int64_t first = 0, count = 0;  ///< images
  Window window;

  /// All of an array of this shape (rank 2 or more).
  static ImageBlock whole(const std::vector<std::int64_t>& shape);
};

/// Reads a part of a dataset into `to` (count, window's rows, window's columns), if it can be read
/// so: contiguous, or chunks of any shape that are plain or packed by filters of hdf5_filters.h,
/// gzip and shuffle, of numbers that `memory_type` holds as they are. Returns false, and leaves it
/// to the library, where it cannot. What was never written has the dataset's fill value. Throws
/// InvalidInput for damaged chunks.
bool read_past_library(hid_t dataset, hid_t memory_type, const std::vector<std::int64_t>& shape,
                       const ImageBlock& block, void* to);

/// Where all chunks of a dataset lie, looked up once: then many threads may read at once, without
/// the library.
class ChunkTable {
 public:
  /// nullptr where the dataset is not chunked, or must be read by the library (see
  /// read_past_library). Throws InvalidInput for damage.
  static std::shared_ptr<const ChunkTable> of(hid_t dataset, hid_t memory_type,
                                              const std::vector<std::int64_t>& shape);
  ~ChunkTable();
  ChunkTable(const ChunkTable&) = delete;
  ChunkTable& operator=(const ChunkTable&) = delete;

  /// As many neighbouring images as share chunks.
  std::int64_t images_together() const;
  /// As read_past_library; `block` has an image at least. Throws InvalidInput for damaged chunks.
  void read(const ImageBlock& block, void* to) const;

 private:
  struct Chunks;
  explicit ChunkTable(std::unique_ptr<const Chunks> chunks);
  std::unique_ptr<const Chunks> chunks_;
};

/// A dataset that lies in one piece in the file, as `frames` says what it is; nullptr for another.
std::unique_ptr<FrameStack> contiguous_stack(hid_t dataset, hid_t memory_type,
                                             const std::vector<std::int64_t>& shape,
                                             const StackShape& frames);

/// The same as read_past_library by the library. False where it fails.
bool read_by_library(hid_t dataset, hid_t memory_type, const std::vector<std::int64_t>& shape,
                     const ImageBlock& block, void* to);

}  // namespace ptyche
