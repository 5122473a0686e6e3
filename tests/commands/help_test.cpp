#include "ptyche/commands/help.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "ptyche/commands/command_line.h"
#include "tests/commands/sample_command.h"

namespace ptyche {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The lines of the help on one option, joined by single spaces.
std::string entry(const std::string& help, const std::string& option) {
  std::string text;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    const bool starts = line.starts_with("  -") || line.starts_with("      --");
    if (starts || line.empty()) inside = line.find(option) != std::string::npos;
    std::istringstream words(inside ? line : "");
    for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

TEST(ProgramHelp, FitsOneScreen) {
  const auto lines = lines_of(program_help(all_commands()));
  EXPECT_LE(lines.size(), 23u);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
}

TEST(ProgramHelp, ListsEveryVerbButTheHiddenOnes) {
  Sample sample;
  Command shown = sample_command(sample), hidden = sample_command(sample);
  shown.name = "visible";
  hidden.name = "__secret";
  hidden.hidden = true;
  const std::string help = program_help({shown, hidden});
  EXPECT_NE(help.find("visible"), std::string::npos);
  EXPECT_EQ(help.find("__secret"), std::string::npos);
}

TEST(CommandHelp, GivesTypeRangeUnitDefaultAndChoices) {
  Sample sample;
  const std::string help = command_help(sample_command(sample));
  EXPECT_EQ(entry(help, "--epochs"), "--epochs N passes over the scan (1..1000, default 60)");
  EXPECT_EQ(entry(help, "--learning-rate"),
            "--learning-rate X step of Adam (>= 0, unit px, default 0.001)");
  EXPECT_EQ(entry(help, "--device"),
            "--device TEXT where to compute (auto|cpu|cuda, default auto)");
  EXPECT_EQ(entry(help, "--flip-x"), "--flip-x mirror the columns");
  EXPECT_EQ(entry(help, "--output-dir"),
            "-o, --output-dir PATH folder of the results (default out)");
}

TEST(CommandHelp, ShowsWhichArgumentsMayBeLeftOut) {
  Sample sample;
  const std::string help = command_help(sample_command(sample));
  EXPECT_EQ(lines_of(help)[0], "usage: ptyche sample SCAN [NOTE] [OPTIONS]");
}

TEST(CommandHelp, BreaksALongListOfChoicesBetweenTwoOfThem) {
  std::string value = "a";
  const Command command{.name = "sample",
                        .summary = "",
                        .description = "",
                        .arguments = {},
                        .options = {{.name = "kind",
                                     .target = &value,
                                     .unit = "",
                                     .help = "which",
                                     .choices = std::vector<std::string>(12, "choice")}},
                        .references = {},
                        .run = {}};
  std::string all;
  for (const std::string& line : lines_of(command_help(command))) {
    EXPECT_LE(line.size(), 80u) << line;
    if (line.find("choice") != line.npos) all += line.substr(line.find_first_not_of(' '));
  }
  EXPECT_NE(all.find("choice|choice|choice|choice|choice|choice|choice|choice|"), all.npos) << all;
}

TEST(CommandHelp, StaysWithinEightyColumnsForEveryVerb) {
  for (const Command& command : all_commands())
    for (const std::string& page : {command_help(command), full_command_help(command)})
      for (const std::string& line : lines_of(page))
        EXPECT_LE(line.size(), 80u) << command.name << ": " << line;
}

TEST(CommandHelp, HasFortyLinesAtMostForEveryVerb) {
  for (const Command& command : all_commands()) {
    for (const std::string& name : command.basic)
      ASSERT_NE(find_field(command.options, name), nullptr) << command.name << " --" << name;
    EXPECT_LE(lines_of(command_help(command)).size(), 40u) << command_help(command);
  }
}

TEST(CommandHelp, HasEveryOptionOnTheFullPageAndTheRequiredOnesOnTheShortOne) {
  for (const Command& command : all_commands()) {
    const std::string all = full_command_help(command), basic = command_help(command);
    for (const Field& option : command.options) {
      const std::string name = " --" + option.name;
      EXPECT_NE(all.find(name), std::string::npos) << command.name << name;
      EXPECT_TRUE(!option.required || basic.find(name) != std::string::npos)
          << command.name << name;
    }
  }
}

TEST(CommandsPage, HasASectionForEveryVerbAndARowForEveryOption) {
  Sample sample;
  Command hidden = sample_command(sample);
  hidden.name = "__secret";
  hidden.hidden = true;
  const std::string page = commands_page({sample_command(sample), hidden});
  EXPECT_NE(page.find("\n## sample\n"), std::string::npos);
  EXPECT_EQ(page.find("__secret"), std::string::npos);
  EXPECT_NE(page.find("| `-o` `--output-dir` | `PATH` | `out` |  | folder of the results |"),
            std::string::npos)
      << page;
}

TEST(CommandsPage, EscapesTheBarsOfChoicesInTables) {
  Sample sample;
  const std::string page = commands_page({sample_command(sample)});
  EXPECT_NE(page.find("`auto\\|cpu\\|cuda`"), std::string::npos) << page;
}

TEST(AllCommands, HaveHelpForEveryArgumentAndOption) {
  for (const Command& command : all_commands()) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    for (const Field& option : command.options)
      EXPECT_FALSE(option.help.empty()) << command.name << " --" << option.name;
    for (const Argument& argument : command.arguments)
      EXPECT_FALSE(argument.help.empty()) << command.name << " " << argument.name;
  }
}

/// What an option is, not what to do: a line of a list of things begins with a thing.
TEST(AllCommands, DescribeOptionsInNounPhrases) {
  const std::set<std::string> verbs = {
      "allow",   "correlate", "cut",   "do",   "draw",    "end",    "exchange", "fit",
      "go",      "infer",     "keep",  "let",  "make",    "mirror", "only",     "print",
      "receive", "show",      "solve", "take", "tell",    "train",  "use",      "write",
      "where",   "how",       "which", "who",  "whether", "what",   "with"};
  for (const Command& command : all_commands())
    for (const Field& option : command.options)
      EXPECT_FALSE(verbs.contains(option.help.substr(0, option.help.find_first_of(" :,"))))
          << command.name << " --" << option.name << ": " << option.help;
}

TEST(CommandHelp, KeepsOlderNamesForTheFullPage) {
  for (const Command& command : all_commands()) {
    if (command.basic.empty()) continue;
    EXPECT_EQ(command_help(command).find("also --"), std::string::npos) << command.name;
  }
}

/// A name means one thing in all verbs: what is another word for it in one verb is so in the
/// others.
TEST(AllCommands, CallOneThingByOneName) {
  // PtychoPINN's words for two things each; and our first words for --n-patterns, --trajectory,
  // --relative-defocus and --object-size, which are still understood.
  const std::set<std::string> older = {"batch-size", "N", "frames", "scan", "defocus", "size"};
  std::map<std::string, std::set<std::string>> meanings;
  std::set<std::string> names;
  for (const Command& command : all_commands())
    for (const Field& option : command.options) {
      names.insert(option.name);
      for (const std::string& alias : option.aliases) meanings[alias].insert(option.name);
    }
  for (const auto& [alias, options] : meanings) {
    if (older.contains(alias)) continue;
    EXPECT_EQ(options.size(), 1u) << "--" << alias << " is another word for several options";
    EXPECT_FALSE(names.contains(alias)) << "--" << alias << " is another word for --"
                                        << *options.begin() << " and an option of its own";
  }
}

std::string kind_of(const FieldTarget& target) {
  if (std::holds_alternative<bool*>(target)) return "flag";
  if (std::holds_alternative<std::filesystem::path*>(target)) return "path";
  const bool text =
      std::holds_alternative<std::string*>(target) || std::holds_alternative<TextTarget>(target);
  return text ? "text" : "number";
}

TEST(AllCommands, GiveAnOptionTheSameKindOfValueAndUnitInEveryVerb) {
  std::map<std::string, std::pair<std::string, std::string>> kinds;
  for (const Command& command : all_commands())
    for (const Field& option : command.options) {
      const std::string kind = kind_of(option.target) + " " + option.unit;
      const auto [known, fresh] = kinds.try_emplace(option.name, kind, command.name);
      EXPECT_EQ(known->second.first, kind)
          << "--" << option.name << " of " << known->second.second << " and " << command.name;
    }
}

}  // namespace
}  // namespace ptyche
