#include "ptyche/core/memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "ptyche/core/system_memory.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

double resident_mb() { return resident_bytes() / 1e6; }

constexpr bool has_sanitizer() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return true;
#endif
#endif
  return false;
}

/// What a test plans does not outlive it.
class Memory : public testing::Test {
 protected:
  void TearDown() override { use_memory({}); }

  TestFolder folder_;
};

TEST_F(Memory, IsNamedInBytesWithAPrefix) {
  EXPECT_EQ(bytes_of("8G"), 8e9);
  EXPECT_EQ(bytes_of("1.5TB"), 1.5e12);
  EXPECT_EQ(bytes_of("500MB"), 5e8);
  EXPECT_EQ(bytes_of("6e8"), 6e8);
  for (const char* wrong : {"", "G", "8 G", "8X", "-1G", "nan", "inf", "8GG"})
    EXPECT_NE(message_of([&] { bytes_of(wrong); }).find("expected bytes like 8G"),
              std::string::npos)
        << wrong;
}

TEST_F(Memory, OfLessThanTheProgramNeedsIsRefused) {
  MemoryOptions options;
  const std::vector<Field> declared = fields(options);
  const Field& field = *find_field(declared, "memory");
  EXPECT_NE(message_of([&] { assign(field, "100M"); }).find("600 MB"), std::string::npos);
  assign(field, "2G");
  EXPECT_EQ(options.bytes, 2e9);
  assign(field, "auto");
  EXPECT_EQ(options.bytes, 0);
}

TEST_F(Memory, ThatIsFreeIsNoMoreThanThereIs) {
  EXPECT_GT(free_memory(), 0);
  EXPECT_LE(free_memory(), memory_there());
}

TEST_F(Memory, HoldsArraysThatFitAndFilesOfTheScratchFolderTheOthers) {
  use_memory({.bytes = 6e8, .scratch = folder_.path()});
  const at::Tensor small = at::ones({20 << 20}, at::kByte);
  EXPECT_FALSE(lies_in_file(small));
  const at::Tensor large = at::full({180, 1 << 20}, 7, at::kByte);
  EXPECT_TRUE(lies_in_file(large));
  EXPECT_TRUE(lies_in_file(large[3]));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));  // the file has no name
  EXPECT_EQ(large.sum(at::kLong).item<std::int64_t>(), 7L * 180 * (1 << 20));
}

TEST_F(Memory, OfTheWholeProcessStaysWithinTheLimitWhenRowsAreReadAhead) {
  use_memory({.bytes = 6e8, .scratch = folder_.path()});
  const at::Tensor large = at::empty({800, 1 << 20}, at::kByte);
  double most = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (std::int64_t i = 0; i < large.size(0); ++i) {
      read_ahead(large, at::tensor({i}, at::kLong));
      if (pass == 0) large[i].fill_(i % 251);
      EXPECT_EQ(large[i].max().item<std::int64_t>(), i % 251);
      most = std::max(most, resident_mb());
    }
  EXPECT_LT(most, 600 + 100);
}

TEST_F(Memory, OnDiskOfAnArrayThatIsGoneServesTheNextOfItsSize) {
  use_memory({.bytes = 6e8, .scratch = folder_.path()});
  const at::Tensor most = at::ones({130 << 20}, at::kByte);
  const void* place = nullptr;
  {
    const at::Tensor first = at::full({60 << 20}, 3, at::kByte);
    ASSERT_TRUE(lies_in_file(first));
    place = first.const_data_ptr();
  }
  const at::Tensor next = at::empty({55 << 20}, at::kByte);
  EXPECT_EQ(next.const_data_ptr(), place);
  const at::Tensor other = at::full({60 << 20}, 4, at::kByte);
  EXPECT_NE(other.const_data_ptr(), place);
  const at::Tensor zeros = array_in_file(folder_.path(), 60 << 20);
  EXPECT_EQ(zeros.sum(at::kLong).item<std::int64_t>(), 0);
}

TEST_F(Memory, OfAnArrayThatIsGoneIsFreeAgain) {
  use_memory({.bytes = 1e9, .scratch = folder_.path()});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lies_in_file(at::empty({300 << 20}, at::kByte)));
}

