// The bodies and the sequence of the CUDA kernels, run on the CPU in plain loops with LibTorch's
// FFT: what the GPU computes pixel by pixel, checked where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/engine/cuda/host_call.h"
#include "ptyche/engine/cuda/plugin.h"
#include "tests/support/fused_cases.h"

namespace ptyche {
namespace {

/// A machine (ptyche/engine/cuda/fused_loss.h) that is this CPU. Fresh memory holds NaN, so that
/// what is read before it is written shows.
class HostMachine {
 public:
  template <class V>
  V* take(std::int64_t count) {
    memory_.emplace_back(static_cast<std::size_t>(count) * sizeof(V) + 1, std::byte{0xff});
    return reinterpret_cast<V*>(memory_.back().data());
  }
  template <class V>
  void clear(V* at, std::int64_t count) {
    std::fill(at, at + count, V{});
  }
  template <class V>
  void upload(V* to, const V* from, std::int64_t count) {
    std::copy(from, from + count, to);
  }
  template <class V>
  void download(V* to, const V* from, std::int64_t count) {
    std::copy(from, from + count, to);
  }

  template <class Body>
  void sweep(std::int64_t rows, std::int64_t columns, const Body& body, double* sums = nullptr) {
    for (std::int64_t row = 0; row < rows; ++row) {
      double own[Body::kSums + 1] = {};
      for (std::int64_t column = 0; column < columns; ++column) body(row, column, own);
      for (int i = 0; i < Body::kSums; ++i) sums[row * Body::kSums + i] = own[i];
    }
  }

  template <class T>
  void transform(cuda::Complex<T>* images, std::int64_t size, std::int64_t batch, bool forward) {
    const auto type = at::toComplexType(c10::CppTypeToScalarType<T>::value);
    const at::Tensor waves = at::from_blob(images, {batch, size, size}, type);
    waves.copy_(forward ? at::fft_fft2(waves)
                        : at::fft_ifft2(waves, c10::nullopt, {-2, -1}, "forward"));
    largest_batch = std::max(largest_batch, batch);
  }

  std::int64_t largest_batch = 0;

