// A batch through a network a few patterns at a time, several such chunks side by side.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace ptyche {

/// Patterns that go through the network together in training: so few that there are more chunks
/// than threads, and that a thread which other work has driven off its core holds up one only.
inline constexpr std::int64_t kChunkPatterns = 4;

/// The rows [first, first + count) of what a function of a batch gives for patterns of it that do
/// not look at each other.
using ChunkFunction = std::function<at::Tensor(std::int64_t first, std::int64_t count)>;

/// The function of a batch by chunks, each forward and backward by one thread on which LibTorch
/// uses no others. The chunks follow from the batch and not from the number of threads, and their
/// gradients are added up in their order: the results are the same for any number of threads.
class Chunks {
 public:
  /// Runs the function on all of `patterns` >= 1, `together` >= 1 at a time (fewer in the last
  /// chunk). Throws what the function throws.
  Chunks(std::int64_t patterns, std::int64_t together, const ChunkFunction& function);

  /// The rows of all chunks; of a loss that is made of it, `backward` asks for the gradient here.
  const at::Tensor& whole() const { return whole_; }

  /// Adds the gradients of the weights, by that of `whole`, to what the weights hold; a weight that
  /// the function does not look at is left alone.
  void backward(const std::vector<at::Tensor>& weights);

 private:
  std::vector<at::Tensor> outputs_;
  at::Tensor whole_;
};

}  // namespace ptyche
