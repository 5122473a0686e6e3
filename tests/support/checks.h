// Properties that many operators share, tested in one way.
#pragma once

#include <ATen/ATen.h>

#include <functional>

namespace ptyche {

/// Relative difference of <A x, y> and <x, A^H y> for random complex x and y of the given shapes;
/// the inner products are taken in complex128.
double adjoint_mismatch(const std::function<at::Tensor(const at::Tensor&)>& forward,
                        const std::function<at::Tensor(const at::Tensor&)>& adjoint,
                        at::IntArrayRef input_shape, at::IntArrayRef output_shape,
                        at::ScalarType type = at::kComplexDouble);

/// Largest relative difference between the gradient that autograd gives for the real scalar
/// `loss(x)` and central differences along random directions, for a float64 or complex128 x.
double gradient_mismatch(const std::function<at::Tensor(const at::Tensor&)>& loss,
                         const at::Tensor& x);

/// Random numbers that are the same in every run: normal, real or complex.
at::Tensor random_tensor(at::IntArrayRef shape, at::ScalarType type, std::uint64_t seed);

/// |a - b| / |b|.
double relative_difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace ptyche