TEST_F(Memory, OfArraysThatComeAndGoDoesNotGrow) {
  use_memory({.bytes = 2e9, .scratch = folder_.path()});
  std::vector<at::Tensor> kept;  // small ones between large ones, as sums of batches are
  const double before = resident_mb();
  for (int i = 0; i < 100; ++i) {
    const at::Tensor large = at::ones({16 << 20}, at::kByte), wide = large.to(at::kShort);
    kept.push_back(wide.view({1 << 10, -1}).sum(1));
  }
  EXPECT_LT(resident_mb(), before + 150);
}

TEST_F(Memory, OfArraysOfEverOtherSizesIsHardlyMoreThanTheLargestTakes) {
  use_memory({.bytes = 9e9, .scratch = folder_.path()});
  const double before = resident_mb();
  for (const std::int64_t megabytes : {80, 10, 14, 20, 28, 40, 56, 11, 15, 22, 30, 43})
    at::ones({megabytes << 20}, at::kByte);
  EXPECT_LT(resident_mb(), before + 80 * 1.048576 * 1.25);
}

TEST_F(Memory, BetweenSmallArraysIsGivenBack) {
  if (has_sanitizer()) GTEST_SKIP() << "the address sanitizer keeps what is freed";
  use_memory({.bytes = 9e9, .scratch = folder_.path()});
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  at::ones({2 << 20}, at::kByte);  // what was free before
  const double before = resident_mb();
  std::vector<at::Tensor> small;
  for (int i = 0; i < 2000; ++i) small.push_back(at::ones({64 << 10}, at::kByte));
  for (std::size_t i = 0; i < small.size(); ++i)
    if (i % 20 != 0) small[i] = at::Tensor();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  at::ones({2 << 20}, at::kByte);
  EXPECT_LT(resident_mb(), before + 40);
}

TEST_F(Memory, ThatIsReadAheadIsTheSame) {
  use_memory({.bytes = 6e8, .scratch = folder_.path()});
  const at::Tensor large = at::arange(200 << 18, at::kInt).view({200, 1 << 18});
  ASSERT_TRUE(lies_in_file(large));
  const at::Tensor rows = at::tensor({199, 0, 1, 2, 77}, at::kLong);
  read_ahead(large, rows);
  read_ahead(at::ones({3, 3}), at::tensor({0}, at::kLong));
  const at::Tensor firsts = large.index_select(0, rows).select(1, 0);
  EXPECT_TRUE(at::equal(firsts, (rows * (1 << 18)).to(at::kInt)));
}

TEST_F(Memory, OfAnArrayThatIsSetAsideIsGivenBackAndItsNumbersStay) {
  use_memory(
      {.bytes = 9e9, .scratch = folder_.path()});  // or pages go back before they are set aside
  const at::Tensor large = array_in_file(folder_.path(), 180 << 20).fill_(7);
  ASSERT_TRUE(lies_in_file(large));
  const double before = resident_mb();
  set_aside(large);
  EXPECT_LT(resident_mb(), before - 150);
  EXPECT_EQ(large.sum(at::kLong).item<std::int64_t>(), 7L * 180 * (1 << 20));
  const at::Tensor small = at::ones({3});
  set_aside(small);
  set_aside({});
  EXPECT_EQ(small.sum().item<float>(), 3);
}

TEST_F(Memory, ThatIsNowhereIsAskedForInVain) {
  use_memory({.bytes = 1e9, .scratch = folder_.path()});
  const std::string refused =
      message_of([] { require_room(1e18, "exit waves", "another solver needs less"); });
  EXPECT_NE(refused.find("exit waves: expected at most"), std::string::npos) << refused;
  EXPECT_NE(refused.find(folder_.path().string()), std::string::npos) << refused;
  EXPECT_NO_THROW(require_room(1e8, "exit waves", ""));
}

TEST_F(Memory, InAFolderThatCannotBeWrittenToIsRefused) {
  std::ofstream(folder_ / "a file") << "no folder";
  EXPECT_NE(message_of([&] {
              use_memory({.bytes = 1e9, .scratch = folder_ / "a file"});
            }).find("--scratch: expected a folder that can be written to"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              use_memory({.bytes = 1e9, .scratch = "/nowhere at all"});
            }).find("--scratch: expected a folder that can be written to"),
            std::string::npos);
}

}  // namespace
}  // namespace ptyche
