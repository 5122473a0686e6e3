// The golden numbers themselves: all there, or the tests say so.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "ptyche/core/files.h"
#include "tests/support/golden.h"
#include "tests/support/refusal.h"
#include "tests/support/shared.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// An environment variable that has this value while the object lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(GoldenFolder, HoldsEveryFileThatItsPageNames) {
  const std::filesystem::path folder = golden_folder();
  if (folder.empty()) GTEST_SKIP() << "there are no golden numbers here (PTYCHE_SHARED)";
  std::istringstream page(read_bytes(folder / "README.md", 1 << 24));
  int named = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("### ")) continue;
    const std::string file = line.substr(4, line.find(' ', 4) - 4);
    EXPECT_TRUE(std::filesystem::exists(folder / file)) << file;
    ++named;
  }
  EXPECT_GT(named, 0);
}

TEST(GoldenFolder, ThatIsAskedForAndHasNoSuchFileFailsTheTest) {
  const TestFolder empty;
  const Environment named("PTYCHE_GOLDEN", empty.path().string());
  EXPECT_NONFATAL_FAILURE(for_each_golden("f_metrics", [](const GoldenFile&) {}),
                          "expected golden numbers f_metrics*.npz");
}

TEST(GoldenFolder, OfASharedFolderThatIsNotThereFailsTheTest) {
  const Environment named("PTYCHE_SHARED", "/nowhere/at/all");
  EXPECT_EQ(message_of([] { shared_folder(); }),
            "PTYCHE_SHARED: expected a folder, found none at '/nowhere/at/all'");
}

TEST(GoldenFolder, FailsTheTestOfAScanThatIsNotInTheSharedFolder) {
  const TestFolder empty;
  const Environment named("PTYCHE_SHARED", empty.path().string());
  EXPECT_NE(
      message_of([] { shared_file("data/star.npz"); }).find("data/star.npz: expected the file"),
      std::string::npos);
}

}  // namespace
}  // namespace ptyche
