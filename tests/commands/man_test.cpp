#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/help.h"
#include "tests/commands/sample_command.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null").c_str()) == 0;
}

/// What `program` says of `text` on stdout and stderr.
std::string said_by(const std::string& program, const std::string& text) {
  const TestFolder folder;
  std::ofstream(folder / "page.1") << text;
  FILE* const pipe = popen((program + " '" + (folder / "page.1").string() + "' 2>&1").c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  pclose(pipe);
  return output;
}

std::string with_dashes_of_man(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '-') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

TEST(ManPages, ListEachOptionOfEveryVerbThatIsNotHidden) {
  const std::vector<ManPage> pages = man_pages(all_commands());
  std::size_t verbs = 0;
  for (const Command& command : all_commands()) {
    if (command.hidden) continue;
    ++verbs;
    const auto page = std::ranges::find(pages, "ptyche-" + command.name + ".1", &ManPage::file);
    ASSERT_NE(page, pages.end()) << command.name;
    for (const Field& option : command.options)
      EXPECT_NE(page->text.find("\\fB" + with_dashes_of_man("--" + option.name) + "\\fR"),
                std::string::npos)
          << command.name << " --" << option.name;
    EXPECT_NE(pages[0].text.find(with_dashes_of_man("ptyche-" + command.name)), std::string::npos);
  }
  EXPECT_EQ(pages.size(), verbs + 1);
}

TEST(ManPages, AreValidForGroff) {
  if (!has_program("groff")) GTEST_SKIP() << "no groff here";
  for (const ManPage& page : man_pages(all_commands()))
    EXPECT_EQ(said_by("groff -man -ww -z -Tutf8", page.text), "") << page.file;
}

TEST(ManPages, AreValidForMandoc) {
  if (!has_program("mandoc")) GTEST_SKIP() << "no mandoc here";
  for (const ManPage& page : man_pages(all_commands()))
    EXPECT_EQ(said_by("mandoc -T lint", page.text), "") << page.file;
}

TEST(ManPages, ShowEveryCharacterAsItIs) {
  if (!has_program("groff")) GTEST_SKIP() << "no groff here";
  Sample sample;
  Command command = sample_command(sample);
  const std::string strange = ".x 'y' \\fBz \"q\" a-b --c ^d ~e `f` %g";
  const std::string list(30, '|');
  command.description = strange + " begin" + list + "middle" + list + "end";
  const std::string shown =
      said_by("groff -man -ww -Tascii -P-cbou -rLL=500n", man_pages({command})[1].text);
  EXPECT_NE(shown.find(strange), std::string::npos) << shown;
  EXPECT_NE(shown.find("begin" + list + "middle" + list + "end"), std::string::npos) << shown;
}

}  // namespace
}  // namespace ptyche
