// The image of a scan without a choice of solvers: a chain that looks at the scan, tries what is
// worth trying on a few passes, keeps what foretells held-out patterns better, and stops when the
// image stands still.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/solve/kept_attempts.h"
#include "ptyche/solve/solve.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// What the chain does not choose by itself.
struct AutomaticOptions {
  bool fixed_probe = false;  ///< never move the probe
  IntensityFreedom intensities = IntensityFreedom::automatic;
  Interpolation interpolation = Interpolation::probe_fourier;
  std::uint64_t seed = 1;
  /// The start is an image that a solver has made of nearly all these patterns: where even the used
  /// ones contradict it, it need not stand still before more freedom is tried, from it.
  bool start_is_solved = false;
  /// (modes, N, N) the file's probe where a search has put it aside for the scan's; undefined = it
  /// has not. Without a start, a chain from it is tried.
  at::Tensor put_aside = {};
};

struct AutomaticResult {
  Reconstruction image;
  ChainEnd end = ChainEnd::done;  ///< interrupted: the best image so far
  std::vector<Attempt> attempts;  ///< in their order
  SolverOptions options = {};     ///< what the image was made with at last: a chain of one `lbfgs`
  /// Where the scan holds out none: the patterns (k) int64 that were set apart for the trials, and
  /// the image before they came back. Undefined where none were.
  at::Tensor set_apart = {};
  Reconstruction before_them = {};
  /// Used patterns (k) int64 that did not fit the image of the others, and were left out.
  at::Tensor left_out = at::empty({0}, at::kLong);
  at::Tensor first_probe = {};  ///< the file's, where the chain from it won; else undefined
  double seconds_before = 0;    ///< that the run had taken before it was resumed
};

/// Called with every image that is better than the one before.
using ImageWatch = std::function<void(const Reconstruction&)>;

/// From `start`, or a flat object and the scan's probe:
/// 1. an image: rPIE and L-BFGS with a background;
/// 2. where the prior matters and the used patterns do not contradict the image, trials of
/// kTrialPasses passes with other strengths, judged by the
///    held-out patterns (a twentieth of the used ones, set apart for the trials, where none are);
/// 3. L-BFGS until the image stands still;
///    the same from the file's probe where another was found, kept if held-out patterns are
///    foretold better;
///    used patterns that then do not fit at all are left out, and the chain begins anew, kept if
///    held-out patterns are foretold better;
/// 4. unless the held-out patterns are explained: where even the used ones contradict the image,
///    mini-batches with modes and positions from the beginning; where that is no better, or they do
///    not, whole chains with other choices, kept where they foretell held-out patterns better:
///    probe modes; modes and positions; the same from the difference map where the fit is poor;
///    more passes where there is much light;
/// 5. the patterns that were set apart come back for the last passes.
/// With fewer than few_photons counts a pattern instead of 1 to 4: L-BFGS from a flat object with
/// the probe held and a prior that is stiffer for the amplitude, then once with a background and
/// once with a free probe, which must foretell much better. Throws InvalidInput like `solve`.
/// With `keep` every attempt that has come to its end is kept, and the one under way every half
/// minute and on Ctrl-C: resumed on the same number of threads it comes to the same image, bit for
/// bit. Throws InvalidInput for a folder of another run.
AutomaticResult solve_automatically(const Scan& scan, const std::optional<Reconstruction>& start,
                                    const AutomaticOptions& options = {},
                                    const ImageWatch& better = {}, const KeepOptions& keep = {});

/// Its image alone. Throws Interrupted after Ctrl-C, InvalidInput where the chain diverges.
Reconstruction automatic_image(const Scan& scan, const AutomaticOptions& options = {});

/// Counts a pattern below which they are few: 5000, and more where the file gives a probe that lies
/// on more than 400 object pixels, in proportion: it is light on a pixel that an image is made of.
/// A probe that was found is not held so early: it is seldom good enough.
///   probe  (modes, N, N) complex64
double few_photons(const at::Tensor& probe, bool given);

inline constexpr std::int64_t kTrialPasses = 8;

}  // namespace ptyche
