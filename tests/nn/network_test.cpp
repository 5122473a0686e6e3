#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/engine/int8_convolution.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/nn/physics_stem.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

const NetworkOptions kSmall{
    .name = "unet", .channels = 6, .widths = {8, 16}, .blocks = 1, .stride = 2, .skip_channel = 2};

/// Amplitudes of four true patterns of the small scan, and the probes that made them.
struct FourPatterns {
  Scan scan = small_scan();
  at::Tensor frames = at::tensor({0, 7, 14, 21}, at::kLong);
  at::Tensor positions = scan.positions().index_select(0, frames);
  at::Tensor probes = fourier_shift(scan.probe(), positions - positions.round());
  at::Tensor amplitudes = counts_in_fft_order(scan, frames).sqrt();
  at::Tensor mask = mask_in_fft_order(scan);
  at::Tensor truth = extract_patches(scan.truth(), positions.round() - 8.0, 16);

  at::Tensor misfit(const at::Tensor& object) const {
    return (expected_counts(propagate_far_field(exit_wave(probes, object))).sqrt() - amplitudes)
        .norm();
  }
};

TEST(PhysicsStem, ExplainsEachPatternBetterWithMoreSteps) {
  const FourPatterns four;
  const at::Tensor channels =
      physics_stem(four.amplitudes, four.mask, four.probes, 1, {.steps = {1, 16}});
  const auto object = [&](std::int64_t at) {
    return at::complex(1 + channels.select(1, at), channels.select(1, at + 1).contiguous());
  };
  const auto flat = four.misfit(at::ones_like(four.truth)).item<double>();
  const auto once = four.misfit(object(0)).item<double>();
  const auto often = four.misfit(object(2)).item<double>();
  EXPECT_LT(once, flat);
  EXPECT_LT(often, 0.5 * once);
}

TEST(PhysicsStem, LeavesAFlatObjectFlat) {
  const FourPatterns four;
  const at::Tensor amplitudes = expected_counts(propagate_far_field(four.probes)).sqrt();
  const at::Tensor channels = physics_stem(amplitudes, four.mask, four.probes, 1, {.steps = {4}});
  EXPECT_LT(channels.slice(1, 0, 2).abs().max().item<double>(), 2e-3);
}

TEST(PhysicsStem, IgnoresMaskedPixels) {
  FourPatterns four;
  four.mask = four.mask.clone();
  four.mask[2][3] = false;
  at::Tensor other = four.amplitudes.clone();
  other.select(1, 2).select(1, 3).fill_(99);
  const StemOptions options{.steps = {1, 4}};
  const auto object_channels = [&](const at::Tensor& amplitudes) {
    return physics_stem(amplitudes, four.mask, four.probes, 1, options).slice(1, 0, 5);
  };
  EXPECT_TRUE(at::equal(object_channels(four.amplitudes), object_channels(other)));
}

TEST(PhysicsStem, IsTheSameByTheFusedEngineAndByTheReference) {
  const FourPatterns four;
  const at::Tensor second = four.probes * at::complex(at::full({}, 0.3), at::full({}, 0.2));
  const at::Tensor modes = at::cat({four.probes, second.flip({-1})}, 1);
  for (const at::Tensor& probes : {four.probes, modes})
    for (const bool optics : {false, true}) {
      const StemOptions options{.steps = {1, 4}, .optics = optics};
      const auto channels = [&](Engine engine) {
        return physics_stem(four.amplitudes, four.mask, probes, 0.7, options, engine);
      };
      const at::Tensor fused = channels(Engine::fused), reference = channels(Engine::reference);
      EXPECT_EQ(fused.sizes(), reference.sizes());
      EXPECT_LT((fused - reference).abs().max().item<double>(), 1e-4);
    }
}

