// What solvers do for the network: its first probe, and from its image to a better one.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// How the probe is found that training begins with.
struct FirstProbeOptions {
  std::int64_t epochs = 30;  ///< passes over the used patterns, >= 1
  std::uint64_t seed = 1;
};

/// The probe (modes, N, N) of the chain `rpie` from a flat object and the scan's probe. Throws
/// Interrupted after Ctrl-C, and InvalidInput as solve does.
at::Tensor first_probe(const Scan& scan, const FirstProbeOptions& options = {});

/// Passes over so many patterns that `how` asks for: "none" 0, "auto" at least kFewestPasses and,
/// in small scans, as many as make kEnoughSteps steps, else the number. Throws InvalidInput for
/// another text.
std::int64_t refine_passes(const std::string& how, std::int64_t patterns);
inline constexpr std::int64_t kFewestPasses = 20, kMostPasses = 200, kEnoughSteps = 600;

struct RefineOptions {
  std::int64_t passes = kFewestPasses;  ///< 0 = the image as it is
  bool fixed_probe = false, background = true;
  std::uint64_t seed = 1;
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
/// InterruptedRefinement after Ctrl-C.
Reconstruction refine(const Scan& scan, const Reconstruction& image,
                      const RefineOptions& options = {});

}  // namespace ptyche
