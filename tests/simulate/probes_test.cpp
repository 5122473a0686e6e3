#include "ptyche/simulate/probes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

constexpr const char* kShapes[] = {"defocused", "disk", "gaussian"};

ProbeOptions probe_of(const std::string& shape, std::int64_t size = 64) {
  ProbeOptions options;
  options.shape = shape;
  options.pattern_size = size;
  return options;
}

at::Tensor power_of(const at::Tensor& probe) {
  return probe[0].to(at::kComplexDouble).abs().square();
}

/// Distance from pixel (N/2, N/2).
at::Tensor radius_px(std::int64_t size) {
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  return at::hypot(axis.unsqueeze(1), axis.unsqueeze(0));
}

double mean_square_radius(const at::Tensor& power) {
  return ((power * radius_px(power.size(0)).square()).sum() / power.sum()).item<double>();
}

double fraction_within(const at::Tensor& power, double radius) {
  const at::Tensor inside = (radius_px(power.size(0)) <= radius).to(at::kDouble);
  return ((power * inside).sum() / power.sum()).item<double>();
}

at::Tensor far_field(const at::Tensor& probe) {
  return at::fft_fftshift(at::fft_fft2(at::fft_ifftshift(probe[0].to(at::kComplexDouble))));
}

TEST(MakeProbe, CarriesThePhotonsAndSitsOnTheCentralPixel) {
  for (const std::string shape : kShapes)
    for (const std::int64_t size : {64, 128}) {
      ProbeOptions options = probe_of(shape, size);
      options.photons = 3e6;
      const at::Tensor probe = make_probe(options);
      ASSERT_EQ(probe.sizes(), (at::IntArrayRef{1, size, size}));
      ASSERT_EQ(probe.scalar_type(), at::kComplexFloat);
      const at::Tensor power = power_of(probe);
      EXPECT_NEAR(power.sum().item<double>(), 3e6, 3) << shape;
      const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
      EXPECT_NEAR(((power.sum(1) * axis).sum() / 3e6).item<double>(), 0, 1e-3) << shape;
      EXPECT_NEAR(((power.sum(0) * axis).sum() / 3e6).item<double>(), 0, 1e-3) << shape;
    }
}

TEST(MakeProbe, KeepsNinetyNinePerCentOfItsPowerWellInsideTheFrame) {
  for (const std::string shape : kShapes)
    EXPECT_GT(fraction_within(power_of(make_probe(probe_of(shape))), 0.3 * 64), 0.99) << shape;
}

TEST(DefocusedProbe, IsAboutAsWideAsItsDiameterAtDefocusOne) {
  const at::Tensor power = power_of(make_probe(probe_of("defocused")));
  EXPECT_LT(fraction_within(power, 10), 0.9);
  EXPECT_GT(fraction_within(power, 12.5), 0.9);
}

// The image of a round aperture of radius a is an Airy spot, 0.515 / a wide at half its height.
TEST(DefocusedProbe, IsAnAirySpotInFocus) {
  ProbeOptions options = probe_of("defocused");
  options.defocus = 0;
  const at::Tensor row = power_of(make_probe(options))[32] / power_of(make_probe(options)).max();
  const auto value = row.accessor<double, 1>();
  int last = 32;
  while (value[last + 1] > 0.5) ++last;
  const double beyond = (value[last] - 0.5) / (value[last] - value[last + 1]);
  EXPECT_NEAR(2 * (last - 32 + beyond), 0.515 / 0.25, 0.25);
}

// A ray of frequency q lands at defocus * q: <r^2> grows by defocus^2 <q^2>, with no cross term as
// the probe in focus is real.
TEST(DefocusedProbe, SpreadsAsRaysDo) {
  ProbeOptions options = probe_of("defocused", 128);
  options.defocus = 0;
  const at::Tensor focus = make_probe(options);
  const double mean_square_frequency =
      mean_square_radius(far_field(focus).abs().square()) / (128.0 * 128.0);
  const double path = 0.5 * options.diameter_px / 0.25;
  const double before = mean_square_radius(power_of(focus));
  for (const double defocus : {0.5, 1.0, 2.0}) {
    options.defocus = defocus;
    const double spread = std::pow(path * defocus, 2) * mean_square_frequency;
    EXPECT_NEAR(mean_square_radius(power_of(make_probe(options))), before + spread, 0.01 * spread);
  }
}

