// Inference and stitching on a device that is not the CPU.
#include "tests/support/second_device.h"

#include <gtest/gtest.h>

#include "ptyche/infer/infer.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

Model untrained(const Scan& scan, NetworkOptions network) {
  network.widths = {8, 16};
  return new_model(scan, scan.probe(), network, {}, 1);
}

Patches patches_on(at::Device device, const Model& model, const Scan& scan) {
  return infer(model, scan,
               {.batch = 10,
                .precision = Precision::float32,
                .engine = Engine::reference,
                .device = device});
}

double off_by(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

TEST(SecondDeviceInfer, StitchesTheImageOfTheCpu) {
  const Scan scan = small_scan();
  for (const TrainRecipe recipe : {TrainRecipe::ptyche, TrainRecipe::ptychopinn}) {
    Model model = untrained(scan, {});
    model.recipe = recipe;
    const Patches found = patches_on(second_device(), model, scan);
    EXPECT_EQ(found.patches.device(), second_device());
    const Reconstruction there = stitch(found, scan);
    const Reconstruction here = stitch(patches_on(at::kCPU, model, scan), scan);
    EXPECT_TRUE(there.object.is_cpu());
    EXPECT_LT(off_by(there.object, here.object), allowed(1e-6));
    EXPECT_LT(off_by(there.coverage, here.coverage), allowed(1e-6));
  }
}

TEST(SecondDeviceInfer, RefusesBytes) {
  const Scan scan = small_scan();
  const Model model = untrained(scan, {});
  const std::string said =
      message_of([&] { require_precision(model, Precision::int8, second_device()); });
  EXPECT_NE(said.find("--precision int8: expected a CPU"), std::string::npos) << said;
}

TEST(SecondDeviceInfer, LeavesTheModelWhereItWas) {
  const Scan scan = small_scan();
  const Model model = untrained(scan, {});
  patches_on(second_device(), model, scan);
  EXPECT_TRUE(model.network->parameters().front().is_cpu());
  EXPECT_TRUE(model.stem_probe.is_cpu());
}

/// Random counts in patterns of the least size that PtychoPINN's network knows.
Scan random_scan() {
  at::manual_seed(5);
  return Scan({.counts = at::randint(0, 50, {9, 64, 64}, at::kByte),
               .positions = 40 + 3 * at::rand({9, 2}, at::kDouble),
               .probe = at::randn({1, 64, 64}, at::kComplexFloat)});
}

TEST(SecondDeviceInfer, GroupsOfPatternsGoThroughOneNetwork) {
  const Scan scan = random_scan();
  NetworkOptions network;
  network.name = "ptychopinn";
  network.gridsize = 2;
  network.filters_scale = 1;
  for (const bool big : {true, false}) {
    network.object_big = big;
    const Model model = new_model(scan, scan.probe(), network, {}, 1);
    EXPECT_LT(off_by(patches_on(second_device(), model, scan).patches.cpu(),
                     patches_on(at::kCPU, model, scan).patches),
              allowed(1e-6));
  }
}

TEST(SecondDeviceStitch, BringsPatchesOfAnyPhaseTogether) {
  const Scan scan = small_scan();
  const Model model = untrained(scan, {});
  Patches turned = patches_on(at::kCPU, model, scan);
  at::manual_seed(4);
  const at::Tensor angle = at::rand({turned.patches.size(0), 1, 1}) * 6;
  turned.patches = turned.patches * at::polar(at::ones_like(angle), angle);
  Patches there = turned;
  for (at::Tensor* tensor : {&there.patches, &there.probe}) *tensor = tensor->to(second_device());
  EXPECT_LT(off_by(stitch(there, scan).object, stitch(turned, scan).object), allowed(1e-5));
}

TEST(DeviceCuda, IsRefusedWithWhatIsMissing) {
  const Scan scan = small_scan();
  const std::string message =
      message_of([&] { patches_on(at::Device(at::kCUDA, 0), untrained(scan, {}), scan); });
  if (message.empty()) GTEST_SKIP() << "nothing is missing: this machine has an NVIDIA GPU";
  EXPECT_NE(message.find("--device cuda: "), std::string::npos) << message;
  EXPECT_TRUE(message.find("./run build cuda") != std::string::npos ||
              message.find("nvidia-smi") != std::string::npos)
      << message;
}

TEST(DeviceCuda, IsChosenByNameOnly) {
  at::Device device = at::kCPU;
  const auto chosen = [&](const char* name) {
    assign(device_field(device), name);
    return device;
  };
  EXPECT_EQ(chosen("cuda"), at::Device(at::kCUDA, 0));
  EXPECT_EQ(chosen("auto"), at::Device(at::kCPU));
  EXPECT_EQ(chosen("cpu"), at::Device(at::kCPU));
}

}  // namespace
}  // namespace ptyche
