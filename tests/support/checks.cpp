#include "tests/support/checks.h"

#include <algorithm>

#include "ptyche/core/random.h"

namespace ptyche {
namespace {

at::Tensor inner_product(const at::Tensor& a, const at::Tensor& b) {
  const auto wide = a.is_complex() ? at::kComplexDouble : at::kDouble;
  return (a.to(wide).conj() * b.to(wide)).sum();
}

}  // namespace

at::Tensor random_tensor(at::IntArrayRef shape, at::ScalarType type, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::noise);
  const bool complex = at::isComplexType(type);
  at::Tensor values = at::empty(shape, complex ? at::kComplexDouble : at::kDouble);
  at::Tensor parts = complex ? at::view_as_real(values) : values;
  auto* out = parts.data_ptr<double>();
  for (std::int64_t i = 0; i < parts.numel(); ++i) out[i] = stream.normal();
  return values.to(type);
}

double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item().toDouble();
}

double adjoint_mismatch(const std::function<at::Tensor(const at::Tensor&)>& forward,
                        const std::function<at::Tensor(const at::Tensor&)>& adjoint,
                        at::IntArrayRef input_shape, at::IntArrayRef output_shape,
                        at::ScalarType type) {
  const at::Tensor x = random_tensor(input_shape, type, 1);
  const at::Tensor y = random_tensor(output_shape, type, 2);
  const at::Tensor left = inner_product(forward(x), y), right = inner_product(x, adjoint(y));
  return ((left - right).abs() / left.abs()).item<double>();
}

double gradient_mismatch(const std::function<at::Tensor(const at::Tensor&)>& loss,
                         const at::Tensor& x) {
  const at::Tensor leaf = x.detach().clone().requires_grad_();
  loss(leaf).backward();
  const at::Tensor gradient = leaf.grad();
  double worst = 0;
  for (std::uint64_t direction = 0; direction < 4; ++direction) {
    const at::Tensor step = random_tensor(x.sizes(), x.scalar_type(), 10 + direction);
    const at::Tensor slope = at::real(inner_product(gradient, step));
    double best = 1e300;
    for (const double size : {1e-3, 1e-4, 1e-5}) {
      const at::Tensor central = (loss(x + size * step) - loss(x - size * step)) / (2 * size);
      best = std::min(best, ((central - slope).abs() / slope.abs()).item<double>());
    }
    worst = std::max(worst, best);
  }
  return worst;
}

}  // namespace ptyche