TEST(DefocusedProbe, OnTheOtherSideOfTheFocusIsItsConjugate) {
  ProbeOptions options = probe_of("defocused");
  const at::Tensor probe = make_probe(options);
  options.defocus = -1;
  EXPECT_TRUE(at::allclose(make_probe(options), probe.conj(), 1e-5, 1e-4));
}

TEST(DefocusedProbe, HasAFarFieldWhoseAmplitudeDoesNotKnowTheDefocus) {
  ProbeOptions options = probe_of("defocused");
  const at::Tensor one = far_field(make_probe(options)).abs();
  options.defocus = 1.2;
  EXPECT_TRUE(at::allclose(far_field(make_probe(options)).abs(), one, 1e-4, 1e-2));
}

TEST(GaussianProbe, FallsToOneOverEAtItsRadius) {
  ProbeOptions options = probe_of("gaussian");
  options.diameter_px = 20;
  const at::Tensor amplitude = power_of(make_probe(options)).sqrt();
  EXPECT_NEAR((amplitude[32][42] / amplitude[32][32]).item<double>(), std::exp(-1), 1e-5);
}

// A flat disc of radius a has <r^2> = a^2 / 2.
TEST(DiskProbe, IsFlatInsideItsDiameter) {
  const at::Tensor power = power_of(make_probe(probe_of("disk")));
  EXPECT_NEAR(power[32][40].item<double>() / power[32][32].item<double>(), 1, 1e-3);
  EXPECT_NEAR(mean_square_radius(power), 0.5 * 11 * 11, 4);
}

TEST(ZernikeProbe, WithoutAberrationsIsTheDefocusedOne) {
  EXPECT_TRUE(at::equal(make_probe(probe_of("zernike")), make_probe(probe_of("defocused"))));
}

// Noll 4 is sqrt(3) (2 rho^2 - 1) and defocus -pi path f^2, with rho = f / 0.25 and path = diameter
// / 0.5 at defocus 1.
TEST(ZernikeProbe, WithNollFourIsOutOfFocusByTheClosedForm) {
  ProbeOptions aberrated = probe_of("zernike"), defocused = probe_of("defocused");
  aberrated.zernike_rad = {-0.3};
  const double path = 2 * std::sqrt(3.0) * 0.3 / (M_PI * 0.25 * 0.25);
  defocused.defocus += path / (defocused.diameter_px / 0.5);
  const at::Tensor one = make_probe(aberrated)[0], other = make_probe(defocused)[0];
  EXPECT_GT((one.abs() - make_probe(probe_of("defocused"))[0].abs()).abs().max().item<double>(),
            0.5);
  EXPECT_LT(((one.abs() - other.abs()).norm() / other.norm()).item().toDouble(), 1e-5);
}

TEST(ZernikeProbe, HasTheFarFieldAmplitudeOfAPerfectLens) {
  ProbeOptions options = probe_of("zernike");
  options.zernike_rad = {0, 0.4, -0.2, 0.3, 0, 0.2, 0, 0.1};
  const at::Tensor probe = make_probe(options);
  EXPECT_TRUE(at::allclose(far_field(probe).abs(),
                           far_field(make_probe(probe_of("defocused"))).abs(), 1e-4, 1e-2));
  // Astigmatism: no longer the same along both diagonals.
  EXPECT_GT((power_of(probe) - power_of(probe).flip(0).roll(1, 0)).abs().max().item<double>(), 1);
}

