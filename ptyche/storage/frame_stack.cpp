#include "ptyche/storage/frame_stack.h"

#include <ATen/Parallel.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/storage/file_array.h"

namespace ptyche {

SharedFile::SharedFile(const std::filesystem::path& file)
    : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  require(file_ >= 0, "{}: could not be opened: {}", file.string(),
          [] { return std::string(std::strerror(errno)); });
  measure();
}

SharedFile::SharedFile(int descriptor) : file_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  require(file_ >= 0, "an open file could not be opened again: {}",
          [] { return std::string(std::strerror(errno)); });
  measure();
}

void SharedFile::measure() {
  struct stat found {};
  if (fstat(file_, &found) == 0) size_ = found.st_size;
}

SharedFile::~SharedFile() {
  if (file_ >= 0) close(file_);
}

void SharedFile::read(std::int64_t offset, std::int64_t bytes, void* to) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file_, at, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    require(got > 0, "truncated: expected {} more bytes at {}, found {}", bytes, offset,
            [&] { return got == 0 ? std::string("the end") : std::string(std::strerror(errno)); });
    at += got;
    offset += got;
    bytes -= got;
  }
}

std::shared_ptr<void> SharedFile::in_memory(std::int64_t offset, std::int64_t bytes) const {
  constexpr int kForGood = F_SEAL_SHRINK | F_SEAL_WRITE;
  const int seals = fcntl(file_, F_GET_SEALS);
  if (seals < 0 || (seals & kForGood) != kForGood) return nullptr;
  if (offset < 0 || bytes <= 0 || offset > size_ - bytes) return nullptr;
  const std::int64_t ahead = offset % sysconf(_SC_PAGESIZE);
  const auto length = static_cast<std::size_t>(ahead + bytes);
  void* const pages =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, file_, offset - ahead);
  if (pages == MAP_FAILED) return nullptr;
  return {static_cast<char*>(pages) + ahead, [pages, length](void*) { munmap(pages, length); }};
}

void on_all_cores(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next{0};
  const std::int64_t threads = std::min<std::int64_t>(count, at::get_num_threads());
  at::parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t thread = begin; thread < end; ++thread)
      for (std::int64_t i = next++; i < count; i = next++) work(i);
  });
}

namespace {

template <typename Word>
void swap_each(char* data, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, data + i * static_cast<std::int64_t>(sizeof word), sizeof word);
    if constexpr (sizeof word == 2) word = __builtin_bswap16(word);
    if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
    if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
    std::memcpy(data + i * static_cast<std::int64_t>(sizeof word), &word, sizeof word);
  }
}

}  // namespace

void swap_words(char* data, std::int64_t bytes, std::int64_t word) {
  if (word == 2) swap_each<std::uint16_t>(data, bytes / 2);
  if (word == 4) swap_each<std::uint32_t>(data, bytes / 4);
  if (word == 8) swap_each<std::uint64_t>(data, bytes / 8);
}

std::vector<Run> runs_of(const at::Tensor& ascending) {
  const at::Tensor numbers = ascending.contiguous();
  const auto* number = numbers.const_data_ptr<std::int64_t>();
  std::vector<Run> runs;
  for (std::int64_t i = 0; i < numbers.size(0); ++i) {
    if (!runs.empty() && runs.back().first + runs.back().count == number[i])
      ++runs.back().count;
    else
      runs.push_back({number[i], 1});
  }
  return runs;
}

std::vector<Run> checked_runs(const FrameStack& stack, const at::Tensor& ascending) {
  std::vector<Run> runs = runs_of(ascending);
  for (const Run& run : runs)
    require(run.first >= 0 && run.first + run.count <= stack.frames(),
            "expected patterns 0 to {}, found {}", stack.frames() - 1, run.first + run.count - 1);
  return runs;
}

