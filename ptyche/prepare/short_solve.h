// Short solves of the middle of a scan, by which starts are told apart before the whole is solved.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// Explained by a solve of which little is wrong.
inline constexpr double kMostlyExplained = 0.5;

/// Numbers (k) int64 of at most `most` used patterns, those nearest to the middle of the scan
/// first; all of them where there are hardly more.
at::Tensor middle_frames(const Scan& scan, std::int64_t most);

/// At most `most` used patterns around the middle of the scan, all of them where there are hardly
/// more; one in eight is held out. Without truth.
Scan middle_of(const Scan& scan, std::int64_t most);

struct ShortSolve {
  HeldOutFit fit;
  Reconstruction image;  ///< with the refined probe
};

/// A chain from `probe` (modes, N, N), complex and of any power, and a flat object; says nothing.
/// Nothing where it diverges, is interrupted or cannot be run on such a scan.
std::optional<ShortSolve> solve_shortly(const Scan& scan, const at::Tensor& probe,
                                        const Chain& chain);

/// The same with all options of a solver.
std::optional<ShortSolve> solve_shortly(const Scan& scan, const at::Tensor& probe,
                                        SolverOptions options);

}  // namespace ptyche
