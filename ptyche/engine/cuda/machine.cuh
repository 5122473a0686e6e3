// The GPU as fused_loss.h sees it: memory, copies, kernels, cuFFT.
#pragma once

#include <cuda_runtime.h>
#include <cufft.h>

#include <list>
#include <stdexcept>
#include <string>
#include <vector>

#include "ptyche/engine/cuda/portable.h"

namespace ptyche::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

inline void check(cufftResult status, const char* what) {
  if (status != CUFFT_SUCCESS)
    throw std::runtime_error(std::string("cuFFT: ") + what + ": error " + std::to_string(status));
}

inline constexpr unsigned kWarp = 32, kWarpsOfBlock = 8;

/// One warp per row: lanes walk over the columns, then add up what they found.
template <class Body>
__global__ void sweep_rows(Body body, std::int64_t rows, std::int64_t columns, double* sums) {
  constexpr int count = Body::kSums;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  if (row >= rows) return;  // the whole warp
  double own[count > 0 ? count : 1] = {};
  for (std::int64_t column = lane; column < columns; column += kWarp) body(row, column, own);
  for (int i = 0; i < count; ++i) {
    for (unsigned step = kWarp / 2; step > 0; step /= 2)
      own[i] += __shfl_down_sync(0xffffffffU, own[i], step);
    if (lane == 0) sums[row * count + i] = own[i];
  }
}

/// Device memory that is kept from call to call: the n-th request of every call gets the n-th
/// block, made anew only where it has become too small.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    for (const Block& block : blocks_) cudaFree(block.start);
  }

  void begin() { next_ = 0; }

  void* take(std::size_t bytes) {
    if (next_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[next_++];
    if (block.bytes >= bytes && block.start) return block.start;
    check(cudaFree(block.start), "free memory");
    block = {};
    bytes = bytes > 0 ? bytes : 1;
    if (cudaMalloc(&block.start, bytes) != cudaSuccess) fail(bytes);
    block.bytes = bytes;
    return block.start;
  }

 private:
  struct Block {
    void* start = nullptr;
    std::size_t bytes = 0;
  };

  [[noreturn]] static void fail(std::size_t bytes) {
    cudaGetLastError();  // an allocation that fails leaves the device usable
    throw std::runtime_error("CUDA: no " + std::to_string(bytes >> 20) +
                             " MiB of device memory are free; fewer patterns or groups in a batch "
                             "need less");
  }

  std::vector<Block> blocks_;
  std::size_t next_ = 0;
};

/// cuFFT plans of the shapes used last.
class Plans {
 public:
  explicit Plans(cudaStream_t stream) : stream_(stream) {}
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;
  ~Plans() {
    for (const Entry& entry : entries_) cufftDestroy(entry.plan);
  }

  cufftHandle get(std::int64_t size, std::int64_t batch, cufftType type) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->size == size && entry->batch == batch && entry->type == type) {
        entries_.splice(entries_.begin(), entries_, entry);
        return entry->plan;
      }
    if (entries_.size() == kMost) {
      // Work that still uses the plan must end first.
      check(cudaStreamSynchronize(stream_), "wait");
      cufftDestroy(entries_.back().plan);
      entries_.pop_back();
    }
    entries_.push_front({size, batch, type, make(size, batch, type)});
    return entries_.front().plan;
  }

 private:
  static constexpr std::size_t kMost = 16;
  struct Entry {
    std::int64_t size, batch;
    cufftType type;
    cufftHandle plan;
  };

  cufftHandle make(std::int64_t size, std::int64_t batch, cufftType type) const {
    cufftHandle plan = 0;
    int sides[2] = {static_cast<int>(size), static_cast<int>(size)};
    const int image = static_cast<int>(size * size);
    check(cufftPlanMany(&plan, 2, sides, nullptr, 1, image, nullptr, 1, image, type,
                        static_cast<int>(batch)),
          "plan a transform");
    check(cufftSetStream(plan, stream_), "choose a stream");
    return plan;
  }

  cudaStream_t stream_;
  std::list<Entry> entries_;
};

/// One stream of one device.
class Machine {
 public:
  explicit Machine(cudaStream_t stream) : stream_(stream), plans_(stream) {}

  /// Before every call: what was taken is free again.
  void begin() { memory_.begin(); }

  template <class V>
  V* take(std::int64_t count) {
    return static_cast<V*>(memory_.take(static_cast<std::size_t>(count) * sizeof(V)));
  }
  template <class V>
  void clear(V* at, std::int64_t count) {
    check(cudaMemsetAsync(at, 0, static_cast<std::size_t>(count) * sizeof(V), stream_), "clear");
  }
  template <class V>
  void upload(V* to, const V* from, std::int64_t count) {
    copy(to, from, count, cudaMemcpyHostToDevice);
  }
  template <class V>
  void download(V* to, const V* from, std::int64_t count) {
    copy(to, from, count, cudaMemcpyDeviceToHost);
    check(cudaStreamSynchronize(stream_), "compute");
  }

  template <class Body>
  void sweep(std::int64_t rows, std::int64_t columns, const Body& body, double* sums = nullptr) {
    if (rows == 0) return;
    const auto blocks = static_cast<unsigned>((rows + kWarpsOfBlock - 1) / kWarpsOfBlock);
    sweep_rows<<<blocks, kWarp * kWarpsOfBlock, 0, stream_>>>(body, rows, columns, sums);
    check(cudaGetLastError(), "start a kernel");
  }

  void transform(Complex<float>* images, std::int64_t size, std::int64_t batch, bool forward) {
    auto* at = reinterpret_cast<cufftComplex*>(images);
    check(cufftExecC2C(plans_.get(size, batch, CUFFT_C2C), at, at, sign(forward)), "transform");
  }
  void transform(Complex<double>* images, std::int64_t size, std::int64_t batch, bool forward) {
    auto* at = reinterpret_cast<cufftDoubleComplex*>(images);
    check(cufftExecZ2Z(plans_.get(size, batch, CUFFT_Z2Z), at, at, sign(forward)), "transform");
  }

 private:
  static int sign(bool forward) { return forward ? CUFFT_FORWARD : CUFFT_INVERSE; }

  template <class V>
  void copy(V* to, const V* from, std::int64_t count, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(V), kind, stream_),
          "copy");
  }

  cudaStream_t stream_;
  DeviceMemory memory_;
  Plans plans_;
};

}  // namespace ptyche::cuda
