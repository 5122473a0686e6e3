#include "ptyche/solve/refine.h"

#include <algorithm>
#include <charconv>

#include "ptyche/core/error.h"
#include "ptyche/solve/solve.h"

namespace ptyche {
namespace {

constexpr std::int64_t kModes = 3, kBatch = 16;
// Short ones: the network's image is near, and what longer steps undo, 20 passes do not bring back
// (demo scan, error over contrast: network .20, these .08, those of a cold start .33).
constexpr const char *kObjectStep = "0.02", *kProbeStep = "0.02";

}  // namespace

std::int64_t refine_passes(const std::string& how, std::int64_t patterns) {
  if (how == "none") return 0;
  if (how == "auto")
    return std::clamp(kEnoughSteps * kBatch / std::max<std::int64_t>(patterns, 1), kFewestPasses,
                      kMostPasses);
  std::int64_t passes = 0;
  const auto [end, error] = std::from_chars(how.data(), how.data() + how.size(), passes);
  require(error == std::errc() && end == how.data() + how.size() && passes >= 1,
          "--refine: expected none, auto or a number of passes, found {}", how);
  return passes;
}

Reconstruction refine(const Scan& scan, const Reconstruction& image, const RefineOptions& how,
                      const SolverWatch& keep) {
  if (how.passes == 0) return image;
  SolverOptions options;
  options.chain = {{"ml", how.passes}};
  options.fixed_probe = how.fixed_probe;
  options.modes = how.fixed_probe ? image.modes() : std::max(kModes, image.modes());
  options.background = how.background;
  options.intensities = how.intensities;
  options.positions = PositionFreedom::jitter;
  options.seed = how.seed;
  options.device = how.device;
  set_option(options, "object-step", kObjectStep);
  set_option(options, "probe-step", kProbeStep);
  set_option(options, "batch", std::to_string(kBatch));
  const SolveResult result = solve(scan, image, options, keep);
  if (result.end == ChainEnd::interrupted) throw InterruptedRefinement(result.image);
  return result.image;
}

}  // namespace ptyche
