#include "ptyche/solve/secants.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

constexpr double kLeastCurvature = 1e-10;                   // of a change's square
constexpr std::int64_t kKeptWhole = std::int64_t{1} << 19;  // numbers of a line in 32 bits
// Numbers of which one sum is made: fixed, so that the result does not depend on the threads.
constexpr std::int64_t kBlock = std::int64_t{1} << 16;

float whole(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}
float whole(float number) { return number; }

/// visit(pointer) to the numbers of a line, float32 or the bits of bfloat16.
template <class Visit>
auto with_numbers(const at::Tensor& line, const Visit& visit) {
  if (line.scalar_type() == at::kFloat) return visit(line.const_data_ptr<float>());
  return visit(static_cast<const std::uint16_t*>(line.const_data_ptr()));
}

/// sum a b of `count` numbers. Eight sums, so that a compiler can see the vectors.
template <class A, class B>
double block_product(const A* a, const B* b, std::int64_t count) {
  constexpr std::int64_t kSums = 8, kRun = 512;
  double all = 0;
  for (std::int64_t run = 0; run < count; run += kRun) {
    const std::int64_t end = std::min(count, run + kRun), even = run + (end - run) / kSums * kSums;
    float sums[kSums] = {};
    for (std::int64_t i = run; i < even; i += kSums)
      for (std::int64_t k = 0; k < kSums; ++k) sums[k] += whole(a[i + k]) * whole(b[i + k]);
    for (std::int64_t i = even; i < end; ++i) sums[0] += whole(a[i]) * whole(b[i]);
    all += std::accumulate(sums, sums + kSums, 0.0);
  }
  return all;
}

template <class A, class B>
double product(const A* a, const B* b, std::int64_t count) {
  std::vector<double> sums(static_cast<std::size_t>((count + kBlock - 1) / kBlock));
  at::parallel_for(0, std::ssize(sums), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block)
      sums[static_cast<std::size_t>(block)] = block_product(
          a + block * kBlock, b + block * kBlock, std::min(kBlock, count - block * kBlock));
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// Of lines (v), each float32 or bfloat16.
double product(const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_cpu()) return a.to(at::kFloat).dot(b.to(at::kFloat)).item<double>();
  return with_numbers(a, [&](const auto* of_a) {
    return with_numbers(b, [&](const auto* of_b) { return product(of_a, of_b, a.numel()); });
  });
}

/// line += factor more, (v) float32 and float32 or bfloat16.
void add_times(at::Tensor& line, const at::Tensor& more, double factor) {
  if (!line.is_cpu()) {
    line.add_(more.to(at::kFloat), factor);
    return;
  }
  float* to = line.mutable_data_ptr<float>();
  const auto times = static_cast<float>(factor);
  with_numbers(more, [&](const auto* from) {
    at::parallel_for(0, line.numel(), kBlock, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) to[i] += times * whole(from[i]);
    });
  });
}

at::Tensor as_kept(const at::Tensor& line) {
  const bool few = line.numel() <= kKeptWhole;
  return line.contiguous().to(few ? at::kFloat : at::kBFloat16);
}

}  // namespace

Secant::Secant(const at::Tensor& whole_step, const at::Tensor& whole_change)
    : step(as_kept(whole_step)), change(as_kept(whole_change)), curvature(product(step, change)) {}

void Secants::add(const at::Tensor& step, const at::Tensor& change) {
  Secant secant(step, change);
  if (!(secant.curvature > kLeastCurvature * change.dot(change).item<double>())) return;
  if (secants_.size() == kMost) secants_.pop_front();
  secants_.push_back(std::move(secant));
}

void Secants::restore(const at::Tensor& step, const at::Tensor& change) {
  secants_.emplace_back(step, change);
}

at::Tensor Secants::direction(const at::Tensor& slope,
                              const std::function<void(at::Tensor&)>& precondition) const {
  require(slope.dim() == 1 && slope.scalar_type() == at::kFloat,
          "secants: expected a line of float32, found {} {}", at::toString(slope.scalar_type()),
          fmt::join(slope.sizes(), " x "));
  at::Tensor along = slope.contiguous().clone();
  if (secants_.empty()) {
    precondition(along);
    return along.mul_(0.5);
  }
  std::vector<double> weight(secants_.size());
  for (std::size_t i = secants_.size(); i-- > 0;) {
    weight[i] = product(secants_[i].step, along) / secants_[i].curvature;
    add_times(along, secants_[i].change, -weight[i]);
  }
  at::Tensor last = secants_.back().change.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  precondition(last);
  const double stiffness = product(secants_.back().change, last);
  last = at::Tensor();
  precondition(along);
  along.mul_(secants_.back().curvature / stiffness);
  for (std::size_t i = 0; i < secants_.size(); ++i) {
    const Secant& secant = secants_[i];
    add_times(along, secant.step, weight[i] - product(secant.change, along) / secant.curvature);
  }
  return along;
}

}  // namespace ptyche
