// Every options struct that declares fields: none forgotten, each in the key if the result needs
// it, in range by default, and back from a config file and a record as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/help.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/live/session.h"
#include "ptyche/live/view_server.h"
#include "ptyche/ptychopinn/dose_response.h"
#include "ptyche/ptychopinn/grid_lines.h"
#include "ptyche/ptychopinn/network_speed.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/solver.h"
#include "ptyche/train/training_state.h"
#include "tests/support/fields.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

template <typename Options>
class EveryField : public testing::Test {};

using AllOptions =
    testing::Types<ReadOptions, LiveOptions, ViewOptions, GroupOptions, FixedGroupOptions,
                   SubsampleOptions, SimulateOptions, NetworkOptions, StemOptions, TrainOptions,
                   InferOptions, SolverOptions, GridLinesOptions, DoseResponseOptions,
                   SpeedOptions>;
TYPED_TEST_SUITE(EveryField, AllOptions);

TYPED_TEST(EveryField, IsInTheKeyExactlyIfItAffectsTheResult) {
  expect_key_to_hold_what_affects_the_result(TypeParam(),
                                             [](const TypeParam& o) { return key_of(o); });
}

TYPED_TEST(EveryField, IsInRangeByDefault) { EXPECT_NO_THROW(require_in_range(TypeParam())); }

TYPED_TEST(EveryField, ComesBackFromARecordAndFromToml) {
  TypeParam from, by_record, by_toml;
  for (const Field& field : fields(from)) change(field);
  ptyche::from_json(fields(by_record), nlohmann::json::parse(to_json(fields(from)).dump()));
  EXPECT_EQ(to_json(fields(by_record)), to_json(fields(from)));
  Command command;
  command.options = fields(by_toml);
  const auto file = std::filesystem::temp_directory_path() / fmt::format("fields{}.toml", getpid());
  std::ofstream out(file);
  for (const Field& field : fields(from)) out << toml_line(field) << "\n";
  out.close();
  read_config(command, file);
  std::filesystem::remove(file);
  EXPECT_EQ(to_json(fields(by_toml)), to_json(fields(from)));
}

// A member without a field would be in no key. TrainOptions holds three structs; of the first
// probe's only the number of passes is an option, of InferOptions not which patterns nor whether
// the image is polished, which the model decides beside --no-polish; what happens to the checkpoint
// at the end is the verb's affair.
TEST(EveryMember, HasAField) {
  const auto declared = []<typename Options>(Options options) { return fields(options).size(); };
  EXPECT_EQ(declared(GroupOptions()), member_count<GroupOptions>());
  EXPECT_EQ(declared(FixedGroupOptions()), member_count<FixedGroupOptions>());
  EXPECT_EQ(declared(SubsampleOptions()), member_count<SubsampleOptions>());
  EXPECT_EQ(declared(NetworkOptions()), member_count<NetworkOptions>());
  EXPECT_EQ(declared(StemOptions()), member_count<StemOptions>());
  EXPECT_EQ(declared(InferOptions()) + 3, member_count<InferOptions>());
  // What the user typed is no option.
  EXPECT_EQ(declared(TrainOptions()) - declared(NetworkOptions()) - declared(StemOptions()) + 3 + 1,
            member_count<TrainOptions>());
  // The file is an argument; the geometry has 5 options of its own.
  EXPECT_EQ(declared(ReadOptions()) + 1 + 1, member_count<ReadOptions>());
  EXPECT_EQ(declared(LiveOptions()), member_count<LiveOptions>());
  EXPECT_EQ(declared(ViewOptions()), member_count<ViewOptions>());
  EXPECT_EQ(declared(SimulateOptions()) - 5 + 1 + 1, member_count<SimulateOptions>());
}

TEST(TrainingKey, HoldsWhatAffectsTheResult) {
  const Scan scan = small_scan();
  const Groups groups = make_groups(scan, {.size = 9, .merged = 4});
  expect_key_to_hold_what_affects_the_result(TrainOptions(), [&](TrainOptions o) {
    o.start.clear();  // no path but the weights there are in the key
    return training_key(scan, groups, o);
  });
}

TEST(Verbs, AcceptNoOptionThatTheyDoNotLookAt) {
  const auto refuses = [](const std::string& verb, std::vector<std::string> words) {
    words.insert(words.begin(), "scan.npz");
    words.insert(words.end(), {"-o", "out"});
    if (verb == "infer") words.insert(words.end(), {"--model", "m"});
    const std::vector<Command> all = all_commands();
    try {
      parse(*std::ranges::find(all, verb, &Command::name), words);
      return false;
    } catch (const UsageError& error) {
      return std::string(error.what()).find(words[1]) != std::string::npos;
    }
  };
  for (const char* verb : {"train", "infer", "reconstruct"}) {
    const bool by_networks_only = std::string(verb) != "reconstruct";
    EXPECT_EQ(refuses(verb, {"--near-field"}), by_networks_only) << verb;
    EXPECT_EQ(refuses(verb, {"--source-distance", "1"}), by_networks_only) << verb;
    EXPECT_FALSE(refuses(verb, {"--flip-x"})) << verb;
  }
  for (const char* verb : {"grid-lines", "dose-response"})
    EXPECT_TRUE(refuses(verb, {"--device", "cpu"})) << verb;
  for (const char* verb : {"train", "infer", "solve", "reconstruct"})
    EXPECT_FALSE(refuses(verb, {"--device", "cpu"})) << verb;
  EXPECT_TRUE(refuses("reconstruct", {"--averaging", "0.5"})) << "internal";
}

TEST(RequireOwnGrouping, NamesTheOptionThatChoosesGroupsInAnotherWay) {
  const auto refusal = [](const TrainingChoices& training, const GroupingChoices& grouping) {
    return message_of<UsageError>([&] { require_own_grouping(training, grouping); });
  };
  TrainingChoices training;
  GroupingChoices many{.groups = {.gridsize = 0, .count = 8}}, fixed{.groups = {.gridsize = 2}};
  EXPECT_TRUE(refusal(training, many).starts_with("--n-groups: groups are drawn anew"));
  EXPECT_EQ(refusal(training, fixed), "");
  training.group.size = 16;
  EXPECT_TRUE(refusal(training, fixed).starts_with("--group-size: groups are chosen once"));
}

TEST(Simulate, HasOneRangeOfTheJitter) {
  SimulateOptions options;
  options.jitter = 0.8;
  EXPECT_EQ(message_of([&] { simulate(options); }),
            "--jitter: expected a number (0..0.5), found '0.8'");
  const std::string help = command_help(simulate_command());
  EXPECT_NE(help.find("(0..0.5,"), std::string::npos);
}

TEST(RequireOwnOptions, NamesTheOptionAndTheNetworksThatHaveIt) {
  EXPECT_EQ(message_of([] { require_own_options({.filters_scale = 3}); }),
            "--n-filters-scale: it is an option of the networks ptychopinn, supervised, not of "
            "unet (--network names one)");
  EXPECT_EQ(message_of([] { require_own_options({.name = "supervised", .probe_big = false}); }),
            "--probe-big: it is an option of the networks ptychopinn, not of supervised (--network "
            "names one)");
  EXPECT_NO_THROW(require_own_options({.name = "ptychopinn", .probe_big = false}));
}

}  // namespace
}  // namespace ptyche
