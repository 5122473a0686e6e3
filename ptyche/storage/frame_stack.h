// Patterns that lie in a file and are read in parts: some of them, and of each the window that is
// kept.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/data/array.h"

namespace ptyche {

/// What a stack is, before any of it is read.
struct StackShape {
  std::int64_t frames = 0, rows = 0, cols = 0;
  at::ScalarType type = at::kFloat;  ///< of what is read; signed, see from_unsigned_bits
  bool unsigned_bits = false;
  double ceiling = 0;                     ///< see FileArray
  std::vector<std::int64_t> raster = {};  ///< of an array of rank 4, its first two lengths
  bool last_axis = false;  ///< the file's last axis counts the frames, as MATLAB has it
  /// What the files of a series number their frames; empty where nothing does.
  std::vector<std::int64_t> numbers = {};

  std::int64_t item_bytes() const { return static_cast<std::int64_t>(at::elementSize(type)); }
  std::int64_t frame_bytes() const { return rows * cols * item_bytes(); }
};

class FrameStack {
 public:
  explicit FrameStack(StackShape shape) : shape_(std::move(shape)) {}
  virtual ~FrameStack() = default;
  const StackShape& shape() const { return shape_; }
  std::int64_t frames() const { return shape_.frames; }
  /// Says what its files number the frames.
  void number(std::vector<std::int64_t> numbers) { shape_.numbers = std::move(numbers); }

  /// Frames first, first + 1, ... of the window (inside the frame), bit for bit, to a contiguous
  /// tensor (count, window's rows, window's columns) of shape().type. On all cores where the file
  /// allows it. Throws InvalidInput for what cannot be read.
  virtual void read(std::int64_t first, const Window& window, at::Tensor to) const = 0;

  /// All frames, whole and checked, where there is a faster way to all of them; else undefined.
  virtual at::Tensor whole() const { return {}; }

  /// Whether whole() makes no copy of them.
  virtual bool in_memory() const { return false; }

  /// Compares what the file says about all of its bytes (a checksum), where `read` does not: called
  /// once all of them were read. Throws InvalidInput for damage.
  virtual void check() const {}

  /// Whether a frame is reached only through all that lie before it.
  virtual bool in_order_only() const { return false; }

  /// Makes `read` ready for many threads at once, each for a few frames: how many neighbours are
  /// best read together (those of a chunk). 0 where only one thread may read.
  virtual std::int64_t read_together() { return 0; }

 protected:
  StackShape shape_;
};

/// The frames `numbers` (ascending, (k) int64) of the window: (k, rows, cols) of the narrowest type
/// that holds them bit for bit.
at::Tensor read_frames(const FrameStack& stack, const at::Tensor& numbers, const Window& window);

/// All of them, whole.
at::Tensor read_all(const FrameStack& stack);

/// (first, number of neighbours) of consecutive numbers.
struct Run {
  std::int64_t first = 0, count = 0;
};
std::vector<Run> runs_of(const at::Tensor& ascending);

/// Those of frames of the stack. Throws InvalidInput for one that it has not.
std::vector<Run> checked_runs(const FrameStack& stack, const at::Tensor& ascending);

/// Each frame with rows and columns exchanged.
std::unique_ptr<FrameStack> transposed_stack(std::unique_ptr<FrameStack> stack);

/// The sums of `count` frames each (a divisor of all): neighbours, or with `sweeps` those that are
/// a count-th of all frames apart. Where one of them stands at the stack's ceiling so does the sum
/// at its own.
std::unique_ptr<FrameStack> summed_stack(std::shared_ptr<const FrameStack> stack,
                                         std::int64_t count, bool sweeps);

/// Frames first, .., first + count - 1 of a stack; `name` stands before what reading them throws.
/// Throws InvalidInput where it has not as many.
std::unique_ptr<FrameStack> part_of_stack(std::shared_ptr<FrameStack> stack, std::int64_t first,
                                          std::int64_t count, const std::string& name);

/// The frames of several stacks of one shape and type, one stack's after another's. Throws
/// InvalidInput that names the odd one.
std::unique_ptr<FrameStack> joined_stack(std::vector<std::unique_ptr<FrameStack>> parts,
                                         const std::vector<std::string>& names);

/// Bytes that are read from anywhere: a file, or a packed member of an archive.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Throws InvalidInput where there are fewer.
  virtual void read(std::int64_t offset, std::int64_t bytes, void* to) const = 0;
  /// Whether only what lies behind what was read is reached without starting anew; such a reader is
  /// used by one thread.
  virtual bool in_order_only() const { return false; }
  /// The bytes where they lie, for as long as the pointer lives, if that is memory which nobody can
  /// change any more (they are copied where they are written to); else nothing.
  virtual std::shared_ptr<void> in_memory(std::int64_t /*offset*/, std::int64_t /*bytes*/) const {
    return nullptr;
  }
};

/// A file that is read by many threads at once.
class SharedFile : public ByteReader {
 public:
  /// Throws InvalidInput where it cannot be opened.
  explicit SharedFile(const std::filesystem::path& file);
  /// The file of an open descriptor, which stays its owner's.
  explicit SharedFile(int descriptor);
  ~SharedFile() override;
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  std::int64_t size() const { return size_; }
  void read(std::int64_t offset, std::int64_t bytes, void* to) const override;
  /// Of a sealed memory file (memfd_create(2), F_SEAL_WRITE): another could be cut or changed under
  /// the reader's feet.
  std::shared_ptr<void> in_memory(std::int64_t offset, std::int64_t bytes) const override;

 private:
  void measure();

  int file_ = -1;
  std::int64_t size_ = 0;
};

/// Where plain numbers lie: frame after frame, each of `stride` bytes from `offset` on; or, with
/// last_axis, as an array (rows, cols, n) from there on.
struct PlainFrames {
  std::shared_ptr<const ByteReader> bytes;
  std::int64_t offset = 0, stride = 0;
  bool big_endian = false;
};
std::unique_ptr<FrameStack> plain_stack(const StackShape& shape, const PlainFrames& where);

/// Before it is written from end to end: a large tensor's memory costs more in page faults than in
/// writing.
void use_large_pages(const at::Tensor& values);

/// Calls `work(i)` for 0..count-1 on all cores, each core taking the next that is left. The first
/// exception is thrown again.
void on_all_cores(std::int64_t count, const std::function<void(std::int64_t)>& work);

/// Bytes of numbers turned around, `word` bytes each.
void swap_words(char* data, std::int64_t bytes, std::int64_t word);

}  // namespace ptyche