 private:
  std::deque<std::vector<std::byte>> memory_;
};

/// The answers of the bodies; `batch` is how many patterns were done together.
template <class T>
FusedAnswers by_bodies(const FusedInputs& inputs, std::int64_t chunk_bytes,
                       std::int64_t* batch = nullptr) {
  FusedSetting setting = inputs.setting;
  setting.options.device = ComputeDevice::cuda;
  FusedCall<T> buffers =
      make_fused_call<T>(setting, inputs.picture, inputs.probe, inputs.background, true);
  HostMachine machine;
  const cpu::LossResult result = cuda::fused_loss_from_host(buffers.call, machine, chunk_bytes);
  if (batch) *batch = machine.largest_batch / buffers.call.modes;
  const at::Tensor& place = buffers.place_gradient;
  return {at::scalar_tensor(result.loss, at::kDouble),
          buffers.picture_gradient,
          buffers.probe_gradient,
          buffers.background_gradient,
          place.slice(1, 0, 2),
          place.slice(1, 2, 4)};
}

TEST(CudaBodies, AgreeWithTheReferenceInFloat64) {
  double worst = 0;
  for (const FusedCase& of : fused_cases()) {
    const FusedInputs inputs = fused_inputs(of);
    const double mismatch =
        largest_mismatch(by_bodies<double>(inputs, cuda::kChunkBytes), reference_answers(inputs));
    EXPECT_LT(mismatch, 1e-10) << to_string(of);
    worst = std::max(worst, mismatch);
  }
  RecordProperty("largest_mismatch", fmt::format("{:.2e}", worst));
}

TEST(CudaBodies, AgreeWithTheReferenceInFloat32) {
  for (FusedCase of : fused_cases()) {
    of.real = at::kFloat;
    const FusedInputs inputs = fused_inputs(of);
    EXPECT_LT(
        largest_mismatch(by_bodies<float>(inputs, cuda::kChunkBytes), reference_answers(inputs)),
        1e-5)
        << to_string(of);
  }
}

TEST(CudaBodies, MeanTheSameInChunksOfAnySize) {
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    const FusedCase of{.modes = 2, .group_sizes = {5, 1, 4, 3}, .interpolation = way};
    const FusedInputs inputs = fused_inputs(of);
    const FusedAnswers expected = reference_answers(inputs);
    std::vector<std::int64_t> batches;
    for (const std::int64_t bytes : {1, 60'000, 100'000, 1'000'000}) {
      batches.push_back(0);
      EXPECT_LT(largest_mismatch(by_bodies<double>(inputs, bytes, &batches.back()), expected),
                1e-10)
          << "chunks of " << batches.back();
    }
    EXPECT_EQ(batches.front(), 1);
    EXPECT_TRUE(batches[1] > 1 && batches[1] < batches[2] && batches[2] < 13);
    EXPECT_EQ(batches.back(), 13);
  }
}

TEST(CudaBodies, GiveTheLossAndTheContrastWithoutGradients) {
  FusedInputs inputs = fused_inputs({.modes = 2, .group_sizes = {4, 3}});
  inputs.setting.options.device = ComputeDevice::cuda;
  const FusedCall<double> buffers =
      make_fused_call<double>(inputs.setting, inputs.picture, inputs.probe, inputs.background,
                              /*gradient=*/false);
  HostMachine machine;
  const cpu::LossResult found = cuda::fused_loss_from_host(buffers.call, machine);
  const cpu::LossResult expected = cpu::fused_loss(buffers.call, 1);
  EXPECT_NEAR(found.loss, expected.loss, 1e-10 * expected.loss);
  EXPECT_EQ(found.pixels, expected.pixels);
  EXPECT_NEAR(found.sum_re, expected.sum_re, 1e-10 * expected.pixels);
  EXPECT_NEAR(found.sum_im, expected.sum_im, 1e-10 * expected.pixels);
  EXPECT_NEAR(found.sum_square, expected.sum_square, 1e-10 * expected.pixels);
}

TEST(CudaBodies, DoNotLetMaskedCountsThrough) {
  FusedInputs inputs = fused_inputs({.group_sizes = {4}});
  const FusedAnswers expected = reference_answers(inputs);
  inputs.setting.counts.masked_fill_(inputs.setting.mask.logical_not(), NAN);
  EXPECT_LT(largest_mismatch(by_bodies<double>(inputs, cuda::kChunkBytes), expected), 1e-10);
}

/// Where the device is there the kernels themselves are tested (cuda/kernels_test.cpp).
TEST(DeviceCuda, SaysWhatIsMissing) {
  const FusedInputs inputs = fused_inputs({.group_sizes = {2}});
  const auto loss = [&](Engine engine) {
    return group_loss(inputs.picture, inputs.setting.merged, inputs.probe, inputs.setting.layout,
                      {inputs.setting.counts, inputs.setting.mask, {}},
                      {.engine = engine, .device = ComputeDevice::cuda});
  };
  const auto refusal = [&](Engine engine) -> std::string {
    try {
      loss(engine);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal(Engine::reference).find("--engine fused"), std::string::npos);
  const std::string missing = refusal(Engine::fused);
  if (missing.empty()) GTEST_SKIP() << "nothing is missing: " << cuda::describe_device();
  EXPECT_EQ(missing, "--device cuda: " + cuda::describe_device());
  EXPECT_TRUE(missing.find("libptyche_cuda.so") != std::string::npos ||
              missing.find("CUDA: ") != std::string::npos)
      << missing;
}

TEST(DeviceCuda, IsChosenByNameOnly) {
  EXPECT_EQ(compute_device_from("cuda"), ComputeDevice::cuda);
  EXPECT_EQ(compute_device_from("auto"), ComputeDevice::cpu);
  EXPECT_EQ(compute_device_from("cpu"), ComputeDevice::cpu);
  EXPECT_THROW(compute_device_from("tpu"), InvalidInput);
}

}  // namespace
}  // namespace ptyche
