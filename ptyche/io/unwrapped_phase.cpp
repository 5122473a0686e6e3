#include "ptyche/io/unwrapped_phase.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace ptyche {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

at::Tensor wrapped(const at::Tensor& phase) { return phase - kTurn * (phase / kTurn).round(); }

/// Of each pixel with eight neighbours, 1 over the root of the summed squares of the phase's second
/// differences along rows, columns and both diagonals; 0 at the borders.
at::Tensor evenness(const at::Tensor& phase) {
  const std::int64_t rows = phase.size(0), cols = phase.size(1);
  at::Tensor even = at::zeros_like(phase);
  if (rows < 3 || cols < 3) return even;
  const auto moved = [&](std::int64_t down, std::int64_t right) {
    return phase.narrow(0, 1 + down, rows - 2).narrow(1, 1 + right, cols - 2);
  };
  const at::Tensor here = moved(0, 0);
  at::Tensor sum = at::zeros_like(here);
  for (const auto& [down, right] : {std::pair{1, 0}, {0, 1}, {1, 1}, {1, -1}})
    sum += (wrapped(moved(-down, -right) - here) - wrapped(here - moved(down, right))).square();
  even.narrow(0, 1, rows - 2).narrow(1, 1, cols - 2).copy_((sum + 1e-12).rsqrt());
  return even;
}

/// Two neighbours by their numbers in the image.
struct Edge {
  std::int64_t a, b;
  double even;
};

std::vector<Edge> edges_in_order(const at::Tensor& even) {
  const std::int64_t rows = even.size(0), cols = even.size(1);
  const auto* value = even.const_data_ptr<double>();
  std::vector<Edge> edges;
  edges.reserve(static_cast<std::size_t>(2 * rows * cols));
  const auto add = [&](std::int64_t a, std::int64_t b) {
    edges.push_back({a, b, value[a] + value[b]});
  };
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) {
      const std::int64_t here = row * cols + col;
      if (col + 1 < cols) add(here, here + 1);
      if (row + 1 < rows) add(here, here + cols);
    }
  std::ranges::stable_sort(edges, std::greater<>{}, &Edge::even);
  return edges;
}

/// Parts of the image that are joined, and the turns of each pixel beside the one above it.
class Parts {
 public:
  explicit Parts(std::int64_t pixels) : above_(pixels), turns_(pixels, 0), size_(pixels, 1) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  /// The first pixel of a pixel's part, and its turns beside that.
  std::pair<std::int64_t, std::int64_t> first_of(std::int64_t pixel) {
    std::int64_t first = pixel, turns = 0;
    while (at(above_, first) != first) turns += at(turns_, first), first = at(above_, first);
    for (std::int64_t left = turns; at(above_, pixel) != first && pixel != first;) {
      const std::int64_t next = at(above_, pixel), own = at(turns_, pixel);
      at(above_, pixel) = first;
      at(turns_, pixel) = left;
      left -= own;
      pixel = next;
    }
    return {first, turns};
  }

  /// So that b has `more` turns than a.
  void join(std::int64_t a, std::int64_t b, std::int64_t more) {
    auto [first_a, turns_a] = first_of(a);
    auto [first_b, turns_b] = first_of(b);
    if (first_a == first_b) return;
    std::int64_t of_b = turns_a + more - turns_b;
    if (at(size_, first_a) < at(size_, first_b)) std::swap(first_a, first_b), of_b = -of_b;
    at(above_, first_b) = first_a;
    at(turns_, first_b) = of_b;
    at(size_, first_a) += at(size_, first_b);
  }

 private:
  static std::int64_t& at(std::vector<std::int64_t>& list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  }
  std::vector<std::int64_t> above_, turns_, size_;
};

}  // namespace

at::Tensor unwrapped_phase(const at::Tensor& object, const at::Tensor& lit) {
  at::Tensor phase = at::angle(object).to(at::kDouble).contiguous().clone();
  at::Tensor even = evenness(phase);
  if (lit.defined()) even = even * lit;
  auto* value = phase.mutable_data_ptr<double>();
  Parts parts(phase.numel());
  for (const Edge& edge : edges_in_order(even.contiguous()))
    parts.join(edge.a, edge.b, std::llround((value[edge.a] - value[edge.b]) / kTurn));
  for (std::int64_t i = 0; i < phase.numel(); ++i)
    value[i] += kTurn * static_cast<double>(parts.first_of(i).second);
  const at::Tensor judged =
      lit.defined() && lit.any().item<bool>() ? phase.masked_select(lit) : phase.flatten();
  return phase - kTurn * std::round(judged.median().item<double>() / kTurn);
}

}  // namespace ptyche
