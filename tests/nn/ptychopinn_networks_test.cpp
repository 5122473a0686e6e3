// PtychoPINN's network and its supervised baseline.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/physics_stem.h"
#include "ptyche/nn/ptychopinn_network.h"
#include "ptyche/nn/supervised_network.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

NetworkOptions options_of(const std::string& name, std::int64_t size = 64,
                          std::int64_t gridsize = 1) {
  return completed({.name = name, .gridsize = gridsize}, size, {});
}

/// Few features, so that tests are quick.
NetworkOptions small(NetworkOptions options) {
  options.filters_scale = 1;
  return options;
}

at::Tensor amplitudes(std::int64_t count, const NetworkOptions& options) {
  return random_tensor({count, options.channels, options.pattern_size, options.pattern_size},
                       at::kFloat, 1)
      .abs();
}

std::int64_t parameter_count(const NetworkOptions& options) {
  std::int64_t count = 0;
  const auto network = make_network(options, 1);
  for (const at::Tensor& parameter : network->parameters()) count += parameter.numel();
  return count;
}

void expect_refusal(const NetworkOptions& options, const std::string& part) {
  const std::string message = message_of([&] { make_network(options, 1); });
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

/// Patches without the central N/2 square.
at::Tensor border_of(const at::Tensor& patches) {
  const std::int64_t size = patches.size(-1);
  at::Tensor border = patches.clone();
  border.narrow(1, size / 4, size / 2).narrow(2, size / 4, size / 2).zero_();
  return border;
}

TEST(PtychoPinnNetwork, HasTheOriginalsNumberOfParameters) {
  struct Row {
    std::int64_t size, gridsize;
    bool probe_big;
    std::int64_t parameters;
  };
  for (const Row& row :
       {Row{64, 1, false, 2252026}, Row{64, 1, true, 2331772}, Row{64, 2, false, 2257000},
        Row{64, 2, true, 2340208}, Row{128, 1, false, 4639770}, Row{128, 1, true, 4661212},
        Row{128, 2, false, 4643880}, Row{128, 2, true, 4667056}, Row{256, 1, false, 12906154},
        Row{256, 1, true, 12912268}}) {
    NetworkOptions options = options_of("ptychopinn", row.size, row.gridsize);
    options.probe_big = row.probe_big;
    EXPECT_EQ(parameter_count(options), row.parameters)
        << row.size << " gridsize " << row.gridsize << " probe_big " << row.probe_big;
  }
}

TEST(SupervisedNetwork, HasTheOriginalsNumberOfParameters) {
  NetworkOptions options = options_of("supervised");
  EXPECT_EQ(parameter_count(options), 4612418);
  options.filters_scale = 1;
  EXPECT_EQ(parameter_count(options), 1154210);
}

TEST(PtychoPinnNetwork, GivesAPatchPerPatternOrOneForAll) {
  NetworkOptions options = small(options_of("ptychopinn", 64, 2));
  const auto each = make_network(options, 1);
  EXPECT_EQ(each->patches_per_input(), 4);
  EXPECT_EQ(each->forward(amplitudes(3, options)).sizes(), (std::vector<std::int64_t>{12, 64, 64}));
  options.object_big = false;
  const auto one = make_network(options, 1);
  EXPECT_EQ(one->patches_per_input(), 1);
  EXPECT_EQ(one->forward(amplitudes(3, options)).sizes(), (std::vector<std::int64_t>{3, 64, 64}));
}

TEST(PtychoPinnNetwork, LeavesTheBorderAtZeroWithoutProbeBig) {
  NetworkOptions options = small(options_of("ptychopinn", 64, 2));
  const at::Tensor with = make_network(options, 1)->forward(amplitudes(2, options));
  EXPECT_GT(border_of(with).abs().max().item<double>(), 0);
  options.probe_big = false;
  const at::Tensor without = make_network(options, 1)->forward(amplitudes(2, options));
  EXPECT_EQ(border_of(without).abs().max().item<double>(), 0);
  EXPECT_GT(without.abs().max().item<double>(), 0);
}

TEST(PtychoPinnNetwork, BoundsTheCentreByItsActivation) {
  NetworkOptions options = small(options_of("ptychopinn"));
  options.probe_big = false;
  const auto centre = [&](const std::string& activation) {
    options.amplitude_activation = activation;
    return make_network(options, 1)->forward(1e3 * amplitudes(2, options)).abs();
  };
  EXPECT_LE(centre("sigmoid").max().item<double>(), 1.00001);
  for (const char* unbounded : {"swish", "softplus", "relu"})
    EXPECT_GT(centre(unbounded).max().item<double>(), 1) << unbounded;
}

TEST(PtychoPinnNetwork, LearnsWithEveryActivation) {
  NetworkOptions options = small(options_of("ptychopinn", 64, 2));
  for (const char* activation : {"sigmoid", "swish", "softplus", "relu"}) {
    options.amplitude_activation = activation;
    const auto network = make_network(options, 1);
    network->forward(amplitudes(2, options)).abs().square().sum().backward();
    for (const auto& parameter : network->named_parameters())
      EXPECT_TRUE(parameter.value().grad().defined() &&
                  parameter.value().grad().isfinite().all().item<bool>())
          << activation << " " << parameter.key();
  }
}

TEST(OriginalNetworks, GiveTheSamePatchesForAnyBatch) {
  for (const NetworkOptions& options :
       {small(options_of("ptychopinn", 64, 2)), small(options_of("supervised", 32))}) {
    const at::NoGradGuard no_grad;
    const auto network = make_network(options, 1);
    const at::Tensor input = amplitudes(100, options), together = network->forward(input);
    const std::int64_t each = network->patches_per_input();
    for (const std::int64_t batch : {1, 7})
      for (const std::int64_t first : {std::int64_t{0}, 100 - batch})
        EXPECT_LT(relative_difference(network->forward(input.narrow(0, first, batch)),
                                      together.narrow(0, first * each, batch * each)),
                  1e-5)
            << options.name << " batch " << batch << " from " << first;
  }
}

TEST(OriginalNetworks, TakeAnyMemoryFormat) {
  for (const NetworkOptions& options :
       {small(options_of("ptychopinn", 128, 3)), small(options_of("supervised", 40))}) {
    const at::NoGradGuard no_grad;
    const auto network = make_network(options, 1);
    const at::Tensor input = amplitudes(2, options);
    EXPECT_LT(
        relative_difference(network->forward(input.contiguous(at::MemoryFormat::ChannelsLast)),
                            network->forward(input)),
        1e-5)
        << options.name;
  }
}

TEST(OriginalNetworks, GiveComplex64UnderBfloat16) {
  for (const NetworkOptions& options :
       {small(options_of("ptychopinn")), small(options_of("supervised"))}) {
    const at::NoGradGuard no_grad;
    const auto network = make_network(options, 1);
    const at::Tensor exact = network->forward(amplitudes(2, options));
    const Autocast autocast(Precision::bfloat16);
    const at::Tensor coarse = network->forward(amplitudes(2, options));
    EXPECT_EQ(coarse.scalar_type(), at::kComplexFloat);
    EXPECT_LT(relative_difference(coarse, exact), 0.03) << options.name;
  }
}

TEST(SupervisedNetwork, GivesThePatchesOfItsMaps) {
  const NetworkOptions options = small(options_of("supervised"));
  SupervisedNetwork network(options);
  const at::Tensor maps = network.maps(amplitudes(2, options));
  EXPECT_EQ(maps.sizes(), (std::vector<std::int64_t>{2, 2, 64, 64}));
  const at::Tensor expected =
      at::polar(at::ones_like(maps.select(1, 1)), maps.select(1, 1)) * maps.select(1, 0);
  EXPECT_LT(relative_difference(network.forward(amplitudes(2, options)), expected), 1e-6);
}

TEST(OriginalNetworks, DrawGlorotWeightsFromTheSeed) {
  const NetworkOptions options = options_of("ptychopinn");
  const auto a = make_network(options, 1), b = make_network(options, 1),
             c = make_network(options, 2);
  for (const auto& parameter : a->named_parameters()) {
    const at::Tensor& weight = parameter.value();
    EXPECT_TRUE(at::equal(weight, b->named_parameters()[parameter.key()]));
    if (weight.dim() == 1) {
      EXPECT_EQ(weight.abs().max().item<double>(), 0) << parameter.key();
      continue;
    }
    EXPECT_FALSE(at::equal(weight, c->named_parameters()[parameter.key()]));
    const double bound = std::sqrt(6.0 / (9.0 * double(weight.size(0) + weight.size(1))));
    EXPECT_LE(weight.abs().max().item<double>(), bound) << parameter.key();
    EXPECT_NEAR(weight.std().item<double>() * std::sqrt(3.0) / bound, 1, 0.1) << parameter.key();
  }
}

TEST(OriginalNetworks, HalveTheSidesDownToWhatTheirLaddersNeed) {
  EXPECT_EQ(required_multiple(options_of("ptychopinn", 64)), 8);
  EXPECT_EQ(required_multiple(options_of("ptychopinn", 128)), 16);
  EXPECT_EQ(required_multiple(options_of("ptychopinn", 256)), 32);
  EXPECT_EQ(required_multiple(options_of("supervised", 256)), 8);
}

TEST(OriginalNetworks, RefuseOptionsOutOfRangeByName) {
  expect_refusal(options_of("ptychopinn", 96), "64, 128 or 256 pixels a side, found 96");
  expect_refusal(options_of("ptychopinn", 64, 4), "a gridsize of 1, 2 or 3, found 4");
  expect_refusal(options_of("supervised", 100), "a multiple of 8 pixels a side, found 100");
  expect_refusal(options_of("supervised", 64, 2), "found a gridsize of 2");
  NetworkOptions options = options_of("ptychopinn", 64, 2);
  options.channels = 6;
  expect_refusal(options, "expected 4 channels for a gridsize of 2, found 6");
  options = options_of("ptychopinn");
  options.filters_scale = 0;
  expect_refusal(options, "a filters scale of 1 or more, found 0");
  options = options_of("ptychopinn");
  options.amplitude_activation = "tanh";
  expect_refusal(options, "an amplitude activation of sigmoid, swish, softplus, relu, found tanh");
}

TEST(OriginalNetworks, RefuseInputsOfAnotherShapeByName) {
  const NetworkOptions pair = small(options_of("ptychopinn", 64, 2));
  const auto network = make_network(pair, 1);
  const std::string found =
      message_of([&] { network->forward(amplitudes(2, options_of("ptychopinn", 64, 1))); });
  EXPECT_EQ(found,
            "network ptychopinn: expected an input (k, 4, 64, 64), found (2, 1, 64, 64) float32");
  const auto supervised = make_network(small(options_of("supervised")), 1);
  EXPECT_NE(message_of([&] {
              supervised->forward(amplitudes(2, options_of("supervised", 128)));
            }).find("(k, 1, 64, 64), found (2, 1, 128, 128)"),
            std::string::npos);
}

}  // namespace
}  // namespace ptyche
