#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

/// A model of a network with few features, untrained.
Model model_of(NetworkOptions asked, std::int64_t size) {
  asked.widths = {8, 16};
  asked.filters_scale = 1;
  Model model;
  model.network_options = completed(asked, size, model.stem_options);
  model.network = make_network(model.network_options, 3);
  model.stem_probe = model.probe = random_tensor({1, size, size}, at::kComplexFloat, 1);
  return model;
}

class ModelFiles : public testing::Test {
 protected:
  ~ModelFiles() override { std::filesystem::remove(file_); }

  const std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("model of " + std::to_string(getpid()));
};

class ModelFileOf : public ModelFiles, public testing::WithParamInterface<NetworkOptions> {};

TEST_P(ModelFileOf, GivesTheSamePatchesAgain) {
  const at::NoGradGuard no_grad;
  const Model model = model_of(GetParam(), 64);
  const at::Tensor input =
      random_tensor({2, model.network_options.channels, 64, 64}, at::kFloat, 2);
  // What the seed alone would give must not pass for what was written.
  for (at::Tensor& parameter : model.network->parameters()) parameter.mul_(1.5).add_(0.01);
  write_model(file_, model);
  const Model copy = read_model(file_);
  EXPECT_TRUE(at::equal(copy.network->forward(input), model.network->forward(input)));
  EXPECT_EQ(copy.network->patches_per_input(), model.network->patches_per_input());
}

INSTANTIATE_TEST_SUITE_P(EveryNetwork, ModelFileOf,
                         testing::Values(NetworkOptions{.name = "unet"},
                                         NetworkOptions{.name = "ptychopinn"},
                                         NetworkOptions{.name = "ptychopinn",
                                                        .gridsize = 2,
                                                        .object_big = false,
                                                        .probe_big = false,
                                                        .amplitude_activation = "swish"},
                                         NetworkOptions{.name = "supervised"}));

/// Writes the file again without the options that only PtychoPINN's networks need.
void forget_later_options(const std::filesystem::path& file) {
  write_atomically(file, [&](const std::filesystem::path& next) {
    const Hdf5File in = Hdf5File::open(file);
    Hdf5File out = Hdf5File::create(next);
    for (const std::string& path : in.datasets()) out.write(path, in.read(path).values);
    nlohmann::json options = nlohmann::json::parse(in.text("ptyche_model", "options").value_or(""));
    for (const char* later : {"pattern_size", "gridsize", "filters_scale", "object_big",
                              "probe_big", "amplitude_activation"})
      ASSERT_EQ(options["network"].erase(later), 1) << later;
    out.set("ptyche_model", "options", options.dump());
    out.set("ptyche_model", "format_version", std::int64_t{1});
    out.close();
  });
}

TEST_F(ModelFiles, OfAnOlderProgramAreReadWithDefaults) {
  const at::NoGradGuard no_grad;
  const Model model = model_of({.name = "unet"}, 64);
  write_model(file_, model);
  forget_later_options(file_);
  const Model copy = read_model(file_);
  const at::Tensor input =
      random_tensor({2, model.network_options.channels, 64, 64}, at::kFloat, 2);
  EXPECT_TRUE(at::equal(copy.network->forward(input), model.network->forward(input)));
  EXPECT_EQ(copy.network_options.filters_scale, NetworkOptions().filters_scale);
}

TEST_F(ModelFiles, WithWeightsOfSixteenBitsTakeHalfTheSpaceAndRoundByNoMore) {
  const at::NoGradGuard no_grad;
  const Model model = model_of({.name = "unet"}, 64);
  write_model(file_, model);
  const auto whole = std::filesystem::file_size(file_);
  write_model(file_, model, WeightType::float16);
  EXPECT_LT(std::filesystem::file_size(file_), 0.85 * static_cast<double>(whole));
  const Model copy = read_model(file_);
  for (const auto& weight : model.network->named_parameters()) {
    const at::Tensor kept = copy.network->named_parameters()[weight.key()];
    EXPECT_EQ(kept.scalar_type(), at::kFloat);
    EXPECT_TRUE(at::equal(kept, weight.value().to(at::kHalf).to(at::kFloat))) << weight.key();
  }
}

TEST_F(ModelFiles, RefuseAWeightThatSixteenBitsCannotHold) {
  const at::NoGradGuard no_grad;
  const Model model = model_of({.name = "unet"}, 64);
  model.network->parameters().front().view(-1)[0] = 1e6;
  write_model(file_, model);
  EXPECT_THROW(write_model(file_, model, WeightType::float16), InvalidInput);
}

}  // namespace
}  // namespace ptyche
