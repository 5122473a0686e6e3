// Tilt-corrected bright field of simulated electron scans: turn, mirror and defocus as simulated.
#include "ptyche/prepare/bright_field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "ptyche/data/probe.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/prepare/optics.h"
#include "tests/support/shared.h"

namespace ptyche {
namespace {

struct Given {
  double degrees = 0;
  bool mirrored = false;
  double defocus_m = 80e-9, electrons = 2e4;
  std::int64_t side = 16;
  double step_px = 5, jitter_px = 0;
};

/// A weak phase object, 300 kV, 10 mrad, a disk of 12 px in patterns of 64 x 64.
Scan scan_of(const Given& given, std::uint64_t seed = 1) {
  at::manual_seed(seed);
  const std::int64_t size = 64;
  const auto canvas =
      static_cast<std::int64_t>(given.step_px * static_cast<double>(given.side)) + 120;
  const at::Tensor frequency = at::fft_fftfreq(canvas, 1.0, at::kFloat);
  const at::Tensor pass =
      (-(frequency.square().unsqueeze(1) + frequency.square()) / (2 * 0.03 * 0.03)).exp();
  at::Tensor phase = at::real(at::fft_ifft2(at::fft_fft2(at::randn({canvas, canvas})) * pass));
  phase = phase / phase.std() * 0.1;
  const at::Tensor object = at::polar(at::ones_like(phase), phase.contiguous());
  const at::Tensor axis = at::arange(given.side, at::kDouble) * given.step_px;
  at::Tensor positions = at::stack({axis.unsqueeze(1).expand({given.side, given.side}).flatten(),
                                    axis.unsqueeze(0).expand({given.side, given.side}).flatten()},
                                   1) +
                         60;
  positions += given.jitter_px * at::randn_like(positions);
  Geometry geometry;
  geometry.energy_ev = kHcInEvM / electron_wavelength_m(300e3);
  geometry.object_pixel_m = 12 * electron_wavelength_m(300e3) / (10e-3 * size);
  geometry.semi_angle_rad = 10e-3;
  ScanFields fields{.counts = at::ones({positions.size(0), size, size}, at::kInt),
                    .positions = positions,
                    .probe = at::ones({1, size, size}, at::kComplexFloat),
                    .geometry = geometry};
  const Scan blank(fields);
  at::Tensor probe = probe_of_optics("electron", {.defocus_m = given.defocus_m}, blank);
  probe = probe * std::sqrt(given.electrons / probe_power(probe));
  const at::Tensor expected =
      predict_intensity(object, probe, positions, Interpolation::probe_fourier, {});
  fields.counts = at::poisson(to_centred(expected)).to(at::kInt);
  fields.probe = probe;
  // As a microscope writes it down: the true places are the turn of these.
  const double angle = given.degrees / 180 * M_PI;
  at::Tensor turn =
      at::tensor({std::cos(angle), std::sin(angle), -std::sin(angle), std::cos(angle)}, at::kDouble)
          .view({2, 2});
  if (given.mirrored)
    turn = turn.matmul(at::tensor({0.0, 1.0, 1.0, 0.0}, at::kDouble).view({2, 2}));
  fields.positions = (positions - positions.mean(0)).matmul(turn) + positions.mean(0);
  return Scan(fields);
}

void expect_found(const Given& given, double degrees_off = 1, double defocus_off = 0.05) {
  const Scan scan = scan_of(given);
  const auto found = bright_field(scan);
  ASSERT_TRUE(found.has_value());
  SCOPED_TRACE(std::to_string(found->degrees) + " degrees, defocus " +
               std::to_string(found->defocus_m * 1e9) + " nm +- " +
               std::to_string(found->defocus_error_m * 1e9) + ", " +
               std::to_string(found->correlation) + " for " + std::to_string(found->unshifted) +
               ", rim " + std::to_string(found->rim_shift_steps));
  EXPECT_TRUE(found->sure());
  EXPECT_EQ(found->mirrored, given.mirrored);
  const at::Tensor turned = turned_positions(scan.positions(), found->turn);
  const Scan right = scan_of(
      {.degrees = 0, .side = given.side, .step_px = given.step_px, .jitter_px = given.jitter_px});
  const at::Tensor a = turned - turned.mean(0), b = right.positions() - right.positions().mean(0);
  const double sign = found->defocus_m * given.defocus_m > 0 ? 1 : -1;
  const double off =
      std::atan2(
          (a.select(1, 0) * b.select(1, 1) - a.select(1, 1) * b.select(1, 0)).sum().item<double>(),
          (a * b).sum().item<double>()) *
      180 / M_PI;
  EXPECT_NEAR(std::remainder(off + (sign > 0 ? 0 : 180), 360), 0, degrees_off);
  EXPECT_NEAR(std::abs(found->defocus_m / given.defocus_m), 1, defocus_off);
}

TEST(BrightField, FindsTurnMirrorAndDefocusOfEitherSign) {
  for (const double degrees : {0.0, 33.0, -120.0})
    for (const bool mirrored : {false, true})
      for (const double defocus : {80e-9, -60e-9}) {
        SCOPED_TRACE(std::to_string(degrees) + (mirrored ? " mirrored " : " ") +
                     std::to_string(defocus * 1e9));
        expect_found({.degrees = degrees, .mirrored = mirrored, .defocus_m = defocus});
      }
}

TEST(BrightField, FindsThemOffTheGridAndWithFewElectrons) {
  expect_found({.degrees = 20, .jitter_px = 1});
  expect_found({.degrees = 20, .electrons = 3000, .side = 24});
}

TEST(BrightField, IsNotSureInFocusOrOfNoiseAndNoneWithoutElectronsOrFarApart) {
  EXPECT_FALSE(bright_field(scan_of({.defocus_m = 0}))->sure());
  EXPECT_FALSE(bright_field(scan_of({.electrons = 5}))->sure());
  ScanFields fields = scan_of({}).fields();
  fields.positions[0][0] += 1e7;  // px
  EXPECT_FALSE(bright_field(Scan(fields)).has_value());
  fields.geometry.semi_angle_rad = 0;
  EXPECT_FALSE(bright_field(Scan(fields)).has_value());
}

TEST(BrightField, TurnsAFirstProbesScanUnlessItsTurnMayBeTheErrorOfItself) {
  const auto first_of = [](double degrees, const std::set<std::string>& given) {
    ScanFields fields = scan_of({.degrees = degrees}).fields();
    fields.probe_given = false;
    return with_first_probe(Scan(fields), {}, {}, ExamineOptions{.given = given});
  };
  const FirstProbe plain = first_of(0.4, {}), turned = first_of(33, {});
  ASSERT_TRUE(plain.bright_field && turned.bright_field);
  EXPECT_FALSE(plain.turn.has_value());
  ASSERT_TRUE(turned.turn.has_value());
  EXPECT_NEAR(turned.turn->matrix[0][0], std::cos(33 / 180.0 * M_PI), 0.02);
  // Against what was typed nothing is turned, and no probe is taken from a turn that contradicts
  // it.
  const FirstProbe kept = first_of(33, {"scan-rotation"});
  EXPECT_FALSE(kept.turn || kept.bright_field);
}

/// 300 kV, 1.03 mrad, 13.2 to 13.7 um out of focus, turned by -59.6 degrees (or the twin).
TEST(BrightFieldSlow, OfMeasuredRotavirusParticlesHasTheirTurnAndDefocus) {
  for (const char* name : {"24x24", "32x32"}) {
    const auto file = shared_file(fmt::format("data/rotavirus/rotavirus_{}_bin2.h5", name));
    if (!file) GTEST_SKIP() << "there is no measured scan here (PTYCHE_SHARED)";
    ReadOptions options{.file = *file};
    options.voltage_v = 300e3;
    options.semi_angle_rad = 1.03e-3;
    const std::optional<BrightField> found = bright_field(read_scan(options));
    ASSERT_TRUE(found && found->sure()) << name;
    EXPECT_FALSE(found->mirrored);
    EXPECT_NEAR(found->degrees, -59.6, 1) << name;
    EXPECT_NEAR(found->defocus_m, 13.3e-6, 0.05 * 13.3e-6) << name;
  }
}

}  // namespace
}  // namespace ptyche
