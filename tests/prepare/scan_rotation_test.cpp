// The turn of a raster, out of patterns that were made with it.
#include "ptyche/prepare/scan_rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ptyche/core/files.h"
#include "ptyche/core/random.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/storage/numpy.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSize = 32, kSide = 14, kCanvas = 140;

/// Atoms: round peaks of the phase at random places.
at::Tensor atoms() {
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

/// The bright disk of a beam out of focus, by curvature rad at one cycle per pixel squared.
at::Tensor beam(double curvature) {
  const at::Tensor axis = at::fft_fftfreq(kSize, 1.0, at::kDouble);
  const at::Tensor square = axis.square().unsqueeze(1) + axis.square();
  const at::Tensor wave = at::polar(square.lt(0.06).to(at::kDouble), curvature * square);
  return at::fft_fftshift(at::fft_ifft2(wave)).unsqueeze(0) * 300;
}

/// Patterns of a raster that lies turned on the object, given as if it did not.
Scan scan_of(const ScanRotation& truth, double photons, double curvature = 60) {
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
      atoms(), beam(curvature), places, Interpolation::probe_fourier, at::Tensor(), FarField{}));
  const at::Tensor scaled = expected * (photons / expected.sum({1, 2}).mean());
  fields.counts =
      poisson_draws(scaled, at::arange(kSide * kSide), 3, Purpose::verdict).to(at::kFloat);
  return Scan(fields);
}

double degrees_apart(double a, double b) { return std::abs(std::remainder(a - b, 360)); }

/// Within a degree; with a whole turn of 180 the twin's is as good.
void expect_found(const ScanRotation& truth, double photons, double curvature,
                  double whole_turn = 360) {
  const auto found = find_scan_rotation(scan_of(truth, photons, curvature));
  ASSERT_TRUE(found.has_value()) << truth.degrees;
  EXPECT_GT(found->strength, 15) << truth.degrees;
  EXPECT_EQ(found->transposed, truth.transposed) << truth.degrees;
  EXPECT_LT(std::abs(std::remainder(found->degrees - truth.degrees, whole_turn)), 1)
      << truth.degrees << " found " << found->degrees;
}

TEST(ScanRotation, IsFoundWithinADegreeByTheDeflectionsOfMuchLight) {
  expect_found({.degrees = -165, .transposed = false}, 1e5, 60);
  expect_found({.degrees = 122.5, .transposed = true}, 1e5, 60);
}

/// Too few electrons for centres of mass, and for peaks against pits: the twin may come.
TEST(ScanRotation, IsFoundWithinADegreeOfFewElectronsByWhatAllPatternsSayOfThePhase) {
  for (const bool transposed : {false, true}) expect_found({33, transposed}, 300, 120, 180);
}

TEST(ScanRotation, IsNotFoundWhereTooFewElectronsSayNothing) {
  EXPECT_FALSE(find_scan_rotation(scan_of({.degrees = 33}, 20)).has_value());
}

TEST(ScanRotation, IsNotFoundInNoiseAloneNorWithoutARaster) {
  const Scan scan = scan_of({}, 1e5);
  ScanFields fields = scan.fields();
  const at::Tensor mean = scan.counts().to(at::kDouble).mean(0, true).expand(scan.counts().sizes());
  fields.counts =
      poisson_draws(mean, at::arange(scan.frames()), 5, Purpose::verdict).to(at::kFloat);
  EXPECT_FALSE(find_scan_rotation(Scan(fields)).has_value());
  EXPECT_FALSE(find_scan_rotation(with_raster_turned(scan, {.degrees = 20})).has_value());
}

/// A stack of patterns alone, as a microscope leaves it.
ReadOptions stack_of(const at::Tensor& counts, const std::filesystem::path& file) {
  const at::Tensor values = counts.to(at::kFloat).contiguous();
  const auto* bytes = static_cast<const char*>(values.const_data_ptr());
  write_text(file, npy_header(values) + std::string(bytes, values.nbytes()));
  ReadOptions options;
  options.file = file;
  options.scan_shape = "14x14";
  options.scan_step_m = 1e-10;
  options.voltage_v = 3e5;
  options.semi_angle_rad = 0.02;
  options.scan_rotation = "auto";
  return options;
}

TEST(ScanRotation, AStackWithoutPositionsIsReadWithItsRasterTurned) {
  const TestFolder folder;
  const Scan scan =
      read_turned_scan(stack_of(scan_of({.degrees = 33}, 1e5).counts(), folder / "stack.npy"));
  const at::Tensor along = scan.positions()[1] - scan.positions()[0];
  const double degrees =
      std::atan2(along[0].item<double>(), along[1].item<double>()) * 180 / std::numbers::pi;
  EXPECT_LT(degrees_apart(degrees, 33), 1);
}

TEST(ScanRotation, PatternsWithoutABrightDiskTellNoAngleOfAPixel) {
  const TestFolder folder;
  at::Tensor counts = at::zeros({kSide * kSide, kSize, kSize});
  counts.select(2, kSize / 2).select(1, kSize / 2).fill_(5);
  const std::string message =
      message_of([&] { read_turned_scan(stack_of(counts, folder / "dots.npy")); });
  EXPECT_NE(message.find("--semi-angle: expected patterns with a bright disk"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace ptyche