void use_large_pages(const at::Tensor& values) {
  constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(values.const_data_ptr());
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (begin + values.nbytes()) / kPage * kPage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

namespace {

constexpr std::int64_t kSmall = std::int64_t{64} << 20;  // bytes that may be read to be cut

at::Tensor narrowed(const at::Tensor& frames, const StackShape& shape) {
  return shape.unsigned_bits ? from_unsigned_bits(frames) : frames;
}

}  // namespace

at::Tensor read_frames(const FrameStack& stack, const at::Tensor& numbers, const Window& window) {
  const StackShape& shape = stack.shape();
  const std::vector<std::int64_t> sizes{numbers.size(0), window.rows(), window.cols()};
  checked_bytes(sizes, shape.item_bytes());
  const bool all = numbers.size(0) == shape.frames;
  const bool uncut = window == Window{0, shape.rows, 0, shape.cols};
  if (all && (uncut || shape.frames * shape.frame_bytes() <= kSmall))
    if (const at::Tensor whole = stack.whole(); whole.defined())
      return narrowed(cut(whole, window).contiguous(), shape);
  at::Tensor frames = at::empty(sizes, shape.type);
  use_large_pages(frames);
  std::int64_t done = 0;
  for (const Run& run : checked_runs(stack, numbers)) {
    stack.read(run.first, window, frames.narrow(0, done, run.count));
    done += run.count;
  }
  if (all) stack.check();
  return narrowed(frames, shape);
}

at::Tensor read_all(const FrameStack& stack) {
  const StackShape& shape = stack.shape();
  return read_frames(stack, at::arange(shape.frames, at::kLong), {0, shape.rows, 0, shape.cols});
}

namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;  // of a core at a time

/// How many frames make a piece.
std::int64_t frames_in(std::int64_t bytes, std::int64_t frame_bytes) {
  return std::max<std::int64_t>(1, bytes / std::max<std::int64_t>(frame_bytes, 1));
}

class TransposedStack : public FrameStack {
 public:
  explicit TransposedStack(std::unique_ptr<FrameStack> stack)
      : FrameStack(exchanged(stack->shape())), stack_(std::move(stack)) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    const Window other{window.col_begin, window.col_end, window.row_begin, window.row_end};
    const std::int64_t count = to.size(0), step = frames_in(16 * kPieceBytes, shape_.frame_bytes());
    for (std::int64_t done = 0; done < count; done += step) {
      at::Tensor part = to.narrow(0, done, std::min(step, count - done));
      at::Tensor lying = at::empty({part.size(0), other.rows(), other.cols()}, shape_.type);
      stack_->read(first + done, other, lying);
      part.copy_(lying.transpose(1, 2));
    }
  }
  bool in_order_only() const override { return stack_->in_order_only(); }

 private:
  static StackShape exchanged(StackShape shape) {
    std::swap(shape.rows, shape.cols);
    return shape;
  }
  std::unique_ptr<FrameStack> stack_;
};

class SummedStack : public FrameStack {
 public:
  SummedStack(std::shared_ptr<const FrameStack> stack, std::int64_t count, bool sweeps)
      : FrameStack(summed(stack->shape(), count)),
        stack_(std::move(stack)),
        count_(count),
        sweeps_(sweeps) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    const StackShape& own = stack_->shape();
    const std::int64_t step = frames_in(16 * kPieceBytes, count_ * own.frame_bytes());
    for (std::int64_t done = 0; done < to.size(0); done += step) {
      at::Tensor part = to.narrow(0, done, std::min(step, to.size(0) - done));
      at::Tensor each = at::empty({count_, part.size(0), window.rows(), window.cols()}, own.type);
      for (std::int64_t i = 0; sweeps_ && i < count_; ++i)
        stack_->read(i * shape_.frames + first + done, window, each[i]);
      if (!sweeps_) {
        each = each.view({part.size(0), count_, window.rows(), window.cols()});
        stack_->read(count_ * (first + done), window, each.flatten(0, 1));
      }
      part.copy_(sum_of(own.unsigned_bits ? from_unsigned_bits(each) : each));
    }
  }
  bool in_order_only() const override { return stack_->in_order_only(); }

 private:
  static StackShape summed(StackShape shape, std::int64_t count) {
    require(count > 0 && shape.frames % count == 0, "expected a multiple of {} frames, found {}",
            count, shape.frames);
    shape.frames /= count;
    const bool wide = shape.item_bytes() > 4 || (shape.item_bytes() == 4 && shape.unsigned_bits);
    if (!at::isFloatingType(shape.type)) shape.type = wide ? at::kLong : at::kInt;
    if (shape.ceiling > 0) shape.ceiling = std::ldexp(1.0, wide ? 32 : 31) - 1;
    shape.unsigned_bits = shape.last_axis = false;
    shape.raster.clear();
    shape.numbers.clear();
    return shape;
  }

  at::Tensor sum_of(const at::Tensor& each) const {
    const std::int64_t axis = sweeps_ ? 0 : 1;
    const at::Tensor sum = each.sum(axis, false, shape_.type);
    const double ceiling = stack_->shape().ceiling;
    if (ceiling <= 0 || each.max().to(at::kDouble).item<double>() < ceiling) return sum;
    return sum.masked_fill(each.eq(ceiling).any(axis), shape_.ceiling);
  }

  std::shared_ptr<const FrameStack> stack_;
  std::int64_t count_;
  bool sweeps_;
};

