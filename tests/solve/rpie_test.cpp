#include "ptyche/solve/rpie.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "tests/support/checks.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(Rpie, ExplainsTheCountsFarBetterThanTheFlatObjectItStartsFrom) {
  const Scan scan = small_scan();
  const Reconstruction image = rpie(scan, flat(scan), {.epochs = 20, .probe_step = 0});
  EXPECT_LT(r_factor(image, scan), 0.2 * r_factor(flat(scan), scan));
}

TEST(Rpie, BringsAWrongProbeBackTowardsTheTrueOne) {
  const Scan scan = small_scan();
  const at::Tensor axis = at::arange(16, at::kFloat) - 8;
  const at::Tensor defocus = 0.03 * (axis.square().unsqueeze(1) + axis.square());
  const Scan start = scan.with_probe(scan.probe() * at::polar(at::ones_like(defocus), defocus));
  const Reconstruction kept = rpie(start, flat(start), {.epochs = 20, .probe_step = 0});
  const Reconstruction refined = rpie(start, flat(start), {.epochs = 20, .probe_step = 1});
  EXPECT_LT(r_factor(refined, start), 0.7 * r_factor(kept, start));
}

TEST(Rpie, IsTheSameForTheSameSeed) {
  const Scan scan = small_scan();
  const RpieOptions options{.epochs = 2, .seed = 5};
  EXPECT_TRUE(
      at::equal(rpie(scan, flat(scan), options).object, rpie(scan, flat(scan), options).object));
}

TEST(Rpie, DoesNotLookAtMaskedPixelsOrHeldOutPatterns) {
  const Scan scan = small_scan();
  at::Tensor mask = at::ones({16, 16}, at::kBool), use = scan.frame_use().clone();
  mask[8][8] = false;
  use[4] = static_cast<std::int64_t>(FrameUse::held_out);
  const auto run = [&](double at_masked, double in_held_out) {
    at::Tensor counts = scan.counts().clone();
    counts.select(1, 8).select(1, 8).fill_(at_masked);
    counts[4].fill_(in_held_out);
    ScanFields fields = scan.fields();
    fields.counts = counts;
    fields.mask = mask;
    fields.frame_use = use;
    const Scan changed(fields);
    return rpie(changed, flat(changed), {.epochs = 2}).object;
  };
  EXPECT_TRUE(at::equal(run(0, 1), run(500, 3)));
}

TEST(Rpie, RefusesAStepOutOfRange) {
  const Scan scan = small_scan();
  EXPECT_THROW(rpie(scan, flat(scan), {.epochs = 1, .object_step = 1.5}), InvalidInput);
  EXPECT_THROW(rpie(scan, flat(scan), {.epochs = 0}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
