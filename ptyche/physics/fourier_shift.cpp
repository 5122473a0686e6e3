#include "ptyche/physics/fourier_shift.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {
namespace {

/// exp(-2 pi i f d) for every frequency f of a `size`-point transform: (k, size).
at::Tensor phase_factors(const at::Tensor& shift, std::int64_t size, const at::Tensor& like) {
  const auto real = like.options().dtype(c10::toRealValueType(like.scalar_type()));
  const at::Tensor frequency = at::fft_fftfreq(size, 1.0, real);
  const at::Tensor angle = -2 * M_PI * shift.to(real.dtype()).unsqueeze(1) * frequency;
  return at::polar(at::ones_like(angle), angle);
}

}  // namespace

at::Tensor fourier_shift(const at::Tensor& image, const at::Tensor& shifts) {
  require((image.dim() == 3 || image.dim() == 4) && image.is_complex(),
          "fourier_shift: expected a complex image (modes, N, N) or (k, modes, N, N), found {} "
          "dimensions",
          image.dim());
  require(shifts.dim() == 2 && shifts.size(1) == 2 &&
              (image.dim() == 3 || image.size(0) == shifts.size(0)),
          "fourier_shift: expected shifts (k, 2), found {}", describe(shifts));
  const at::Tensor rows = phase_factors(shifts.select(1, 0), image.size(-2), image);
  const at::Tensor cols = phase_factors(shifts.select(1, 1), image.size(-1), image);
  const at::Tensor factors = (rows.unsqueeze(2) * cols.unsqueeze(1)).unsqueeze(1);
  const at::Tensor each = image.dim() == 3 ? image.unsqueeze(0) : image;
  return at::fft_ifft2(at::fft_fft2(each) * factors);
}

}  // namespace ptyche
