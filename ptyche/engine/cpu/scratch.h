// Memory for kernels, aligned to cache lines.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

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

}  // namespace ptyche::cpu
