#include "ptyche/physics/probes.h"

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kApertureRadius = 0.25;  // cycles/px

/// Distance of every pixel from pixel (N/2, N/2), (N, N).
at::Tensor radius_px(std::int64_t size) {
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  return at::hypot(axis.unsqueeze(1), axis.unsqueeze(0));
}

/// 1 inside `edge`, 0 outside, an error function of the given width in between.
at::Tensor soft_disc(const at::Tensor& radius, double edge, double width) {
  return 0.5 * at::erfc((radius - edge) / width);
}

/// The default defocus in px^2 (wavelength times distance): a ray of spatial frequency q lands at
/// `defocus * q`, so the aperture's rim lands at half the diameter.
double default_defocus(double diameter_px) { return 0.5 * diameter_px / kApertureRadius; }

at::Tensor defocused(const ProbeOptions& options) {
  const at::Tensor frequency =
      radius_px(options.pattern_size) / static_cast<double>(options.pattern_size);
  const at::Tensor aperture = soft_disc(frequency, kApertureRadius, 0.2 * kApertureRadius);
  // Fresnel propagation (Goodman, Introduction to Fourier Optics, eq. 4-21).
  const double path = options.defocus * default_defocus(options.diameter_px);
  const at::Tensor wave = at::polar(aperture, -kPi * path * frequency.square());
  return at::fft_fftshift(at::fft_ifft2(at::fft_ifftshift(wave)));
}

at::Tensor shape_of(const ProbeOptions& options) {
  const at::Tensor radius = radius_px(options.pattern_size);
  if (options.shape == "defocused") return defocused(options);
  if (options.shape == "disk") return soft_disc(radius, 0.5 * options.diameter_px, 1);
  if (options.shape == "gaussian") return at::exp(-(radius / (0.5 * options.diameter_px)).square());
  throw InvalidInput(
      fmt::format("probe: expected defocused, disk or gaussian, found '{}'", options.shape));
}

void check(const ProbeOptions& options) {
  const std::int64_t size = options.pattern_size;
  require(size >= 8 && size % 2 == 0, "pattern_size: expected an even number >= 8, found {}", size);
  const double half = 0.5 * static_cast<double>(size);
  require(options.diameter_px >= 2 && options.diameter_px <= half,
          "probe_diameter_px: expected 2 to {} (half the pattern size), found {}", half,
          options.diameter_px);
  require(options.photons > 0 && std::isfinite(options.photons),
          "photons: expected a positive number, found {}", options.photons);
  require(std::abs(options.defocus) * options.diameter_px <= half,
          "defocus: expected at most {:.3g} for a probe of {} px on {} pixels, found {}",
          half / options.diameter_px, options.diameter_px, size, options.defocus);
}

}  // namespace

at::Tensor make_probe(const ProbeOptions& options) {
  check(options);
  const at::Tensor shape = shape_of(options).to(at::kComplexDouble);
  const at::Tensor power = at::real(shape * shape.conj()).sum();
  return (shape * at::sqrt(options.photons / power)).to(at::kComplexFloat).unsqueeze(0);
}

}  // namespace ptyche
