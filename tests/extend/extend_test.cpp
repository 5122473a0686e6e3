// The examples of docs/extend.md: what the page shows is compiled and run here.
#include <gtest/gtest.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/help.h"
#include "ptyche/commands/parse.h"
#include "ptyche/data/scores.h"
#include "ptyche/nn/layers.h"
#include "tests/support/fields.h"
#include "tests/support/refusal.h"

namespace ptyche {

// An option.
struct BlurOptions {
  double width_px = 1;
  std::int64_t threads = 0;
};

std::vector<Field> fields(BlurOptions& options) {
  return {{.name = "blur",
           .target = &options.width_px,
           .unit = "px",
           .help = "standard deviation of the Gaussian; 0 = none",
           .range = {0, 100}},
          {.name = "threads", .target = &options.threads, .affects_result = false}};
}

TEST(Extend, AnOptionHasItsRangeAndIsInTheKey) {
  EXPECT_EQ(message_of([] { require_in_range(BlurOptions{.width_px = -1}); }),
            "--blur: expected a number (0..100), found '-1'");
  expect_key_to_hold_what_affects_the_result(BlurOptions(),
                                             [](const BlurOptions& o) { return key_of(o); });
}

// A verb.
Command blur_command() {
  const auto options = std::make_shared<BlurOptions>();
  return {.name = "blur",
          .summary = "blur an image",
          .description = "",
          .arguments = {},
          .options = fields(*options),
          .references = {},
          .run = [options] { fmt::print("blurred by {} px\n", options->width_px); }};
}

TEST(Extend, AVerbRunsAndHasHelp) {
  EXPECT_NO_THROW(run_command_line({blur_command()}, {"blur", "--blur", "2"}));
  EXPECT_THROW(run_command_line({blur_command()}, {"blur", "--blur", "200"}), UsageError);
  EXPECT_NE(command_help(blur_command()).find("0..100, unit px"), std::string::npos);
}

// A network.
class OneLayer : public PatchNetwork {
 public:
  explicit OneLayer(const NetworkOptions& options)
      : layer_(register_module("layer", convolution_3x3(options.channels, 2))) {}

  at::Tensor forward(const at::Tensor& channels) override {
    const at::Tensor maps = as_map(layer_->forward(channels));
    return from_polar(1 + maps.select(1, 0), maps.select(1, 1));
  }

  static constexpr NetworkTraits kTraits = {.summary = "one convolution", .has_stem = true};
  static std::vector<Field> fields(NetworkOptions&) { return {}; }
  static NetworkOptions completed(NetworkOptions options, const StemOptions& stem) {
    options.channels = stem_channels(stem);
    return options;
  }
  static void check(const NetworkOptions&) {}
  static std::int64_t required_multiple(const NetworkOptions&) { return 1; }
  static void draw_weights(torch::nn::Module& network, std::uint64_t seed) {
    draw_glorot_weights(network, seed);
  }

 private:
  torch::nn::Conv2d layer_;
};

TEST(Extend, ANetworkMapsChannelsToPatches) {
  const NetworkEntry entry = network_entry<OneLayer>("one-layer");
  const NetworkOptions options = entry.completed({.pattern_size = 16}, {});
  const auto network = entry.make(options);
  const at::Tensor patches = network->forward(at::rand({3, options.channels, 16, 16}));
  EXPECT_EQ(patches.sizes(), (std::vector<std::int64_t>{3, 16, 16}));
  EXPECT_TRUE(patches.is_complex());
}

// A score.
NamedScore bright_share(double bright, double all) {
  return {"object.bright_share", bright / all,
          "share of the lit pixels that are brighter than the mean, 0..1"};
}

TEST(Extend, AScoreIsANameAValueAndItsMeaning) { EXPECT_EQ(bright_share(1, 4).value, 0.25); }

}  // namespace ptyche