TEST(UNet, StartsAtTheStemsImage) {
  const auto network = make_network(kSmall, 1);
  const at::Tensor channels = random_tensor({3, 6, 16, 16}, at::kFloat, 1);
  const at::Tensor expected =
      at::complex(1 + channels.select(1, 2), channels.select(1, 3).contiguous());
  EXPECT_TRUE(at::equal(network->forward(channels), expected));
}

TEST(MakeNetwork, DrawsTheSameWeightsFromTheSameSeedOnly) {
  const auto a = make_network(kSmall, 1)->parameters(), b = make_network(kSmall, 1)->parameters();
  const auto c = make_network(kSmall, 2)->parameters();
  bool all_equal = true, any_differs = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    all_equal &= at::equal(a[i], b[i]);
    any_differs |= !at::equal(a[i], c[i]);
  }
  EXPECT_TRUE(all_equal);
  EXPECT_TRUE(any_differs);
}

TEST(MakeNetwork, NamesTheNetworksThatExist) {
  NetworkOptions options = kSmall;
  options.name = "transformer";
  const std::string message = message_of([&] { make_network(options, 1); });
  EXPECT_NE(message.find("one of unet, ptychopinn, supervised, found transformer"),
            std::string::npos)
      << message;
}

TEST(UNet, TreatsEveryPatternOnItsOwn) {
  const auto network = make_network(kSmall, 1);
  const at::NoGradGuard no_grad;
  for (at::Tensor& weight : network->parameters()) weight.add_(0.05);
  const at::Tensor channels = random_tensor({5, 6, 16, 16}, at::kFloat, 1);
  const at::Tensor together = network->forward(channels);
  EXPECT_LT(relative_difference(network->forward(channels.slice(0, 3, 4)), together.slice(0, 3, 4)),
            1e-5);
}

/// A network whose corrections are no zeros.
std::shared_ptr<PatchNetwork> correcting_network() {
  auto network = make_network(kSmall, 1);
  const at::NoGradGuard no_grad;
  at::manual_seed(3);
  for (at::Tensor& weight : network->parameters()) weight.add_(0.05 * at::randn_like(weight));
  return network;
}

at::Tensor correction_of(PatchNetwork& network, const at::Tensor& channels) {
  return at::view_as_real(network.forward(channels) - make_network(kSmall, 1)->forward(channels));
}

TEST(UNet, ThatMultipliesBytesCorrectsAsBefore) {
  if (!processor_multiplies_bytes()) GTEST_SKIP() << "this processor does not multiply bytes";
  const auto network = correcting_network();
  const at::Tensor channels = random_tensor({3, 6, 16, 16}, at::kFloat, 1);
  const at::NoGradGuard no_grad;
  const at::Tensor before = correction_of(*network, channels);
  network->multiply_bytes();
  const double off = relative_difference(correction_of(*network, channels), before);
  EXPECT_LT(off, 0.02);
  EXPECT_GT(off, 0);
}

TEST(UNet, ThatMultipliesBytesDoesNotWhereAGradientIsWanted) {
  if (!processor_multiplies_bytes()) GTEST_SKIP() << "this processor does not multiply bytes";
  const auto network = correcting_network();
  const at::Tensor channels = random_tensor({3, 6, 16, 16}, at::kFloat, 1);
  const at::Tensor before = network->forward(channels);
  network->multiply_bytes();
  EXPECT_TRUE(at::equal(network->forward(channels), before));
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(at::equal(network->forward(channels), before));
}

TEST(UNet, OfWeightsThatAreNotFiniteDoesNotMultiplyBytesWhichWouldHideThem) {
  const auto network = correcting_network();
  EXPECT_TRUE(network->can_multiply_bytes());
  const at::NoGradGuard no_grad;
  for (const auto& weight : network->named_parameters())
    if (weight.key() == "encoder_0_0.first.weight") weight.value()[0][0][0][0] = NAN;
  EXPECT_FALSE(network->can_multiply_bytes());
}

}  // namespace
}  // namespace ptyche
