// Config files that are made to crash or stall what reads them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "tests/commands/sample_command.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

class HostileConfig : public testing::Test {
 protected:
  /// What is said of a file with this content, and that it is said at once.
  void expect_refused(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    Sample sample;
    const Stopwatch watch;
    const std::string message = message_of([&] {
      parse(sample_command(sample), {"s", "--config", (folder_ / name).string()});
    });
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_LT(watch.seconds(), 5);
  }

  const TestFolder folder_;
};

TEST_F(HostileConfig, OfDeepListsAndSectionsIsRefused) {
  expect_refused("a.toml", "a = " + std::string(100000, '['));
  expect_refused("b.toml", fmt::format("a{} = 1", repeated(".a", 100000)));
  expect_refused("c.toml", fmt::format("[a{}]\n", repeated(".a", 100000)));
  expect_refused("d.toml", "a = " + repeated("{a=", 100000));
  expect_refused("e.yaml", "a: " + std::string(100000, '['));
  expect_refused("f.yaml", repeated("- ", 100000));
  expect_refused("g.yaml", "a: " + repeated("{a: ", 100000));
  expect_refused("h.yaml", repeated("? ", 100000));
  std::string stairs;
  for (int level = 0; level < 1000; ++level) stairs += std::string(level, ' ') + "a:\n";
  expect_refused("i.yaml", stairs + std::string(1000, ' ') + "a: 1");
}

TEST_F(HostileConfig, OfAliasesThatNameAliasesIsRefused) {
  std::string bomb = "a0: &a0 {x: 1}\n";
  for (int level = 1; level < 9; ++level) {
    const std::string name = fmt::format("a{}", level);
    bomb += name + ": &" + name + " {";
    for (int each = 0; each < 9; ++each)
      bomb +=
          std::string(1, static_cast<char>('b' + each)) + ": *a" + std::to_string(level - 1) + ", ";
    bomb += "}\n";
  }
  expect_refused("bomb.yaml", bomb);
  std::string wide = "a: &a [" + repeated("1, ", 1000) + "1]\n";
  for (int i = 0; i < 5000; ++i) wide += fmt::format("k{}: *a\n", i);
  expect_refused("wide.yaml", wide);
}

TEST_F(HostileConfig, OfTooManyBytesIsRefused) {
  expect_refused("long.toml", "# " + std::string(2 << 20, 'x'));
  expect_refused("long.yaml", "# " + std::string(2 << 20, 'x'));
}

}  // namespace
}  // namespace ptyche
