// --events json and __describe, as another program has them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "ptyche/commands/command_line.h"
#include "tests/support/run_program.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line));
  return events;
}

std::vector<std::string> names_of(const std::vector<json>& events) {
  std::vector<std::string> names;
  for (const json& event : events) names.push_back(event.at("event"));
  return names;
}

class Events : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    ASSERT_EQ(run_ptyche("simulate --frames 100 --N 32 --probe-diameter 12 -o " + scan_).code, 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string out(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_ = fs::temp_directory_path() / ("events" + std::to_string(getpid()));
  std::string scan_ = (folder_ / "scan.cxi").string();
};

TEST_F(Events, OnStdoutAreAllThatIsThere) {
  const Outcome done = run_ptyche("solve " + scan_ + " -o " + out("a") +
                                  " --solver ml:12 --no-verdict --arrays --events json");
  ASSERT_EQ(done.code, 0) << done.error;
  const std::vector<json> events = lines_of(done.output);
  EXPECT_EQ(events.front().at("event"), "started");
  EXPECT_EQ(events.back().at("event"), "finished");
  EXPECT_EQ(events.back().at("exit_code"), 0);
  EXPECT_NE(done.error.find("report"), std::string::npos);  // the summary is on stderr then
  json last;
  for (const json& event : events) {
    if (event.at("event") == "progress") last = event;
    if (event.at("event") != "preview") continue;
    EXPECT_EQ(event.at("object"), out("a") + "/object.npy");
  }
  EXPECT_EQ(last.at("what"), "solve");
  EXPECT_EQ(last.at("done"), 12);
  EXPECT_EQ(last.at("total"), 12);
  EXPECT_GT(last.at("loss").get<double>(), 0);
}

TEST_F(Events, GoToTheDescriptorThatIsNamed) {
  const Outcome done = run_ptyche("info " + scan_ + " --events json --events-fd 7 7>" + out("e"));
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.output.find("patterns"), std::string::npos);
  EXPECT_EQ(names_of(lines_of(file_bytes(out("e")))),
            (std::vector<std::string>{"started", "finished"}));
}

TEST_F(Events, SayWhatWentWrong) {
  const Outcome done = run_ptyche("solve " + out("none.cxi") + " -o " + out("b") +
                                  " --events json --events-fd 7 7>" + out("e"));
  EXPECT_EQ(done.code, 1);
  const json last = lines_of(file_bytes(out("e"))).back();
  EXPECT_EQ(last.at("event"), "error");
  EXPECT_EQ(last.at("kind"), "invalid_input");
  EXPECT_EQ(last.at("exit_code"), 1);
  EXPECT_NE(last.at("message").get<std::string>().find("expected a file"), std::string::npos);
}

TEST_F(Events, AreLostOnAListenerThatIsGoneAndTheWorkGoesOn) {
  const Outcome done = run_ptyche("solve " + scan_ + " -o " + out("c") +
                                  " --solver ml:3 --no-verdict --events json 2>/dev/null"
                                  " | sh -c 'head -c 1 <&4' 4<&0");
  EXPECT_EQ(done.output, "{");
  EXPECT_TRUE(fs::exists(out("c") + "/report.html")) << done.error;
}

TEST_F(Events, RefuseADescriptorThatCannotBeWrittenTo) {
  for (const char* how : {"--events-fd 9", "--events-fd 8 8</dev/null"}) {
    const Outcome done = run_ptyche("info " + scan_ + " --events json " + how);
    EXPECT_EQ(done.code, 1);
    EXPECT_NE(done.error.find("open for writing, found"), std::string::npos) << done.error;
  }
}

TEST_F(Events, RefuseAParentThatIsNone) {
  const Outcome done = run_ptyche("info " + scan_ + " --parent 4194303");
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.error.find("--parent: expected the process that started this one"),
            std::string::npos);
}

TEST(Describe, HasEveryCommandThatIsNotHiddenWithAllItsOptions) {
  const Outcome printed = run_ptyche("__describe"),
                made = run_file(built_file("ptyche-program"), "__describe");
  ASSERT_EQ(printed.code, 0);
  EXPECT_EQ(printed.output, made.output);  // what was written down when it was built is not stale
  const json commands = json::parse(printed.output).at("commands");
  std::size_t index = 0;
  for (const Command& command : all_commands()) {
    if (command.hidden) continue;
    const json& described = commands.at(index++);
    EXPECT_EQ(described.at("name"), command.name);
    ASSERT_EQ(described.at("options").size(), command.options.size()) << command.name;
    for (std::size_t i = 0; i < command.options.size(); ++i)
      EXPECT_EQ(described.at("options").at(i).at("name"), command.options[i].name);
  }
  EXPECT_EQ(index, commands.size());
}

TEST(Describe, SaysTypeRangeChoicesAndDefault) {
  const json commands = json::parse(run_ptyche("__describe").output).at("commands");
  const auto option = [&](const std::string& verb, const std::string& name) {
    for (const json& command : commands)
      if (command.at("name") == verb)
        for (const json& each : command.at("options"))
          if (each.at("name") == name) return each;
    return json();
  };
  const json threads = option("solve", "threads");
  EXPECT_EQ(threads.at("type"), "integer");
  EXPECT_EQ(threads.at("low"), 0);
  EXPECT_EQ(threads.at("high"), 4096);
  EXPECT_EQ(threads.at("default"), 0);
  EXPECT_TRUE(threads.at("basic"));
  const json level = option("solve", "log-level");
  EXPECT_EQ(level.at("keyword"), "log_level");
  EXPECT_EQ(level.at("choices").size(), 4U);
  EXPECT_FALSE(level.at("basic"));
  EXPECT_EQ(option("reconstruct", "train").at("implied"), "auto");
  EXPECT_TRUE(option("solve", "output-dir").at("required"));
}

}  // namespace
}  // namespace ptyche
