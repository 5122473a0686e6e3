// Blocks of CUDA's threads as threads of the CPU, so that the text of a kernel runs where there is
// no GPU: include this, then the .cu file, then call run_blocks. One block at a time; memory that a
// block shares is static.
#pragma once

#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <numbers>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)

namespace ptyche::cuda_on_cpu {

struct float2 {
  float x, y;
};
struct double2 {
  double x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = std::sin(std::numbers::pi_v<float> * x);
  *cosine = std::cos(std::numbers::pi_v<float> * x);
}
using std::abs, std::max;

struct Index {
  unsigned x = 0;
};
inline thread_local Index threadIdx;
inline Index blockIdx;

/// What the threads of a block, and of each warp in it, wait for.
struct Team {
  explicit Team(unsigned threads) : all(threads), exchanged(threads) {
    for (unsigned first = 0; first < threads; first += 32)
      warps.emplace_back(std::min(32U, threads - first));
  }
  std::barrier<> all;
  std::deque<std::barrier<>> warps;
  std::vector<float> exchanged;
};
inline Team* team = nullptr;

inline void __syncthreads() { team->all.arrive_and_wait(); }
inline void __syncwarp() { team->warps[threadIdx.x / 32].arrive_and_wait(); }
inline float __shfl_xor_sync(unsigned, float value, int apart) {
  team->exchanged[threadIdx.x] = value;
  __syncwarp();
  const float other = team->exchanged[threadIdx.x ^ static_cast<unsigned>(apart)];
  __syncwarp();
  return other;
}

/// The kernel's call for every thread of every block.
inline void run_blocks(std::int64_t blocks, unsigned threads, const std::function<void()>& kernel) {
  Team own(threads);
  team = &own;
  std::vector<std::thread> running;
  for (unsigned number = 0; number < threads; ++number)
    running.emplace_back([&, number] {
      threadIdx.x = number;
      for (std::int64_t block = 0; block < blocks; ++block) {
        __syncthreads();
        if (number == 0) blockIdx.x = static_cast<unsigned>(block);
        __syncthreads();
        kernel();
      }
    });
  for (std::thread& each : running) each.join();
  team = nullptr;
}

}  // namespace ptyche::cuda_on_cpu
