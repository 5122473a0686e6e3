// Probes by an instrument's numbers.
#include "ptyche/prepare/optics.h"

#include <gtest/gtest.h>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/simulate/simulate.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

/// 8 keV, 1 m, 128 pixels of 75 um: object pixels of 16.1 nm.
Scan x_rays() {
  return simulate({.pattern_size = 128,
                   .frames = 4,
                   .geometry = {.energy_ev = 8000, .distance_m = 1, .detector_pixel_m = 75e-6}});
}

double lit_radius_px(const at::Tensor& probe) {
  const at::Tensor far = at::fft_fft2(probe[0]).abs().square();
  return std::sqrt(lit_pixels(far, 0.25).sum().item<double>() / std::numbers::pi);
}

TEST(Optics, AZonePlateLightsTheDetectorToItsNumericalAperture) {
  // D = 200 um, dr = 50 nm: f = D dr / lambda, so that the rim lies at lambda / (2 dr) = 1.55 mrad,
  // 20.7 pixels of 75 um at 1 m.
  const at::Tensor probe = probe_of_optics(
      "zone-plate", {.lens_diameter_m = 200e-6, .outermost_zone_m = 50e-9}, x_rays());
  EXPECT_NEAR(lit_radius_px(probe), 20.7, 0.7);
}

TEST(Optics, TheFocalLengthAndTheOutermostZoneSayTheSame) {
  const Scan scan = x_rays();
  const double focal = 200e-6 * 50e-9 / wavelength_m(scan.geometry());
  const at::Tensor by_zone =
      probe_of_optics("zone-plate", {.lens_diameter_m = 200e-6, .outermost_zone_m = 50e-9}, scan);
  const at::Tensor by_focus =
      probe_of_optics("zone-plate", {.lens_diameter_m = 200e-6, .focal_length_m = focal}, scan);
  EXPECT_TRUE(at::allclose(by_zone, by_focus, 1e-4, 1e-7));
}

TEST(Optics, BehindTheFocusTheBeamIsAsWideAsItsCone) {
  // The cone of 1.55 mrad is 1.24 um wide in diameter at 400 um: 77 px of 16.1 nm; a disc holds
  // nine tenths of it at sqrt(.9) of that.
  const at::Tensor probe = probe_of_optics(
      "zone-plate", {.lens_diameter_m = 200e-6, .outermost_zone_m = 50e-9, .defocus_m = 400e-6},
      x_rays());
  EXPECT_NEAR(probe_diameter_px(probe), 77 * std::sqrt(0.9), 4);
}

TEST(Optics, TheCentralStopIsDarkInTheFarField) {
  const at::Tensor probe = probe_of_optics(
      "zone-plate",
      {.lens_diameter_m = 200e-6, .outermost_zone_m = 50e-9, .central_stop_m = 100e-6}, x_rays());
  const at::Tensor far = at::fft_fft2(probe[0]).abs();
  EXPECT_LT(far[0][0].item<double>(), 1e-3 * far.max().item<double>());
}

TEST(Optics, ElectronsOf300KilovoltsHaveAWavelengthOf1Point97Picometres) {
  EXPECT_NEAR(electron_wavelength_m(300e3), 1.9687e-12, 1e-16);
}

TEST(Optics, ADiskHasItsDiameter) {
  const at::Tensor probe = probe_of_optics("disk", {.probe_diameter_m = 640e-9}, x_rays());
  EXPECT_NEAR(probe_diameter_px(probe), 640e-9 / 16.14e-9 * std::sqrt(0.9), 1.5);
}

TEST(Optics, MissingNumbersAreNamed) {
  const Scan scan = x_rays();
  EXPECT_EQ(message_of([&] { probe_of_optics("electron", {}, scan); }),
            "--probe electron: expected --semi-angle as well, found none");
  EXPECT_EQ(message_of([&] { probe_of_optics("disk", {}, scan); }),
            "--probe disk: expected --beam-diameter as well, found none");
}

TEST(Optics, ABeamWiderThanTheWindowIsRefused) {
  const std::string message = message_of([&] {
    probe_of_optics("zone-plate",
                    {.lens_diameter_m = 200e-6, .outermost_zone_m = 50e-9, .defocus_m = 5e-3},
                    x_rays());
  });
  EXPECT_NE(message.find("its outermost ray lands 3.5"), std::string::npos) << message;
}

TEST(FirstProbe, NumbersThatNothingLooksAtAreRefused) {
  EXPECT_EQ(
      message_of([&] { with_first_probe(x_rays(), {.probe = "scan", .optics = {.cs_m = 1}}); }),
      "--cs: nothing looks at it without --probe zone-plate, electron, disk, gaussian");
}

}  // namespace
}  // namespace ptyche
