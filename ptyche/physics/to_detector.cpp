#include "ptyche/physics/to_detector.h"

#include "ptyche/physics/fourier.h"
#include "ptyche/physics/fourier_shift.h"

namespace ptyche {

at::Tensor to_detector(const at::Tensor& exit_waves, const NearFieldOptions& near,
                       const at::Tensor& moved) {
  if (near.wavelength_m == 0) return propagate(exit_waves);
  const at::Tensor waves = propagate_near_field(exit_waves, near);
  return at::fft_ifftshift(moved.defined() ? fourier_shift(waves, -moved) : waves,
                           at::IntArrayRef{-2, -1});
}

at::Tensor detector_transfer(std::int64_t size, const NearFieldOptions& near) {
  const at::Tensor sign = 1 - 2 * at::arange(size, at::kDouble).remainder(2);
  return near_field_transfer(size, size, near) * sign * sign.unsqueeze(1);
}

}  // namespace ptyche
