// The examples of docs/extend.md: what the page shows is compiled and run here.
#include <gtest/gtest.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/help.h"
#include "ptyche/commands/parse.h"
#include "ptyche/data/scores.h"
#include "ptyche/nn/layers.h"
#include "ptyche/physics/formulas.h"
#include "ptyche/solve/problem.h"
#include "tests/support/fields.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

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

// A loss.
/// (I - n)^2 / (2 (n + floor)): a Gaussian likelihood of the counts.
struct GaussianMisfit {
  static constexpr double kFloor = 1;
  static constexpr LossUnit kUnit = LossUnit::photons;
  static constexpr double kCurvature = 0;

  template <class Math, class V, class F>
  PTYCHE_FORMULA static V value(const V& intensity, const V& counts, F floor, V* slope = nullptr) {
    const V excess = intensity - counts, raised = counts + floor;
    if (slope) *slope = excess / raised;
    return excess * excess / (raised + raised);
  }
};

TEST(Extend, ALossWritesItsSlope) {
  const auto value = [](double intensity, double* slope = nullptr) {
    return GaussianMisfit::value<NumberMath<double>>(intensity, 3.0, 1.0, slope);
  };
  double slope = 0;
  value(5, &slope);
  EXPECT_NEAR(slope, (value(5 + 1e-4) - value(5 - 1e-4)) / 2e-4, 1e-8);
  EXPECT_EQ(value(3), 0);
}

// A solver.
struct DescentOptions {
  double step = 0.05;
};

std::vector<Field> fields(DescentOptions& options, const SolverOptions&) {
  return {{.name = "descent-step",
           .target = &options.step,
           .help = "largest change of an object pixel in a pass",
           .range = {0, 1}}};
}

/// In every pass one step along the gradient of all patterns.
class Descent : public Solver {
 public:
  using Options = DescentOptions;
  explicit Descent(const Options& options) : options_(options) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass&) override {
    const SolverGradient slope = gradient(problem, state, at::arange(problem.patterns()));
    state.object = state.object - slope.object * (options_.step / slope.object.abs().max());
    return slope.loss;
  }
  void save(Hdf5File&, const std::string&) const override {}
  void load(const Hdf5File&, const std::string&, const SolverState&) override {}

 private:
  Options options_;
};

SolverEntry descent_solver() {
  return describe_solver<Descent>("descent", "steepest descent of the object");
}

TEST(Extend, ASolverLowersItsLoss) {
  const SolverEntry entry = descent_solver();
  const auto descent = entry.make(entry.options);
  const SolverProblem problem = make_problem(small_scan(), {});
  SolverState state = start_state(problem, {});
  const double before = descent->pass(problem, state, {});
  for (int i = 0; i < 4; ++i) descent->pass(problem, state, {});
  EXPECT_LT(descent->pass(problem, state, {}), before);
}

// A score.
NamedScore bright_share(double bright, double all) {
  return {"object.bright_share", bright / all,
          "share of the lit pixels that are brighter than the mean, 0..1"};
}

TEST(Extend, AScoreIsANameAValueAndItsMeaning) { EXPECT_EQ(bright_share(1, 4).value, 0.25); }

}  // namespace ptyche
