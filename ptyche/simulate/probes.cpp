#include "ptyche/simulate/probes.h"

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

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

at::Tensor default_probe(std::int64_t size) {
  require(size >= 8, "default_probe: expected a size of at least 8, found {}", size);
  const double deviation = static_cast<double>(size) / (0.7 * std::numbers::pi * std::numbers::pi);
  const at::Tensor offset = at::arange(size, at::kDouble) - 0.5 * static_cast<double>(size - 1);
  const at::Tensor gauss = at::exp(-0.5 * (offset / deviation).square());
  const at::Tensor window = gauss / gauss.max();
  const at::Tensor disc = at::outer(window, window).gt(0.5).to(at::kDouble);
  return gaussian_filter(disc, 1) + 1e-9;
}

namespace {

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
double default_defocus(const ProbeOptions& options) {
  return 0.5 * options.diameter_px / options.aperture;
}

/// Phase of the lens's aberrations at far-field frequencies in units of the aperture's rim.
at::Tensor aberration(const at::Tensor& radius, const std::vector<double>& coefficients) {
  const std::int64_t size = radius.size(0);
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  const at::Tensor angle = at::atan2(axis.unsqueeze(1), axis.unsqueeze(0));
  at::Tensor phase = at::zeros_like(radius);
  std::int64_t noll = 4;
  for (const double coefficient : coefficients)
    phase += coefficient * zernike(noll++, radius, angle);
  return phase;
}

at::Tensor lens(const ProbeOptions& options) {
  const at::Tensor frequency =
      radius_px(options.pattern_size) / static_cast<double>(options.pattern_size);
  at::Tensor aperture = soft_disc(frequency, options.aperture, 0.2 * options.aperture);
  if (options.stop > 0)
    aperture = aperture *
               (1 - soft_disc(frequency, options.stop * options.aperture, 0.1 * options.aperture));
  // Fresnel propagation (Goodman, Introduction to Fourier Optics, eq. 4-21).
  const double path = options.defocus * default_defocus(options);
  const at::Tensor phase = -std::numbers::pi * path * frequency.square() +
                           aberration(frequency / options.aperture, options.zernike_rad);
  return at::fft_fftshift(at::fft_ifft2(at::fft_ifftshift(at::polar(aperture, phase))));
}

at::Tensor shape_of(const ProbeOptions& options) {
  const at::Tensor radius = radius_px(options.pattern_size);
  if (options.shape == "defocused" || options.shape == "zernike") return lens(options);
  if (options.shape == "disk") return soft_disc(radius, 0.5 * options.diameter_px, 1);
  if (options.shape == "gaussian") return at::exp(-(radius / (0.5 * options.diameter_px)).square());
  if (options.shape == "ptychopinn") return default_probe(options.pattern_size);
  throw InvalidInput(
      fmt::format("probe: expected defocused, disk, gaussian, zernike or ptychopinn, found '{}'",
                  options.shape));
}

void check_probe_options(const ProbeOptions& options) {
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
  require(
      (options.shape == "zernike" || options.zernike_rad.empty()) &&
          options.zernike_rad.size() <= 30,
      "zernike: expected at most 30 coefficients, and those for the probe 'zernike' only, found "
      "{} for '{}'",
      options.zernike_rad.size(), options.shape);
  require(options.aperture >= 0.02 && options.aperture <= 0.5 && options.stop >= 0 &&
              options.stop <= 0.9,
          "probe: expected an aperture of 0.02 to 0.5 cycles/px and a stop of 0 to 0.9, found {} "
          "and {}",
          options.aperture, options.stop);
}

}  // namespace

double light_outside(const at::Tensor& probe) {
  const at::Tensor power = at::real(probe * probe.conj()).sum(0);
  const std::int64_t size = power.size(0), border = size / 8;
  const at::Tensor inner =
      power.narrow(0, border, size - 2 * border).narrow(1, border, size - 2 * border);
  return 1 - (inner.sum() / power.sum()).item<double>();
}

at::Tensor make_any_probe(const ProbeOptions& options) {
  check_probe_options(options);
  const at::Tensor shape = shape_of(options).to(at::kComplexDouble);
  const at::Tensor power = at::real(shape * shape.conj());
  return (shape * at::sqrt(options.photons / power.sum())).to(at::kComplexFloat).unsqueeze(0);
}

at::Tensor make_probe(const ProbeOptions& options) {
  const at::Tensor probe = make_any_probe(options);
  // Aberrations have no diameter that could be checked beforehand.
  const double outside = options.shape == "zernike" ? light_outside(probe) : 0;
  require(outside <= 0.01,
          "zernike: expected aberrations that leave 99 % of the light in the central 3/4 of the "
          "frame, found {:.1f} % outside",
          100 * outside);
  return probe;
}

}  // namespace ptyche
