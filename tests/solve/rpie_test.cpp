// rPIE, by which training finds its first probe.
#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/solve/refine.h"
#include "ptyche/solve/solve.h"
#include "tests/support/checks.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

Reconstruction rpie(const Scan& scan, std::int64_t epochs, double probe_step) {
  SolverOptions options;
  options.chain = {{"rpie", epochs}};
  options.fixed_probe = probe_step == 0;
  set_option(options, "probe-beta", fmt::format("{}", probe_step));
  return solve(scan, {}, options).image;
}

TEST(Rpie, ExplainsTheCountsFarBetterThanTheFlatObjectItStartsFrom) {
  const Scan scan = small_scan();
  EXPECT_LT(r_factor(rpie(scan, 20, 0), scan), 0.2 * r_factor(flat(scan), scan));
}

TEST(Rpie, BringsAWrongProbeBackTowardsTheTrueOne) {
  const Scan scan = small_scan();
  const at::Tensor axis = at::arange(16, at::kFloat) - 8;
  const at::Tensor defocus = 0.03 * (axis.square().unsqueeze(1) + axis.square());
  const Scan start = scan.with_probe(scan.probe() * at::polar(at::ones_like(defocus), defocus));
  EXPECT_LT(r_factor(rpie(start, 20, 1), start), 0.7 * r_factor(rpie(start, 20, 0), start));
}

TEST(FirstProbe, IsTheSameForTheSameSeed) {
  const Scan scan = small_scan();
  const FirstProbeOptions options{.epochs = 2, .seed = 5};
  EXPECT_TRUE(at::equal(first_probe(scan, options), first_probe(scan, options)));
  EXPECT_FALSE(at::equal(first_probe(scan, options), scan.probe()));
}

TEST(FirstProbe, DoesNotLookAtMaskedPixelsOrHeldOutPatterns) {
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
    return first_probe(Scan(fields), {.epochs = 4});
  };
  EXPECT_TRUE(at::equal(run(0, 1), run(500, 3)));
}

TEST(Rpie, RefusesAStepOutOfRange) {
  EXPECT_THROW(rpie(small_scan(), 1, 1.5), InvalidInput);
  EXPECT_THROW(rpie(small_scan(), 0, 1), InvalidInput);
}

}  // namespace
}  // namespace ptyche
