// A smooth object that can be sampled anywhere, for tests that plant shifts.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <complex>
#include <cstdint>

namespace ptyche {

/// How a sampled object differs from the plain one: sample(x) = scale exp(2 pi i ramp.x) o(x +
/// shift).
struct Planted {
  double shift_row = 0, shift_col = 0, ramp_row = 0, ramp_col = 0;
  std::complex<double> scale{1, 0};
};

/// 1 plus 400 complex Gaussian spots of sigma 2 px, spread over the square [0, 128)^2 by a
/// Kronecker sequence: nothing of it lies above 0.4 cycles per pixel. (rows, cols) complex128.
inline at::Tensor blobs(std::int64_t rows, std::int64_t cols, const Planted& planted = {}) {
  const at::Tensor y = at::arange(rows, at::kDouble), x = at::arange(cols, at::kDouble);
  at::Tensor object = at::ones({rows, cols}, at::kComplexDouble);
  for (int k = 1; k <= 400; ++k) {
    const double row = 128 * std::fmod(0.7548776662466927 * k, 1.0);
    const double col = 128 * std::fmod(0.5698402909980532 * k, 1.0);
    const at::Tensor down = (-(y + planted.shift_row - row).square() / 8).exp();
    const at::Tensor right = (-(x + planted.shift_col - col).square() / 8).exp();
    object += at::outer(down, right) * c10::complex<double>(std::polar(0.4, 2.4 * k));
  }
  const at::Tensor angle =
      2 * M_PI * (planted.ramp_row * y.unsqueeze(1) + planted.ramp_col * x.unsqueeze(0));
  return object * at::polar(at::ones_like(angle), angle) * c10::complex<double>(planted.scale);
}

}  // namespace ptyche
