// Patterns of a raster that lies turned on atoms, as a microscope records them.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <numbers>

#include "ptyche/core/random.h"
#include "ptyche/data/scan.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/prepare/scan_rotation.h"

namespace ptyche {

inline constexpr std::int64_t kSize = 32, kSide = 14, kCanvas = 140;

/// Atoms: round peaks of the phase at random places.
inline at::Tensor atoms() {
  at::manual_seed(4);
  const at::Tensor axis = at::arange(kCanvas, at::kDouble);
  at::Tensor phase = at::zeros({kCanvas, kCanvas}, at::kDouble);
  for (int atom = 0; atom < 90; ++atom) {
    const at::Tensor at = at::rand({2}, at::kDouble) * kCanvas;
    phase += 0.5 * (-(axis.unsqueeze(1) - at[0]).square() / 18).exp() *
             (-(axis - at[1]).square() / 18).exp();
  }
  return at::polar(at::ones_like(phase), phase);
}

/// A crystal as few waves show it: `waves` (2 or 3) plane waves of 9 px, their peaks at atoms
/// (sign 1), or at the holes between them (-1), as a honeycomb has them.
inline at::Tensor crystal(int waves, double sign) {
  const at::Tensor axis = at::arange(kCanvas, at::kDouble) * (2 * std::numbers::pi / 9);
  at::Tensor phase = at::zeros({kCanvas, kCanvas}, at::kDouble);
  for (int wave = 0; wave < waves; ++wave) {
    const double angle = 0.2 + wave * (waves == 2 ? 0.5 : 1.0 / 3 * 2) * std::numbers::pi;
    phase += 0.25 * sign *
             (axis.unsqueeze(1) * std::sin(angle) + axis.unsqueeze(0) * std::cos(angle)).cos();
  }
  return at::polar(at::ones_like(phase), phase);
}

/// The bright disk of a beam out of focus, by curvature rad at one cycle per pixel squared.
inline at::Tensor beam(double curvature) {
  const at::Tensor axis = at::fft_fftfreq(kSize, 1.0, at::kDouble);
  const at::Tensor square = axis.square().unsqueeze(1) + axis.square();
  const at::Tensor wave = at::polar(square.lt(0.06).to(at::kDouble), curvature * square);
  return at::fft_fftshift(at::fft_ifft2(wave)).unsqueeze(0) * 300;
}

/// Patterns of a raster that lies turned on the object, given as if it did not.
inline Scan turned_raster(const ScanRotation& truth, double photons, double curvature = 60,
                          const at::Tensor& object = atoms()) {
  const at::Tensor line = (at::arange(kSide, at::kDouble) - (kSide - 1) / 2.0) * 4;
  const at::Tensor raster = at::stack({line.unsqueeze(1).expand({kSide, kSide}).reshape(-1),
                                       line.unsqueeze(0).expand({kSide, kSide}).reshape(-1)},
                                      1)
                                .contiguous() +
                            kCanvas / 2.0;
  ScanFields fields;
  fields.counts = at::ones({kSide * kSide, kSize, kSize});
  fields.positions = raster;
  fields.probe = beam(curvature).to(at::kComplexFloat);
  fields.mask = at::ones({kSize, kSize}, at::kBool);
  fields.frame_use = at::zeros({kSide * kSide}, at::kByte);
  const Scan unturned(fields);
  const at::Tensor places = with_raster_turned(unturned, truth).positions();
  const at::Tensor expected = to_centred(predict_intensity(
      object, beam(curvature), places, Interpolation::probe_fourier, at::Tensor(), FarField{}));
  const at::Tensor scaled = expected * (photons / expected.sum({1, 2}).mean());
  fields.counts =
      poisson_draws(scaled, at::arange(kSide * kSide), 3, Purpose::verdict).to(at::kFloat);
  return Scan(fields);
}

}  // namespace ptyche
