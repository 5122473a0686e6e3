#include "ptyche/simulate/zernike.h"

#include <cmath>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

/// Radial degree and azimuthal order of a Noll index.
struct Orders {
  std::int64_t degree, order;
};

Orders orders_of(std::int64_t noll) {
  std::int64_t degree = 0, before = 0;  // indices of smaller degree
  while (before + degree + 1 < noll) before += ++degree;
  const std::int64_t place = noll - before - 1;  // 0..degree
  const std::int64_t order = degree % 2 == 0 ? 2 * ((place + 1) / 2) : 2 * (place / 2) + 1;
  return {degree, order};
}

double factorial(std::int64_t n) { return std::tgamma(static_cast<double>(n) + 1); }

at::Tensor radial(const Orders& orders, const at::Tensor& radius) {
  const auto [n, m] = orders;
  at::Tensor sum = at::zeros_like(radius);
  for (std::int64_t k = 0; k <= (n - m) / 2; ++k) {
    const double factor = (k % 2 == 0 ? 1 : -1) * factorial(n - k) /
                          (factorial(k) * factorial((n + m) / 2 - k) * factorial((n - m) / 2 - k));
    sum = sum + factor * radius.pow(static_cast<double>(n - 2 * k));
  }
  return sum;
}

}  // namespace

at::Tensor zernike(std::int64_t noll, const at::Tensor& radius, const at::Tensor& angle) {
  require(noll >= 1 && noll <= 66, "zernike: expected a Noll index of 1 to 66, found {}", noll);
  const Orders orders = orders_of(noll);
  const auto n = static_cast<double>(orders.degree), m = static_cast<double>(orders.order);
  const at::Tensor shape = std::sqrt(n + 1) * radial(orders, radius);
  if (orders.order == 0) return shape;
  return std::sqrt(2.0) * shape * (noll % 2 == 0 ? at::cos(m * angle) : at::sin(m * angle));
}

}  // namespace ptyche
