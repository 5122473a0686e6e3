// From the network's image to a better one by an iterative solver on the same physics.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/solve/solve.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// Passes over so many patterns that `how` asks for: "none" 0, "auto" at least kFewestPasses and,
/// in small scans, as many as make kEnoughSteps steps, else the number. Throws InvalidInput for
/// another text.
std::int64_t refine_passes(const std::string& how, std::int64_t patterns);
inline constexpr std::int64_t kFewestPasses = 20, kMostPasses = 200, kEnoughSteps = 600;

struct RefineOptions {
  std::int64_t passes = kFewestPasses;  ///< 0 = the image as it is
  bool fixed_probe = false, background = true;
  IntensityFreedom intensities = IntensityFreedom::automatic;
  std::uint64_t seed = 1;
  at::Device device = at::kCPU;  ///< where its solver works
};

/// Ctrl-C came; `image` is what the passes before it made.
class InterruptedRefinement : public Interrupted {
 public:
  explicit InterruptedRefinement(Reconstruction so_far)
      : Interrupted("stopped during the refinement"), image(std::move(so_far)) {}
  Reconstruction image;
};

/// Maximum likelihood (`ml`) from the image, its probe and background: at least three probe modes
/// unless the probe is fixed, and each pattern's own error of position. Throws
/// InterruptedRefinement after Ctrl-C. `keep` says where its state is kept, and whether it goes on
/// from there.
Reconstruction refine(const Scan& scan, const Reconstruction& image,
                      const RefineOptions& options = {}, const SolverWatch& keep = {});

}  // namespace ptyche