/// Calls `work` for all pieces: on all cores, or one after another where the bytes come in order.
void for_pieces(const ByteReader& bytes, std::int64_t count,
                const std::function<void(std::int64_t)>& work) {
  if (!bytes.in_order_only()) return on_all_cores(count, work);
  for (std::int64_t i = 0; i < count; ++i) work(i);
}

class PlainStack : public FrameStack {
 public:
  PlainStack(const StackShape& shape, PlainFrames where)
      : FrameStack(shape), where_(std::move(where)) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    auto* const out = static_cast<char*>(to.mutable_data_ptr());
    const std::int64_t count = to.size(0);
    const std::int64_t step = frames_in(kPieceBytes, shape_.frame_bytes());
    for_pieces(*where_.bytes, (count + step - 1) / step, [&](std::int64_t piece) {
      const std::int64_t begin = piece * step;
      read_piece(first + begin, std::min(step, count - begin), window,
                 out + begin * window_bytes(window));
    });
  }
  bool in_order_only() const override { return where_.bytes->in_order_only(); }
  std::int64_t read_together() override { return in_order_only() ? 0 : 1; }
  bool in_memory() const override { return bytes_in_memory() != nullptr; }
  at::Tensor whole() const override {
    const std::shared_ptr<void> bytes = bytes_in_memory();
    if (!bytes) return {};
    return at::from_blob(
        bytes.get(), {shape_.frames, shape_.rows, shape_.cols}, [bytes](void*) {}, shape_.type);
  }

 private:
  /// Nothing where they are not numbers as this machine has them.
  std::shared_ptr<void> bytes_in_memory() const {
    if (where_.big_endian || where_.stride != shape_.frame_bytes()) return nullptr;
    const auto bytes = where_.bytes->in_memory(where_.offset, shape_.frames * where_.stride);
    const auto place = reinterpret_cast<std::uintptr_t>(bytes.get());
    return place % static_cast<std::uintptr_t>(shape_.item_bytes()) == 0 ? bytes : nullptr;
  }

  std::int64_t window_bytes(const Window& window) const {
    return window.rows() * window.cols() * shape_.item_bytes();
  }

  /// Whole rows of one frame; a frame's rows follow one another.
  void read_rows(std::int64_t frame, const Window& window, char* to) const {
    const std::int64_t line = shape_.cols * shape_.item_bytes();
    where_.bytes->read(where_.offset + frame * where_.stride + window.row_begin * line,
                       window.rows() * line, to);
  }

  void read_cut(std::int64_t frame, const Window& window, std::vector<char>& rows, char* to) const {
    const std::int64_t line = shape_.cols * shape_.item_bytes();
    const std::int64_t kept = window.cols() * shape_.item_bytes();
    if (line == kept) return read_rows(frame, window, to);
    rows.resize(static_cast<std::size_t>(window.rows() * line));
    read_rows(frame, window, rows.data());
    for (std::int64_t row = 0; row < window.rows(); ++row)
      std::memcpy(to + row * kept,
                  rows.data() + row * line + window.col_begin * shape_.item_bytes(),
                  static_cast<std::size_t>(kept));
  }

  void read_piece(std::int64_t first, std::int64_t count, const Window& window, char* to) const {
    const bool all = window.rows() == shape_.rows && window.cols() == shape_.cols &&
                     where_.stride == shape_.frame_bytes();
    std::vector<char> rows;
    if (all) where_.bytes->read(where_.offset + first * where_.stride, count * where_.stride, to);
    for (std::int64_t i = 0; !all && i < count; ++i)
      read_cut(first + i, window, rows, to + i * window_bytes(window));
    if (where_.big_endian) swap_words(to, count * window_bytes(window), shape_.item_bytes());
  }

  PlainFrames where_;
};

/// An array (rows, cols, n).
class LastAxisStack : public FrameStack {
 public:
  LastAxisStack(const StackShape& shape, PlainFrames where)
      : FrameStack(shape), where_(std::move(where)) {}

  /// Row by row of the detector, since a row of all frames lies in one piece.
  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    for_pieces(*where_.bytes, window.rows(), [&](std::int64_t row) {
      const std::int64_t line = shape_.cols * shape_.frames;
      at::Tensor values = at::empty({window.cols(), shape_.frames}, shape_.type);
      where_.bytes->read(
          where_.offset + ((window.row_begin + row) * line + window.col_begin * shape_.frames) *
                              shape_.item_bytes(),
          static_cast<std::int64_t>(values.nbytes()), values.mutable_data_ptr());
      if (where_.big_endian)
        swap_words(static_cast<char*>(values.mutable_data_ptr()),
                   static_cast<std::int64_t>(values.nbytes()), shape_.item_bytes());
      to.select(1, row).copy_(values.narrow(1, first, to.size(0)).transpose(0, 1));
    });
  }
  bool in_order_only() const override { return where_.bytes->in_order_only(); }

 private:
  PlainFrames where_;
};

