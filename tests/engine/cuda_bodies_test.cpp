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
#include "ptyche/engine/fused_call.h"
#include "tests/support/loss_cases.h"
#include "tests/support/refusal.h"

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

/// The answers of the bodies; `together` is how many patterns were done together.
template <class T>
LossAnswers by_bodies(const LossCase& of, const LossBatch& batch, std::int64_t chunk_bytes,
                      std::int64_t* together = nullptr) {
  LossOptions options = options_of(of);
  options.device = ComputeDevice::cuda;
  std::vector<at::Tensor> kept;
  cpu::LossInputs<T> inputs =
      fused_inputs<T>(batch.transmission, batch.merged, batch.probe, layout_of(of, batch),
                      measured_of(of, batch), options, kept);
  const auto [transmission, probe, background, position, intensity] = take_gradients(inputs);
  HostMachine machine;
  const cpu::LossResult result = cuda::fused_loss_from_host(inputs, machine, chunk_bytes);
  if (together) *together = machine.largest_batch / inputs.modes;
  return {at::scalar_tensor(result.loss, at::kDouble),
          transmission,
          probe,
          background,
          position.slice(1, 0, 2),
          position.slice(1, 2, 4)};
}

TEST(CudaBodies, AgreeWithTheReferenceInFloat64) {
  double worst = 0;
  for (const LossCase& of : scattered_cases()) {
    const LossBatch batch = make_batch(of);
    const double mismatch = largest_mismatch(by_bodies<double>(of, batch, cuda::kChunkBytes),
                                             reference_answers(of, batch));
    EXPECT_LT(mismatch, 1e-10) << to_string(of);
    worst = std::max(worst, mismatch);
  }
  RecordProperty("largest_mismatch", fmt::format("{:.2e}", worst));
}

TEST(CudaBodies, AgreeWithTheReferenceInFloat32) {
  for (LossCase of : scattered_cases()) {
    of.real = at::kFloat;
    const LossBatch batch = make_batch(of);
    EXPECT_LT(largest_mismatch(by_bodies<float>(of, batch, cuda::kChunkBytes),
                               reference_answers(of, batch)),
              1e-5)
        << to_string(of);
  }
}

TEST(CudaBodies, MeanTheSameInChunksOfAnySize) {
  for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier}) {
    const LossCase of{.size = 16,
                      .modes = 2,
                      .group_sizes = {5, 1, 4, 3},
                      .interpolation = way,
                      .scattered = true};
    const LossBatch batch = make_batch(of);
    const LossAnswers expected = reference_answers(of, batch);
    std::vector<std::int64_t> batches;
    for (const std::int64_t bytes : {1, 60'000, 100'000, 1'000'000}) {
      batches.push_back(0);
      EXPECT_LT(largest_mismatch(by_bodies<double>(of, batch, bytes, &batches.back()), expected),
                1e-10)
          << "chunks of " << batches.back();
    }
    EXPECT_EQ(batches.front(), 1);
    EXPECT_TRUE(batches[1] > 1 && batches[1] < batches[2] && batches[2] < 13);
    EXPECT_EQ(batches.back(), 13);
  }
}

TEST(CudaBodies, GiveTheLossAndTheContrastWithoutGradients) {
  const LossCase of{.size = 16, .modes = 2, .group_sizes = {4, 3}, .scattered = true};
  const LossBatch batch = make_batch(of);
  LossOptions options = options_of(of);
  options.device = ComputeDevice::cuda;
  std::vector<at::Tensor> kept;
  const cpu::LossInputs<double> inputs =
      fused_inputs<double>(batch.transmission, batch.merged, batch.probe, layout_of(of, batch),
                           measured_of(of, batch), options, kept);
  HostMachine machine;
  const cpu::LossResult found = cuda::fused_loss_from_host(inputs, machine);
  const cpu::LossResult expected = cpu::fused_loss(inputs, 1);
  EXPECT_NEAR(found.loss, expected.loss, 1e-10 * expected.loss);
  EXPECT_EQ(found.pixels, expected.pixels);
  EXPECT_NEAR(found.sum_re, expected.sum_re, 1e-10 * expected.pixels);
  EXPECT_NEAR(found.sum_im, expected.sum_im, 1e-10 * expected.pixels);
  EXPECT_NEAR(found.sum_square, expected.sum_square, 1e-10 * expected.pixels);
}

TEST(CudaBodies, DoNotLetMaskedCountsThrough) {
  const LossCase of{.size = 16, .group_sizes = {4}, .scattered = true};
  LossBatch batch = make_batch(of);
  const LossAnswers expected = reference_answers(of, batch);
  batch.counts.masked_fill_(batch.mask.logical_not(), NAN);
  EXPECT_LT(largest_mismatch(by_bodies<double>(of, batch, cuda::kChunkBytes), expected), 1e-10);
}

/// Where the device is there the kernels themselves are tested (cuda/kernels_test.cpp).
TEST(DeviceCuda, SaysWhatIsMissing) {
  const LossCase of{.size = 16, .group_sizes = {2}};
  const LossBatch batch = make_batch(of);
  const auto loss = [&](Engine engine) {
    return group_loss(batch.transmission, batch.merged, batch.probe, layout_of(of, batch),
                      measured_of(of, batch), {.engine = engine, .device = ComputeDevice::cuda});
  };
  const auto refusal = [&](Engine engine) { return message_of([&] { loss(engine); }); };
  EXPECT_NE(refusal(Engine::reference).find("--engine fused"), std::string::npos);
  const std::string missing = refusal(Engine::fused);
  if (missing.empty()) GTEST_SKIP() << "nothing is missing: " << cuda::describe_device();
  EXPECT_EQ(missing, "--device cuda: " + cuda::describe_device());
  EXPECT_TRUE(missing.find("libptyche_cuda.so") != std::string::npos ||
              missing.find("CUDA: ") != std::string::npos)
      << missing;
}

TEST(DeviceCuda, IsChosenByNameOnly) {
  ComputeDevice device = ComputeDevice::cpu;
  const auto chosen = [&](const std::string& name) {
    assign(device_field(device), name);
    return device;
  };
  EXPECT_EQ(chosen("cuda"), ComputeDevice::cuda);
  EXPECT_EQ(chosen("auto"), ComputeDevice::cpu);
  EXPECT_EQ(chosen("cpu"), ComputeDevice::cpu);
  EXPECT_THROW(chosen("tpu"), InvalidInput);
}

}  // namespace
}  // namespace ptyche
