#include "ptyche/prepare/optics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/simulate/probes.h"

namespace ptyche {
namespace {

constexpr double kSoftEdge = 0.03;  // of the rim, so that the probe does not ring

/// Spatial frequencies of the far field, cycles per metre at the sample: (N, N).
struct Frequencies {
  at::Tensor radius, angle;
  double edge = 0;  // of the detector
};

Frequencies frequencies_of(const Scan& scan) {
  const std::int64_t size = scan.pattern_size();
  const double spacing = 1 / (static_cast<double>(size) * scan.geometry().object_pixel_m);
  const at::Tensor axis = (at::arange(size, at::kDouble) - static_cast<double>(size / 2)) * spacing;
  const at::Tensor row = axis.unsqueeze(1), col = axis.unsqueeze(0);
  return {at::hypot(row, col), at::atan2(row.expand({size, size}), col.expand({size, size})),
          spacing * static_cast<double>(size) / 2};
}

/// A ray lands at the phase's slope over 2 pi: throws InvalidInput where one leaves the window, for
/// its light would come back in from the other side.
void require_inside(const at::Tensor& phase, const at::Tensor& lit) {
  double steepest = 0;
  for (const std::int64_t axis : {0, 1}) {
    const std::int64_t last = phase.size(axis) - 1;
    const auto both = [&](const at::Tensor& image) {
      return std::pair{image.narrow(axis, 0, last), image.narrow(axis, 1, last)};
    };
    const auto [here, next] = both(phase);
    const auto [lit_here, lit_next] = both(lit);
    const at::Tensor slope = (next - here).abs() * lit_here.logical_and(lit_next);
    steepest = std::max(steepest, slope.max().item<double>());
  }
  require(steepest < std::numbers::pi,
          "--probe: its outermost ray lands {:.3g} window widths from the middle, expected less "
          "than 0.5: a smaller defocus, or a larger detector, is needed",
          steepest / (2 * std::numbers::pi));
}

/// A lens: what lets light pass, and the phase of defocus, Cs and aberrations.
at::Tensor lens_probe(const Scan& scan, const Optics& optics, double wavelength, double rim_angle,
                      double stop_share) {
  const Frequencies q = frequencies_of(scan);
  const double rim = rim_angle / wavelength;
  require(rim < q.edge,
          "--probe: a lens of semi-angle {:.3g} mrad lights the detector to {:.3g} of its half "
          "width, expected less than 1: are energy, distance and pixel right?",
          1e3 * rim_angle, rim / q.edge);
  const at::Tensor share = q.radius / rim;
  at::Tensor passes = at::sigmoid((1 - share) / kSoftEdge);
  if (stop_share > 0) passes = passes * at::sigmoid((share - stop_share) / kSoftEdge);
  const at::Tensor square = q.radius.square();
  at::Tensor phase = -std::numbers::pi * wavelength * square *
                     (optics.defocus_m + 0.5 * optics.cs_m * wavelength * wavelength * square);
  std::int64_t noll = 4;
  for (const double coefficient : optics.zernike_rad)
    phase = phase + coefficient * zernike(noll++, share.clamp_max(1.2), q.angle);
  require_inside(phase, passes.gt(0.5));
  const at::Tensor wave = at::polar(passes, phase);
  return to_centred(propagate_far_field_adjoint(to_fft_order(wave)));
}

void require_given(double value, const char* option, const std::string& kind) {
  require(value > 0, "--probe {}: expected --{} as well, found none", kind, option);
}

at::Tensor zone_plate(const Scan& scan, const Optics& optics) {
  const double wavelength = wavelength_m(scan.geometry());
  require(wavelength > 0, "{}",
          "--probe zone-plate: expected a known photon energy, found none: give --energy");
  require_given(optics.lens_diameter_m, "lens-diameter", "zone-plate");
  if (optics.focal_length_m <= 0)
    require_given(optics.outermost_zone_m, "outermost-zone or --focal-length", "zone-plate");
  const double focal = optics.focal_length_m > 0
                           ? optics.focal_length_m
                           : optics.lens_diameter_m * optics.outermost_zone_m / wavelength;
  return lens_probe(scan, optics, wavelength, optics.lens_diameter_m / (2 * focal),
                    optics.central_stop_m / optics.lens_diameter_m);
}

at::Tensor electron_probe(const Scan& scan, const Optics& optics) {
  const Geometry& geometry = scan.geometry();
  require_given(wavelength_m(geometry), "voltage", "electron");
  require_given(geometry.semi_angle_rad, "semi-angle", "electron");
  return lens_probe(scan, optics, wavelength_m(geometry), geometry.semi_angle_rad, 0);
}

at::Tensor beam_in_contact(const Scan& scan, const Optics& optics, const std::string& kind) {
  require_given(optics.probe_diameter_m, "beam-diameter", kind);
  const std::int64_t size = scan.pattern_size();
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  const at::Tensor radius = at::hypot(axis.unsqueeze(1), axis.unsqueeze(0));
  const double half = 0.5 * optics.probe_diameter_m / scan.geometry().object_pixel_m;
  require(2 * half < static_cast<double>(size),
          "--beam-diameter: {:.3g} object pixels, expected less than the {} of the window",
          2 * half, size);
  const at::Tensor shape = kind == "disk"
                               ? at::sigmoid((half - radius) / 0.5)
                               : at::exp(-0.5 * std::numbers::ln2 * (radius / half).square());
  return at::complex(shape, at::zeros_like(shape));
}

}  // namespace

namespace {

constexpr Sizes kLenses{"zone plates and lenses have diameters of", {1e-6, 2e-2}, {1e-8, 1}};

}  // namespace

std::vector<Field> fields(Optics& optics) {
  return {
      {.name = "lens-diameter",
       .target = &optics.lens_diameter_m,
       .unit = "m",
       .help = "zone-plate: its diameter",
       .range = {0},
       .sizes = kLenses},
      {.name = "outermost-zone",
       .target = &optics.outermost_zone_m,
       .unit = "m",
       .help = "zone-plate: width of its outermost zone, instead of --focal-length",
       .range = {0},
       .sizes = {"zone plates have outermost zones of", {1e-9, 1e-5}, {1e-9, 1e-3}}},
      {.name = "focal-length",
       .target = &optics.focal_length_m,
       .unit = "m",
       .help = "zone-plate: its focal length, for any lens behind a round aperture",
       .range = {0},
       .sizes = {"lenses have focal lengths of", {1e-5, 2}, {1e-7, 100}}},
      {.name = "central-stop",
       .target = &optics.central_stop_m,
       .unit = "m",
       .help = "zone-plate: diameter of its central stop",
       .range = {0},
       .sizes = kLenses},
      {.name = "cs",
       .target = &optics.cs_m,
       .unit = "m",
       .help = "electron: spherical aberration",
       .sizes = {"electron lenses have", {1e-9, 2e-2}, {1e-9, 0.5}}},
      {.name = "defocus",
       .target = &optics.defocus_m,
       .unit = "m",
       .help = "zone-plate, electron: from the focus to the sample; > 0: the sample lies behind "
               "the focus (overfocus)",
       .sizes = {"probes have defoci of", {1e-11, 1e-2}, {1e-12, 1}}},
      {.name = "beam-diameter",
       .target = &optics.probe_diameter_m,
       .unit = "m",
       .help = "disk: its diameter; gaussian: its width at half the intensity",
       .range = {0},
       .sizes = {"beams at the sample are wide by", {1e-11, 1e-3}, {1e-12, 0.1}}},
      {.name = "zernike",
       .target = &optics.zernike_rad,
       .unit = "rad",
       .help = "zone-plate, electron: aberrations, root mean square over the aperture, Noll "
               "index 4, 5, 6, ..."}};
}

const std::vector<std::string>& optics_kinds() {
  static const std::vector<std::string> kinds{"zone-plate", "electron", "disk", "gaussian"};
  return kinds;
}

at::Tensor probe_of_optics(const std::string& kind, const Optics& optics, const Scan& scan) {
  require(scan.geometry().has_object_pixel(),
          "--probe {}: expected a known object pixel, found none: give --energy, --distance and "
          "--detector-pixel",
          kind);
  const at::Tensor probe = kind == "zone-plate" ? zone_plate(scan, optics)
                           : kind == "electron" ? electron_probe(scan, optics)
                                                : beam_in_contact(scan, optics, kind);
  return probe.unsqueeze(0).to(at::kComplexFloat);
}

}  // namespace ptyche