class PartStack : public FrameStack {
 public:
  PartStack(std::shared_ptr<FrameStack> stack, std::int64_t first, std::int64_t count,
            std::string name)
      : FrameStack(stack->shape()),
        stack_(std::move(stack)),
        first_(first),
        name_(std::move(name)) {
    require(first >= 0 && count >= 0 && count <= stack_->frames() - first,
            "expected at least {} images, found {}", first + count, stack_->frames());
    shape_.frames = count;
    shape_.raster.clear();
  }
  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    with_context(name_, [&] { stack_->read(first_ + first, window, to); });
  }
  bool in_order_only() const override { return stack_->in_order_only(); }
  std::int64_t read_together() override {
    return with_context(name_, [&] { return stack_->read_together(); });
  }

 private:
  std::shared_ptr<FrameStack> stack_;
  std::int64_t first_;
  std::string name_;
};

class JoinedStack : public FrameStack {
 public:
  explicit JoinedStack(std::vector<std::unique_ptr<FrameStack>> parts)
      : FrameStack(sum_of(parts)), parts_(std::move(parts)) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    std::int64_t begin = 0;  // of the part, among all frames
    for (const auto& part : parts_) {
      const std::int64_t end = begin + part->frames();
      const std::int64_t from = std::max(first, begin), until = std::min(first + to.size(0), end);
      if (from < until) part->read(from - begin, window, to.narrow(0, from - first, until - from));
      begin = end;
    }
  }
  void check() const override {
    for (const auto& part : parts_) part->check();
  }
  std::int64_t read_together() override {
    std::int64_t most = 1;
    for (const auto& part : parts_) {
      const std::int64_t own = part->read_together();
      if (own == 0) return 0;
      most = std::max(most, own);
    }
    return most;
  }

 private:
  static StackShape sum_of(const std::vector<std::unique_ptr<FrameStack>>& parts) {
    StackShape shape = parts.front()->shape();
    shape.frames = 0;
    shape.numbers.clear();
    for (const auto& part : parts) {
      const std::vector<std::int64_t>& numbers = part->shape().numbers;
      shape.frames += part->frames();
      shape.numbers.insert(shape.numbers.end(), numbers.begin(), numbers.end());
    }
    if (static_cast<std::int64_t>(shape.numbers.size()) != shape.frames) shape.numbers.clear();
    if (parts.size() > 1) shape.raster.clear();
    return shape;
  }
  std::vector<std::unique_ptr<FrameStack>> parts_;
};

}  // namespace

std::unique_ptr<FrameStack> joined_stack(std::vector<std::unique_ptr<FrameStack>> parts,
                                         const std::vector<std::string>& names) {
  const StackShape& first = parts.at(0)->shape();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const StackShape& shape = parts[i]->shape();
    require(shape.rows == first.rows && shape.cols == first.cols && shape.type == first.type &&
                shape.unsigned_bits == first.unsigned_bits,
            "{}: expected images of {} x {} {} like {}, found {} x {} {}", names[i], first.rows,
            first.cols, type_name(first.type), names[0], shape.rows, shape.cols,
            type_name(shape.type));
  }
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<JoinedStack>(std::move(parts));
}

std::unique_ptr<FrameStack> part_of_stack(std::shared_ptr<FrameStack> stack, std::int64_t first,
                                          std::int64_t count, const std::string& name) {
  return std::make_unique<PartStack>(std::move(stack), first, count, name);
}

std::unique_ptr<FrameStack> transposed_stack(std::unique_ptr<FrameStack> stack) {
  return std::make_unique<TransposedStack>(std::move(stack));
}

std::unique_ptr<FrameStack> summed_stack(std::shared_ptr<const FrameStack> stack,
                                         std::int64_t count, bool sweeps) {
  return std::make_unique<SummedStack>(std::move(stack), count, sweeps);
}

std::unique_ptr<FrameStack> plain_stack(const StackShape& shape, const PlainFrames& where) {
  if (shape.last_axis) return std::make_unique<LastAxisStack>(shape, where);
  return std::make_unique<PlainStack>(shape, where);
}

}  // namespace ptyche