TEST(ZernikeProbe, RefusesAberrationsThatThrowTheLightOutOfItsFrame) {
  ProbeOptions options = probe_of("zernike");
  options.zernike_rad = {30};
  EXPECT_THROW(make_probe(options), InvalidInput);
  options.zernike_rad = std::vector<double>(31, 0.0);
  EXPECT_THROW(make_probe(options), InvalidInput);
  options = probe_of("defocused");
  options.zernike_rad = {0.1};
  EXPECT_THROW(make_probe(options), InvalidInput);
}

TEST(PtychopinnProbe, IsTheDefaultProbeWithThePhotons) {
  const at::Tensor probe = make_probe(probe_of("ptychopinn"))[0], shape = default_probe(64);
  EXPECT_NEAR(power_of(probe.unsqueeze(0)).sum().item<double>(), 1e5, 0.1);
  const at::Tensor factor = at::real(probe).to(at::kDouble) / shape;
  EXPECT_LT(((factor - factor.mean()).abs().max() / factor.mean()).item<double>(), 1e-6);
}

TEST(MakeProbe, RefusesOptionsOutOfRange) {
  const auto refuses = [](auto change) {
    ProbeOptions options;
    change(options);
    EXPECT_THROW(make_probe(options), InvalidInput);
  };
  refuses([](ProbeOptions& options) { options.shape = "square"; });
  refuses([](ProbeOptions& options) { options.pattern_size = 63; });
  refuses([](ProbeOptions& options) { options.pattern_size = 0; });
  refuses([](ProbeOptions& options) { options.diameter_px = 33; });
  refuses([](ProbeOptions& options) { options.diameter_px = 1; });
  refuses([](ProbeOptions& options) { options.defocus = 1.5; });
  refuses([](ProbeOptions& options) { options.defocus = NAN; });
  refuses([](ProbeOptions& options) { options.photons = 0; });
}

TEST(Zernike, IsOrthonormalOverTheDisc) {
  const std::int64_t size = 400, count = 15;
  const at::Tensor axis = (at::arange(size, at::kDouble) + 0.5) / (0.5 * size) - 1;
  const at::Tensor radius = at::hypot(axis.unsqueeze(1), axis),
                   angle = at::atan2(axis.unsqueeze(1), axis);
  const at::Tensor inside = radius.le(1);
  std::vector<at::Tensor> rows;
  for (std::int64_t j = 1; j <= count; ++j)
    rows.push_back(zernike(j, radius, angle).masked_select(inside));
  const at::Tensor all = at::stack(rows);
  const at::Tensor gram = all.mm(all.t()) / inside.sum();
  EXPECT_LT((gram - at::eye(count, at::kDouble)).abs().max().item<double>(), 0.02);
}

// Noll's table I.
TEST(Zernike, HasNollsOrder) {
  const at::Tensor radius = at::full({1}, 0.7, at::kDouble),
                   angle = at::full({1}, 0.4, at::kDouble);
  const double r = 0.7, t = 0.4;
  const std::vector<double> expected = {1,
                                        2 * r * std::cos(t),
                                        2 * r * std::sin(t),
                                        std::sqrt(3) * (2 * r * r - 1),
                                        std::sqrt(6) * r * r * std::sin(2 * t),
                                        std::sqrt(6) * r * r * std::cos(2 * t),
                                        std::sqrt(8) * (3 * r * r * r - 2 * r) * std::sin(t),
                                        std::sqrt(8) * (3 * r * r * r - 2 * r) * std::cos(t),
                                        std::sqrt(8) * r * r * r * std::sin(3 * t),
                                        std::sqrt(8) * r * r * r * std::cos(3 * t),
                                        std::sqrt(5) * (6 * r * r * r * r - 6 * r * r + 1)};
  for (std::size_t j = 0; j < expected.size(); ++j)
    EXPECT_NEAR(zernike(static_cast<std::int64_t>(j) + 1, radius, angle).item<double>(),
                expected[j], 1e-12)
        << "Noll " << j + 1;
  EXPECT_THROW(zernike(0, radius, angle), InvalidInput);
}

}  // namespace
}  // namespace ptyche
