#include "ptyche/engine/tilts.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/engine/reference/reference.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {
namespace {

struct TiltCase {
  std::int64_t size = 16, modes = 1;
  bool background = false, intensities = false, masked = false;
};

struct TiltScan {
  at::Tensor object, probe, corners;
  Measured measured;
};

constexpr std::int64_t kPatterns = 5;

TiltScan made(const TiltCase& given, at::ScalarType type) {
  at::manual_seed(3);
  const std::int64_t size = given.size;
  TiltScan scan{
      .object = at::randn({2 * size, 2 * size + 6}, at::dtype(type)),
      .probe = at::randn({given.modes, size, size}, at::dtype(type)),
      .corners = 2 + at::rand({kPatterns, 2}, at::kDouble) * static_cast<double>(size - 5),
      .measured = {.counts = 30 * at::rand({kPatterns, size, size}),
                   .mask = at::ones({size, size}, at::kBool),
                   .background = {}}};
  if (given.background) scan.measured.background = at::rand({size, size});
  if (given.intensities) scan.measured.intensities = 0.5 + at::rand({kPatterns});
  if (given.masked) scan.measured.mask = at::rand({size, size}).gt(0.2);
  return scan;
}

CanvasLayout layout_of(const TiltScan& scan) {
  return lay_on_object(scan.corners, scan.probe.size(-1),
                       {scan.object.size(0), scan.object.size(1)}, Interpolation::probe_fourier);
}

double off(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).abs().max() / expected.abs().max()).item<double>();
}

void expect_those_of_the_reference(const TiltScan& scan, double within) {
  const Tilts found = exit_tilts(scan.object, scan.probe, scan.corners, scan.measured);
  const Tilts plain =
      reference::exit_tilts(scan.object, scan.probe, layout_of(scan), scan.measured);
  EXPECT_LE(off(found.asked, plain.asked), within);
  EXPECT_LE(off(found.power, plain.power), within);
  EXPECT_LE(off(found.light, plain.light), within);
}

TEST(ExitTilts, AreThoseOfTheReferenceEngine) {
  for (const TiltCase& given :
       {TiltCase{}, TiltCase{.size = 30, .modes = 3, .background = true},
        TiltCase{.size = 22, .modes = 2, .intensities = true, .masked = true},
        TiltCase{.size = 64, .background = true, .intensities = true, .masked = true}})
    for (const auto& [type, within] :
         {std::pair{at::kComplexDouble, 1e-11}, std::pair{at::kComplexFloat, 2e-4}}) {
      SCOPED_TRACE(given.size);
      expect_those_of_the_reference(made(given, type), within);
    }
}

TEST(ExitTilts, DoNotSeeWhatStandsUnderTheMask) {
  const TiltScan clean = made({.background = true, .masked = true}, at::kComplexFloat);
  TiltScan spoilt = clean;
  const at::Tensor hidden = clean.measured.mask.logical_not();
  for (at::Tensor* values : {&spoilt.measured.counts, &spoilt.measured.background})
    *values = values->masked_fill(hidden, std::numeric_limits<double>::quiet_NaN());
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    const auto of = [&](const TiltScan& scan) {
      return exit_tilts(scan.object, scan.probe, scan.corners, scan.measured, engine);
    };
    EXPECT_TRUE(at::equal(of(spoilt).asked, of(clean).asked));
    EXPECT_TRUE(at::equal(of(spoilt).power, of(clean).power));
  }
}

/// The exit waves of a ramp are tilted ones, of whose patterns each asks for that tilt.
TEST(ExitTilts, AskForTheRampByWhichTheCountsDiffer) {
  for (const double ramp : {1e-4, -2e-4}) {
    TiltScan scan = made({.size = 32, .modes = 2}, at::kComplexDouble);
    const at::Tensor rows = at::arange(scan.object.size(0), at::kDouble).unsqueeze(1);
    const at::Tensor ramped = scan.object * at::polar(at::ones_like(rows), ramp * rows);
    const CanvasLayout layout = layout_of(scan);
    scan.measured.counts =
        predict_intensity(ramped.unsqueeze(0), scan.probe, layout, {}, FarField{});
    const Tilts found = exit_tilts(scan.object, scan.probe, scan.corners, scan.measured);
    const at::Tensor tilt = found.asked / found.power;
    EXPECT_LT((tilt.select(1, 0) - ramp).abs().max().item<double>(), 0.1 * std::abs(ramp));
    EXPECT_LT(tilt.select(1, 1).abs().max().item<double>(), 0.3 * std::abs(ramp));
  }
}

TEST(ExitTilts, OfASizeWithoutAFastTransformAreThoseOfTheReferenceEngine) {
  expect_those_of_the_reference(made({.size = 2 * 521}, at::kComplexFloat), 0);
}

TEST(ExitTilts, RefuseAPatternThatLeavesTheObject) {
  TiltScan scan = made({}, at::kComplexFloat);
  scan.corners = scan.corners + 40;
  EXPECT_THROW(exit_tilts(scan.object, scan.probe, scan.corners, scan.measured), InvalidInput);
}

TEST(ExitTilts, AreTheSameForAnyNumberOfThreads) {
  const TiltScan scan = made({.size = 32, .modes = 2, .masked = true}, at::kComplexFloat);
  const int threads = at::get_num_threads();
  std::vector<Tilts> found;
  for (const int number : {1, 3}) {
    at::set_num_threads(number);
    found.push_back(exit_tilts(scan.object, scan.probe, scan.corners, scan.measured));
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(found[0].asked, found[1].asked));
  EXPECT_TRUE(at::equal(found[0].light, found[1].light));
}

TEST(ExitTilts, RefuseAnObjectOrCornersOfAnotherKind) {
  const TiltScan scan = made({}, at::kComplexFloat);
  const at::Tensor real = at::real(scan.object), flat = scan.object.flatten();
  for (const at::Tensor& object : {real, flat})
    EXPECT_THROW(exit_tilts(object, scan.probe, scan.corners, scan.measured), InvalidInput);
  const at::Tensor three = at::cat({scan.corners, scan.corners.narrow(1, 0, 1)}, 1);
  for (const at::Tensor& corners : {three, scan.corners.flatten()})
    EXPECT_THROW(exit_tilts(scan.object, scan.probe, corners, scan.measured), InvalidInput);
}

TEST(ExitTilts, RefuseCountsOfAnotherShape) {
  TiltScan scan = made({}, at::kComplexFloat);
  scan.measured.counts = scan.measured.counts.narrow(0, 1, 2);
  EXPECT_THROW(exit_tilts(scan.object, scan.probe, scan.corners, scan.measured), InvalidInput);
}

}  // namespace
}  // namespace ptyche
