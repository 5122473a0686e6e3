// Patterns in a file that lies in memory alone, as the Python package gives arrays.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ptyche/storage/frame_stack.h"

namespace ptyche {
namespace {

/// (14, 9, 11) int16, all values different.
at::Tensor some_frames() {
  return at::arange(14 * 9 * 11, at::kLong).reshape({14, 9, 11}).to(at::kShort);
}

/// A file in memory that holds the numbers behind `ahead` bytes; sealed as the Python package's
/// are.
class MemoryFile {
 public:
  MemoryFile(const at::Tensor& values, std::int64_t ahead, bool sealed)
      : file_(memfd_create("scan", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    const auto bytes = static_cast<ssize_t>(values.nbytes());
    EXPECT_EQ(pwrite(file_, values.const_data_ptr(), values.nbytes(), ahead), bytes);
    if (!sealed) return;
    EXPECT_EQ(fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  }
  ~MemoryFile() { close(file_); }
  std::unique_ptr<FrameStack> stack(const at::Tensor& like, std::int64_t ahead) const {
    const StackShape shape{like.size(0), like.size(1), like.size(2), like.scalar_type()};
    return plain_stack(shape, {std::make_shared<SharedFile>(file_), ahead, shape.frame_bytes()});
  }

 private:
  int file_;
};

TEST(MemoryFile, NumbersInSealedMemoryAreUsedWhereTheyLieAndAreNotChanged) {
  const at::Tensor values = some_frames();
  const MemoryFile file(values, 5000, /*sealed=*/true);
  const auto stack = file.stack(values, 5000);
  EXPECT_TRUE(stack->in_memory());
  EXPECT_TRUE(at::equal(read_all(*stack), values));
  const Window window{2, 7, 3, 10};
  EXPECT_TRUE(at::equal(read_frames(*stack, at::tensor({0, 5, 13}, at::kLong), window),
                        cut(values.index_select(0, at::tensor({0, 5, 13}, at::kLong)), window)));
  read_all(*stack).zero_();
  EXPECT_TRUE(at::equal(read_all(*stack), values)) << "what is written goes into the reader's copy";
}

TEST(MemoryFile, OtherFilesInMemoryAreCopied) {
  const at::Tensor values = some_frames();
  EXPECT_FALSE(MemoryFile(values, 5000, /*sealed=*/false).stack(values, 5000)->in_memory());
  const MemoryFile odd(values, 5001, /*sealed=*/true);
  EXPECT_FALSE(odd.stack(values, 5001)->in_memory()) << "numbers that straddle words";
  EXPECT_FALSE(odd.stack(values, 5003)->in_memory()) << "more than there is";
  EXPECT_TRUE(at::equal(read_all(*odd.stack(values, 5001)), values));
}

}  // namespace
}  // namespace ptyche
