#include "ptyche/stitch/synchronise.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "ptyche/group/nearest_points.h"

namespace ptyche {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kNeighbours = 16;  // enough to tie a scan together in every direction
constexpr int kIterations = 1000;

/// How patch `other` agrees with the one that owns the link.
struct Link {
  std::size_t other;
  Complex agreement;
};

struct Corner {
  std::int64_t row, col;
};

std::vector<Corner> as_corners(const at::Tensor& corners) {
  std::vector<Corner> list;
  const at::Tensor whole = corners.to(at::kLong).contiguous();
  const auto* value = whole.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < whole.size(0); ++i) list.push_back({value[2 * i], value[2 * i + 1]});
  return list;
}

/// Whether patches overlap by more than half in each direction.
bool overlap_by_half(const Corner& a, const Corner& b, std::int64_t size) {
  return std::max(std::abs(a.row - b.row), std::abs(a.col - b.col)) < size / 2;
}

/// sum over the overlap of conj(a) b, for patches whose corners differ by (down, right).
Complex overlap_product(const std::complex<float>* a, const std::complex<float>* b,
                        std::int64_t size, std::int64_t down, std::int64_t right) {
  Complex sum = 0;
  for (std::int64_t row = std::max<std::int64_t>(down, 0);
       row < size + std::min<std::int64_t>(down, 0); ++row) {
    std::complex<float> line = 0;
    for (std::int64_t col = std::max<std::int64_t>(right, 0);
         col < size + std::min<std::int64_t>(right, 0); ++col)
      line += std::conj(a[row * size + col]) * b[(row - down) * size + col - right];
    sum += Complex(line);
  }
  return sum;
}

/// For every patch, how its neighbours' patches agree with it.
std::vector<std::vector<Link>> links_between(const at::Tensor& weighted, const at::Tensor& places) {
  const std::vector<Corner> corners = as_corners(places);
  const at::Tensor nearest = nearest_points(
      places.to(at::kDouble), std::min<std::int64_t>(kNeighbours + 1, places.size(0)));
  const auto near = nearest.accessor<std::int64_t, 2>();
  const std::int64_t size = weighted.size(1);
  const auto* data =
      reinterpret_cast<const std::complex<float>*>(weighted.data_ptr<c10::complex<float>>());
  std::vector<std::vector<Link>> links(corners.size());
  at::parallel_for(
      0, static_cast<std::int64_t>(corners.size()), 1, [&](std::int64_t first, std::int64_t last) {
        for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last); ++k)
          for (std::int64_t i = 1; i < near.size(1); ++i) {
            const auto other = static_cast<std::size_t>(near[static_cast<std::int64_t>(k)][i]);
            if (!overlap_by_half(corners[k], corners[other], size)) continue;
            const std::int64_t down = corners[other].row - corners[k].row;
            const std::int64_t right = corners[other].col - corners[k].col;
            const auto pixels = static_cast<std::size_t>(size * size);
            links[k].push_back({other, overlap_product(data + k * pixels, data + other * pixels,
                                                       size, down, right)});
          }
      });
  return links;
}

/// One round: every factor turns its patch to the weighted mean of its neighbours.
std::vector<Complex> turned(const std::vector<std::vector<Link>>& links,
                            const std::vector<Complex>& factors) {
  std::vector<Complex> next = factors;
  for (std::size_t k = 0; k < links.size(); ++k) {
    Complex pull = 0;
    for (const Link& link : links[k]) pull += link.agreement * factors[link.other];
    if (std::abs(pull) > 0) next[k] = pull / std::abs(pull);
  }
  return next;
}

}  // namespace

at::Tensor synchronise(const at::Tensor& patches, const at::Tensor& weights,
                       const at::Tensor& corners) {
  const at::NoGradGuard no_grad;
  const at::Tensor weighted = (patches * weights.sqrt()).to(at::kComplexFloat).contiguous();
  const auto links = links_between(weighted, corners);
  std::vector<Complex> factors(links.size(), 1);
  for (int iteration = 0; iteration < kIterations; ++iteration) factors = turned(links, factors);
  Complex mean = 0;
  for (const Complex& factor : factors) mean += factor;
  const Complex back = std::abs(mean) > 0 ? std::conj(mean) / std::abs(mean) : 1;
  at::Tensor unit = at::empty({static_cast<std::int64_t>(factors.size())}, at::kComplexFloat);
  auto* out = unit.data_ptr<c10::complex<float>>();
  for (const Complex& factor : factors)
    *out++ = c10::complex<float>(c10::complex<double>(factor * back));
  return unit;
}

}  // namespace ptyche
