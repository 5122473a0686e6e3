#include "ptyche/physics/forward_model.h"

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"

namespace ptyche {

namespace {

void check_lengths(const NearField& near) {
  require(near.wavelength_m > 0 && std::isfinite(near.wavelength_m),
          "wavelength_m: expected a positive number, found {}", near.wavelength_m);
  require(near.pixel_m > 0 && std::isfinite(near.pixel_m),
          "pixel_m: expected a positive number, found {}", near.pixel_m);
  require(std::isfinite(near.distance_m), "distance_m: expected a finite number, found {}",
          near.distance_m);
}

/// exp(-2 pi i f d) for every frequency f of a `size`-point transform: (k, size).
at::Tensor phase_factors(const at::Tensor& shift, std::int64_t size, const at::Tensor& like) {
  const auto real = like.options().dtype(c10::toRealValueType(like.scalar_type()));
  const at::Tensor frequency = at::fft_fftfreq(size, 1.0, real);
  const at::Tensor angle = -2 * M_PI * shift.to(real.dtype()).unsqueeze(1) * frequency;
  return at::polar(at::ones_like(angle), angle);
}

}  // namespace

Propagation propagation_of(const Geometry& geometry) {
  if (!geometry.near_field) return FarField{};
  require(geometry.energy_ev > 0 && geometry.distance_m > 0 && geometry.detector_pixel_m > 0,
          "near field: expected energy, distance and detector pixel above 0, found {} eV, {} m and "
          "{} m; give --energy, --distance and --detector-pixel",
          geometry.energy_ev, geometry.distance_m, geometry.detector_pixel_m);
  return NearField{.wavelength_m = wavelength_m(geometry),
                   .pixel_m = near_field_object_pixel_m(geometry),
                   .distance_m = effective_distance_m(geometry)};
}

at::Tensor to_fft_order(const at::Tensor& centred) {
  return at::fft_ifftshift(centred, at::IntArrayRef{-2, -1});
}

at::Tensor to_centred(const at::Tensor& fft_ordered) {
  return at::fft_fftshift(fft_ordered, at::IntArrayRef{-2, -1});
}

at::Tensor propagate_far_field(const at::Tensor& exit_waves) {
  return at::fft_fft2(exit_waves, c10::nullopt, {-2, -1}, "ortho");
}

at::Tensor propagate_far_field_adjoint(const at::Tensor& waves) {
  return at::fft_ifft2(waves, c10::nullopt, {-2, -1}, "ortho");
}

at::Tensor near_field_transfer(std::int64_t rows, std::int64_t cols, const NearField& near) {
  check_lengths(near);
  const at::Tensor row = at::fft_fftfreq(rows, near.pixel_m, at::kDouble).unsqueeze(1);
  const at::Tensor col = at::fft_fftfreq(cols, near.pixel_m, at::kDouble);
  const double wave_number = 1 / near.wavelength_m;
  const at::Tensor transverse = row.square() + col.square();
  const at::Tensor along = wave_number * wave_number - transverse;  // squared
  const at::Tensor propagating = along.clamp_min(0).sqrt();
  // sqrt(k^2 - f^2) - k without the difference of two large numbers; -k where evanescent.
  const at::Tensor lag = (-transverse / (propagating + wave_number)).clamp_min(-wave_number);
  const at::Tensor decay =
      at::exp(-2 * std::numbers::pi * std::abs(near.distance_m) * (-along).clamp_min(0).sqrt());
  return at::polar(decay, 2 * std::numbers::pi * near.distance_m * lag);
}

at::Tensor propagate_near_field(const at::Tensor& waves, const NearField& near) {
  require(waves.dim() >= 2 && waves.is_complex(),
          "near field: expected complex waves (..., rows, cols), found {}", describe(waves));
  const at::Tensor transfer =
      near_field_transfer(waves.size(-2), waves.size(-1), near).to(waves.options());
  return at::fft_ifft2(at::fft_fft2(waves) * transfer);
}

at::Tensor propagate_near_field_adjoint(const at::Tensor& waves, const NearField& near) {
  return propagate_near_field(waves, {near.wavelength_m, near.pixel_m, -near.distance_m});
}

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

at::Tensor propagate(const at::Tensor& exit_waves, const Propagation& propagation,
                     const at::Tensor& moved) {
  const auto* near = std::get_if<NearField>(&propagation);
  if (!near) return propagate_far_field(exit_waves);
  const at::Tensor waves = propagate_near_field(exit_waves, *near);
  return to_fft_order(moved.defined() ? fourier_shift(waves, -moved) : waves);
}

at::Tensor detector_transfer(std::int64_t size, const Propagation& propagation) {
  const auto* near = std::get_if<NearField>(&propagation);
  if (!near) return {};
  const at::Tensor sign = 1 - 2 * at::arange(size, at::kDouble).remainder(2);
  return near_field_transfer(size, size, *near) * sign * sign.unsqueeze(1);
}

at::Tensor exit_wave(const at::Tensor& probe, const at::Tensor& patches) {
  require(patches.dim() == 3 && (probe.dim() == 3 || probe.dim() == 4) &&
              probe.size(-1) == patches.size(-1) && probe.size(-2) == patches.size(-2) &&
              (probe.dim() == 3 || probe.size(0) == patches.size(0)),
          "exit_wave: expected a probe (modes, N, N) or (k, modes, N, N) for patches (k, N, N), "
          "found {} for {}",
          fmt::join(probe.sizes(), " x "), fmt::join(patches.sizes(), " x "));
  return probe * patches.unsqueeze(1);
}

at::Tensor expected_counts(const at::Tensor& waves, const at::Tensor& background) {
  const at::Tensor intensity = mode_power(waves);
  return background.defined() ? intensity + background : intensity;
}

at::Tensor predict_intensity(const at::Tensor& canvases, const at::Tensor& probe,
                             const CanvasLayout& layout, const at::Tensor& background,
                             const Propagation& propagation) {
  const at::Tensor patches = extract_patches(canvases, layout);
  if (layout.interpolation == Interpolation::bilinear)
    return expected_counts(propagate(exit_wave(probe, patches), propagation), background);
  const at::Tensor moved = fourier_shift(probe, layout.fractions);
  return expected_counts(propagate(exit_wave(moved, patches), propagation, layout.fractions),
                         background);
}

at::Tensor predict_intensity(const at::Tensor& object, const at::Tensor& probe,
                             const at::Tensor& positions, Interpolation interpolation,
                             const at::Tensor& background, const Propagation& propagation) {
  const std::int64_t size = probe.size(-1);
  const CanvasLayout layout = lay_on_object(positions - static_cast<double>(size / 2), size,
                                            {object.size(0), object.size(1)}, interpolation);
  return predict_intensity(object.unsqueeze(0), probe, layout, background, propagation);
}

}  // namespace ptyche
