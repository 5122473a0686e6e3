// The verdict on an image: good, doubtful or failed, and the error that it is expected to have.
// Held-out patterns ask whether the patterns are described; a verdict asks whether they could be
// described by another image just as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/verdict.h"
#include "ptyche/solve/automatic.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

struct JudgeOptions {
  /// What the image was made with: modes, background, positions, probe and the prior of `lbfgs`
  /// (the defaults where the chain has none) are those of the further solves.
  SolverOptions solver;
  bool converged = true;  ///< the image is one of `lbfgs` to its end: nothing is solved beside it
  /// Start the further solves from the image's probe: where the scan's was not what it began with.
  bool own_probe = false;
  /// A reason, told before the solve, why the image may be wrong however well it describes the
  /// patterns: it is not called good. Empty = none.
  std::string doubt = {};
  /// Where the scan holds out none: patterns (k) that `before_them` has not seen.
  at::Tensor set_apart = {};
  Reconstruction before_them = {};
};

/// Those of a result of the automatic chain.
JudgeOptions judge_options(const AutomaticResult& result);

/// Two further solves, of at most judged_patterns used patterns around the scan's middle:
/// from another start (`dm`, then `lbfgs`), and of the image's own patterns drawn anew with photon
/// noise, from the scan's probe and a flat object. Where the image is not `converged`, a third that
/// both are compared with, and its distance from the image adds in quadrature. Misfit and `told`
/// (evaluate/description.h) are the image's own, and those of the redrawn patterns' image beside
/// them, for which the model is right. Throws InvalidInput like `solve`, Interrupted after
/// Ctrl-C.
Verdict judge(const Scan& scan, const Reconstruction& image, const JudgeOptions& options);

/// The error over the contrast that the evidence foretells,
///
///     sqrt(starts^2 + again^2)^.8 (1 - told)^(1/6) share^(1/6),
///
/// `starts` from .02 to .8, and no more than `again` where `told` is below .4, `again` at least
/// .02, 1 - told at least .005, share at least .2; `beside` adds in quadrature. At most 1, that of
/// a flat image, which is also expected where no image comes again (1.2 or more). Fitted, see
/// docs/verdict.md.
double expected_error(const VerdictEvidence& evidence);

/// Word, range and reasons of the evidence; with a doubt at best doubtful.
Verdict verdict_of(const VerdictEvidence& evidence, const std::string& doubt = {});

/// The patterns that `image` foretells for `frames` (k) int64 of `scan`, scaled to the measured
/// total and drawn anew with photon noise: (k, N, N) counts as a Scan holds them.
at::Tensor redrawn(const Scan& scan, const Reconstruction& image, const at::Tensor& frames);

/// The scan with other counts (n, N, N).
Scan with_counts(const Scan& scan, const at::Tensor& counts);

/// Used patterns that the further solves take at most, of N x N pixels: 8192 / N, at least 64; up
/// to four times as many where fewer cover less than 32 x 32 pixels, for nearly all of that is rim.
///   positions  (k, 2) float64, of those around the middle, by whose median step, or whose area
///   where
///              positions are repeated, that is told; fewer than two tell nothing
std::int64_t judged_patterns(std::int64_t pattern_size, const at::Tensor& positions);

}  // namespace ptyche
