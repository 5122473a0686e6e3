#include "ptyche/physics/near_field.h"

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {
namespace {

void check(const NearFieldOptions& options) {
  require(options.wavelength_m > 0 && std::isfinite(options.wavelength_m),
          "wavelength_m: expected a positive number, found {}", options.wavelength_m);
  require(options.pixel_m > 0 && std::isfinite(options.pixel_m),
          "pixel_m: expected a positive number, found {}", options.pixel_m);
  require(std::isfinite(options.distance_m), "distance_m: expected a finite number, found {}",
          options.distance_m);
}

}  // namespace

at::Tensor near_field_transfer(std::int64_t rows, std::int64_t cols,
                               const NearFieldOptions& options) {
  check(options);
  const at::Tensor row = at::fft_fftfreq(rows, options.pixel_m, at::kDouble).unsqueeze(1);
  const at::Tensor col = at::fft_fftfreq(cols, options.pixel_m, at::kDouble);
  const double wave_number = 1 / options.wavelength_m;
  const at::Tensor transverse = row.square() + col.square();
  const at::Tensor along = wave_number * wave_number - transverse;  // squared
  const at::Tensor propagating = along.clamp_min(0).sqrt();
  // sqrt(k^2 - f^2) - k without the difference of two large numbers; -k where evanescent.
  const at::Tensor lag = (-transverse / (propagating + wave_number)).clamp_min(-wave_number);
  const at::Tensor decay =
      at::exp(-2 * std::numbers::pi * std::abs(options.distance_m) * (-along).clamp_min(0).sqrt());
  return at::polar(decay, 2 * std::numbers::pi * options.distance_m * lag);
}

NearFieldOptions near_field_of(const Geometry& geometry) {
  if (!geometry.near_field) return {};
  require(geometry.energy_ev > 0 && geometry.distance_m > 0 && geometry.detector_pixel_m > 0,
          "near field: expected energy, distance and detector pixel above 0, found {} eV, {} m and "
          "{} m; give --energy, --distance and --detector-pixel",
          geometry.energy_ev, geometry.distance_m, geometry.detector_pixel_m);
  return {.wavelength_m = wavelength_m(geometry),
          .pixel_m = near_field_object_pixel_m(geometry),
          .distance_m = effective_distance_m(geometry)};
}

at::Tensor propagate_near_field(const at::Tensor& waves, const NearFieldOptions& options) {
  require(waves.dim() >= 2 && waves.is_complex(),
          "near field: expected complex waves (..., rows, cols), found {}", describe(waves));
  const at::Tensor transfer =
      near_field_transfer(waves.size(-2), waves.size(-1), options).to(waves.options());
  return at::fft_ifft2(at::fft_fft2(waves) * transfer);
}

at::Tensor back_propagate_near_field(const at::Tensor& waves, const NearFieldOptions& options) {
  NearFieldOptions back = options;
  back.distance_m = -options.distance_m;
  return propagate_near_field(waves, back);
}

}  // namespace ptyche
