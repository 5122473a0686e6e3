// Memory of the kernels: scratch, tables shared by all threads, what one thread owns; threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "ptyche/engine/cpu/fft_plan.h"
#include "ptyche/engine/cpu/kernels.h"

namespace ptyche::cpu {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// One allocation, handed out piece by piece: zeroed, or left as it is for what is written first.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count, bool zeroed = true)
      : bytes_((static_cast<std::size_t>(count) * sizeof(T) + kLine * 64 - 1) / kLine * kLine),
        memory_(static_cast<T*>(std::aligned_alloc(kLine, bytes_))) {
    if (!memory_) throw std::bad_alloc();
    if (zeroed) std::memset(memory_.get(), 0, bytes_);
  }

  /// The next `count` numbers, from a new cache line on.
  T* take(std::int64_t count) {
    T* piece = memory_.get() + used_;
    constexpr std::int64_t line = kLine / sizeof(T);
    used_ += (count + line - 1) / line * line;
    return piece;
  }

 private:
  static constexpr std::size_t kLine = 64;
  std::size_t bytes_;
  std::unique_ptr<T, Free> memory_;
  std::int64_t used_ = 0;
};

/// Threads that work on one canvas together: members first..first + size - 1.
struct ThreadGroup {
  int first = 0, size = 1;
};

/// work(i, thread) for i in 0..count-1, in blocks of consecutive i per thread.
template <class Work>
void parallel_for(const ThreadGroup& group, std::int64_t count, const Work& work) {
  if (group.size == 1) {
    for (std::int64_t i = 0; i < count; ++i) work(i, group.first);
    return;
  }
#pragma omp parallel for num_threads(group.size) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) work(i, group.first + omp_get_thread_num());
}

/// The rows of a canvas that one member of a group of threads owns.
struct RowRange {
  std::int64_t first, last;
};

inline RowRange rows_of(std::int64_t member, int members, std::int64_t rows) {
  return {rows * member / members, rows * (member + 1) / members};
}

/// A context with the memory that it points into, shared by all threads.
template <class T>
struct OwnedContext : KernelContext<T> {
  OwnedContext(const Geometry<T>& geometry, const Kernels<T>& kernels);
  OwnedContext(const OwnedContext&) = delete;
  OwnedContext& operator=(const OwnedContext&) = delete;

  std::vector<Planes<T>> probe_planes;

 private:
  Scratch<T> memory_;
};

/// A thread's scratch with its memory, and canvases of rows x cols pixels, which are not cleared.
template <class T>
struct ThreadBuffers : ThreadScratch<T> {
  ThreadBuffers(const KernelContext<T>& context, std::int64_t rows, std::int64_t cols, int strip);

  Canvas<T> canvas;    ///< merged object; the threads of a group use the first one's
  Canvas<T> gradient;  ///< each thread's own

 private:
  Scratch<T> memory_, canvas_memory_;
};

/// Index of (row, col) in a striped plane.
inline std::int64_t striped_index(std::int64_t size, int strip, std::int64_t row,
                                  std::int64_t col) {
  return col / strip * strip * size + row * strip + col % strip;
}

/// visit(index in the plane, row, col) for the (size, size) pixels of a striped plane.
template <class Visit>
void for_striped(std::int64_t size, int strip, const Visit& visit) {
  for (std::int64_t first = 0; first < size; first += strip) {
    const std::int64_t columns = std::min<std::int64_t>(strip, size - first);
    for (std::int64_t row = 0; row < size; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        visit(first * size + row * strip + column, row, first + column);
  }
}

/// visit(index in a plane at the detector, number of its pixel in FFT order).
template <class T, class Visit>
void for_detector(const KernelContext<T>& context, int strip, const Visit& visit) {
  for_striped(context.size, strip, [&](std::int64_t at, std::int64_t p, std::int64_t q) {
    visit(at, context.transfer.re ? p * context.size + q : q * context.size + context.fft.order[p]);
  });
}

/// (N, N) interleaved -> row-major planes, and back.
template <class T>
void deinterleave(const T* image, std::int64_t size, int strip, Planes<T> to) {
  for_striped(size, strip, [&](std::int64_t at, std::int64_t row, std::int64_t col) {
    to.re[at] = image[2 * (row * size + col)];
    to.im[at] = image[2 * (row * size + col) + 1];
  });
}

template <class T>
void interleave(Planes<T> planes, std::int64_t size, int strip, T* to) {
  for_striped(size, strip, [&](std::int64_t at, std::int64_t row, std::int64_t col) {
    to[2 * (row * size + col)] = planes.re[at];
    to[2 * (row * size + col) + 1] = planes.im[at];
  });
}

extern template struct OwnedContext<float>;
extern template struct OwnedContext<double>;
extern template struct ThreadBuffers<float>;
extern template struct ThreadBuffers<double>;

}  // namespace ptyche::cpu
