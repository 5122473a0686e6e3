#include "ptyche/train/universe_training.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/canvas.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

Universe tiny_universe() {
  return parse_universe(
      "pattern_size = 32\npatterns = 9\nphotons = [3e3, 1e5]\noverlap = [0.6, 0.8]\n"
      "[object]\nleaf = [3, 6]\nkinds = { dead-leaves = 1 }\nindependent = 0\n",
      "tiny");
}

TrainOptions tiny_options() {
  TrainOptions options;
  options.epochs = 1;
  options.network.widths = {8, 16};
  options.network.stride = 2;
  options.precision = Precision::float32;
  return options;
}

TEST(GainOverStem, IsNoneForTheUntrainedNetworkAndLargeForTheTruth) {
  const Universe universe = tiny_universe();
  const Model model = new_model_of(universe, tiny_options());
  const at::NoGradGuard no_grad;
  for (std::uint64_t number = 0; number < 4; ++number) {
    const ShownScan shown = show(model, universe, 1, number);
    const at::Tensor frames = at::arange(9, at::kLong);
    const GainOverStem start = gain_over_stem(
        patches_of(model, shown.drawn.scan, frames, shown.channels), shown, Engine::fused);
    EXPECT_NEAR(start.image.item<double>(), 0, 1e-5);
    EXPECT_NEAR(start.fit.item<double>(), 0, 1e-5);
    const Scan& scan = shown.drawn.scan;
    const at::Tensor corners =
        split_positions(scan.positions(), Interpolation::probe_fourier).whole - 16;
    const at::Tensor turned =
        extract_patches(scan.truth(), corners, 32) * at::polar(at::ones({}), at::full({}, 0.7));
    EXPECT_LT(gain_over_stem(turned, shown, Engine::fused).image.item<double>(), -3);
  }
}

TEST(UniverseTraining, RefusesANetworkWithoutAStem) {
  TrainOptions options = tiny_options();
  options.network = {.name = "ptychopinn"};
  EXPECT_NE(message_of([&] { train_on_universe(tiny_universe(), options); }).find("physics stem"),
            std::string::npos);
}

TEST(UniverseTrainingSlow, IsTheSameEveryTimeAndIsNotResumedWithOtherOptions) {
  const std::filesystem::path folder = testing::TempDir() + "/universe_resume";
  std::filesystem::create_directories(folder);
  const auto file_of = [&](const Model& model) {
    write_model(folder / "m.ptyche", model);
    return read_bytes(folder / "m.ptyche");
  };
  TrainOptions options = tiny_options();
  options.epochs = 1;
  const std::string whole = file_of(train_on_universe(tiny_universe(), options));
  options.checkpoint = folder / "c.ptyche";
  options.keep_checkpoint = true;
  EXPECT_EQ(file_of(train_on_universe(tiny_universe(), options)), whole);
  options.resume = true;
  EXPECT_EQ(file_of(train_on_universe(tiny_universe(), options)), whole);
  options.epochs = 2;
  EXPECT_NE(message_of([&] { train_on_universe(tiny_universe(), options); }).find("epochs is 2"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ptyche
