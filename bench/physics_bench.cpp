// Speed of the fused engine beside its own FFTs, the reference engine and the machine's limits, all
// timed in one process. Exit code 1 if a line misses its bar.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/machine_speed.h"
#include "ptyche/core/error.h"
#include "ptyche/engine/cpu/buffers.h"
#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/loss.h"

namespace ptyche {
namespace {

constexpr std::int64_t kGroups = 16;

/// Microseconds that one core needs for the two FFTs of a pattern, as the kernels do them.
double fft_pair_us(std::int64_t size) {
  const auto& kernel = cpu::kernels<float>();
  const std::int64_t stride = (size + kernel.strip - 1) / kernel.strip * kernel.strip;
  cpu::Scratch<float> memory(4 * size * stride);
  const cpu::Planes<float> a{memory.take(size * stride), memory.take(size * stride)};
  const cpu::Planes<float> b{memory.take(size * stride), memory.take(size * stride)};
  const auto tables = cpu::fft_tables<float>(size);
  const float scale = 1 / static_cast<float>(size);
  return 1e6 * fastest_seconds([&] {
           kernel.fft2_transposed(tables, stride, a, b, scale);
           kernel.ifft2_transposed(tables, stride, b, a, scale);
         });
}

/// The same by LibTorch's FFT library, on one thread.
double library_fft_pair_us(std::int64_t size) {
  const at::Tensor wave = at::randn({64, size, size}, at::kComplexFloat);
  return 1e6 / 64 * fastest_seconds([&] {
           at::fft_ifft2(at::fft_fft2(wave, c10::nullopt, {-2, -1}, "ortho"), c10::nullopt,
                         {-2, -1}, "ortho");
         });
}

struct Batch {
  at::Tensor patches, merged, probe;
  CanvasLayout layout;
  Measured measured;
};

Batch make_batch(std::int64_t size, std::int64_t per_group, Interpolation interpolation) {
  const std::int64_t patterns = kGroups * per_group;
  at::manual_seed(1);
  const at::Tensor group = at::arange(kGroups, at::kLong).repeat_interleave(per_group);
  return {
      .patches = at::randn({patterns, size, size}, at::kComplexFloat).requires_grad_(true),
      .merged = at::arange(patterns, at::kLong),
      .probe = at::randn({1, size, size}, at::kComplexFloat).requires_grad_(true),
      .layout =
          lay_out(at::randn({patterns, 2}, at::kDouble) * 3, group, kGroups, size, interpolation),
      .measured = {at::rand({patterns, size, size}) * 10, at::ones({size, size}, at::kBool), {}}};
}

/// Microseconds per pattern of loss and all gradients.
double gradient_us(const Batch& batch, Engine engine, double budget = 1) {
  const auto patterns = static_cast<double>(batch.patches.size(0));
  return 1e6 / patterns *
         fastest_seconds(
             [&] {
               const GroupLoss result = group_loss(batch.patches, batch.merged, batch.probe,
                                                   batch.layout, batch.measured, {engine});
               batch.patches.mutable_grad() = at::Tensor();
               batch.probe.mutable_grad() = at::Tensor();
               result.loss.backward();
             },
             budget);
}

/// Floating-point operations of the two FFTs of a pattern (5 n log2 n, the customary count).
double fft_flops(std::int64_t size) {
  const auto pixels = static_cast<double>(size * size);
  return 2 * 5 * pixels * std::log2(pixels);
}

/// Bytes that a pattern cannot avoid: counts and patch in, gradient out.
double bytes(std::int64_t size) { return static_cast<double>(size * size) * (4 + 8 + 8); }

struct Bench {
  double gflops = measure_gflops(), gigabytes = measure_gigabytes();
  int missed = 0;

  void require(bool good) { missed += good ? 0 : 1; }
  void row(std::int64_t size, std::int64_t per_group, Interpolation interpolation, double pair_us);
};

void Bench::row(std::int64_t size, std::int64_t per_group, Interpolation interpolation,
                double pair_us) {
  const Batch batch = make_batch(size, per_group, interpolation);
  const int threads = std::min(2, omp_get_num_procs());
  at::set_num_threads(1);
  const double one = gradient_us(batch, Engine::fused);
  at::set_num_threads(threads);
  const double two = gradient_us(batch, Engine::fused);
  const double reference = gradient_us(batch, Engine::reference, 0.2);
  const bool bilinear = interpolation == Interpolation::bilinear;
  // The moved probe takes two FFTs more: they count on both sides.
  const double ratio = two * threads / (bilinear ? pair_us : 2 * pair_us), gain = one / two;
  const double reached = fft_flops(size) / two * 1e-3 * (bilinear ? 1 : 2);
  require(ratio <= 2);
  require(threads < 2 || gain >= 1.8);
  std::printf("%4ld %3ld %-14s %8.1f %6.2f %-7s %5.2f %-7s %6.1f %6.1f %3.0f%% %6.1f %3.0f%%\n",
              size, per_group, to_string(interpolation).c_str(), two * threads, ratio,
              ratio <= 2 ? "ok" : "MISSED", gain, gain >= 1.8 ? "ok" : "MISSED", reference / two,
              reached, 100 * reached / gflops, bytes(size) / two * 1e-3,
              100 * bytes(size) / two * 1e-3 / gigabytes);
}

int run() {
  Bench bench;
  std::printf("limits measured here: %.0f GFLOP/s, %.1f GB/s; kernels %s\n", bench.gflops,
              bench.gigabytes, cpu::kernels<float>().name);
  std::printf(
      "us: microseconds per pattern and core; FFTs: times its two FFTs (bar 2; four with a "
      "moved\nprobe); gain: 2 threads over 1 (bar 1.8); ref: times faster than reference\n");
  std::printf("%4s %3s %-14s %8s %14s %13s %6s %12s %11s\n", "N", "C", "interpolation", "us",
              "FFTs", "gain", "ref", "GFLOP/s", "GB/s");
  for (const std::int64_t size : {64, 128}) {
    at::set_num_threads(1);
    const double pair_us = fft_pair_us(size);
    std::printf("%4ld its two FFTs: %.1f us (LibTorch's: %.1f us)\n", size, pair_us,
                library_fft_pair_us(size));
    for (const std::int64_t per_group : {1, 4, 16})
      for (const Interpolation way : {Interpolation::bilinear, Interpolation::probe_fourier})
        bench.row(size, per_group, way, pair_us);
  }
  std::printf("%d bars missed\n", bench.missed);
  return bench.missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ptyche

int main() {
  // As the program does: freed memory stays with the process.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2000000000);
  mallopt(M_TOP_PAD, 256 << 20);
  return ptyche::run();
}
