#include "ptyche/solve/solve.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <system_error>

#include "ptyche/core/error.h"
#include "ptyche/core/interrupt.h"
#include "ptyche/core/log.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/stopwatch.h"
#include "ptyche/evaluate/data_fit.h"
#include "ptyche/solve/chain_state.h"
#include "ptyche/solve/probe_modes.h"
#include "ptyche/solve/solver_state.h"

namespace ptyche {
namespace {

constexpr double kCheckpointSeconds = 30;
constexpr double kDivergence = 4;  // times the least loss of the link
// Loss per photon, about what the mean pattern leaves over. A link that begins with an image that
// fits better may undo that for a while: its first steps are its longest.
constexpr double kPoorFit = 0.25;
constexpr std::int64_t kGlance = 64;  // patterns that tell how good the start of a link is
constexpr std::int64_t kPassesBeforeModes = 3;
constexpr std::size_t kPlateauPasses = 10;

std::int64_t passes_of(const std::vector<ChainLink>& chain) {
  std::int64_t passes = 0;
  for (const ChainLink& link : chain) passes += link.epochs;
  return passes;
}

/// One run of `solve`.
class ChainRun {
 public:
  ChainRun(const Scan& scan, const std::optional<Reconstruction>& start,
           const SolverOptions& options, const SolverWatch& watch)
      : problem_(make_problem(scan, options, start)),
        watch_(watch),
        key_(chain_key(problem_, start)),
        has_start_(start.has_value()),
        progress_("solve", passes_of(options.chain), "patterns") {
    const bool goes_on =
        watch.resume && !watch.checkpoint.empty() && std::filesystem::exists(watch.checkpoint);
    if (!goes_on) {
      if (watch.resume) note("no checkpoint {}: the solvers start anew", watch.checkpoint.string());
      chain_.state = start_state(problem_, start);
      return;
    }
    chain_ = read_chain(watch.checkpoint, problem_, key_);
    note("resumed from {} at pass {}", watch.checkpoint.string(), chain_.total + 1);
  }

  SolveResult run() {
    while (chain_.link < links().size()) {
      if (!chain_.solver) chain_.solver = make_solver(link().solver);
      if (!pass()) return finish(ChainEnd::diverged);
      if (interrupted() || (watch_.stop && watch_.stop(chain_.total)))
        return finish(ChainEnd::interrupted);
      checkpoint_now_and_then();
    }
    std::error_code left;  // a file too many is no reason to lose the image
    if (!watch_.checkpoint.empty()) std::filesystem::remove(watch_.checkpoint, left);
    return finish(ChainEnd::done);
  }

 private:
  const std::vector<ChainLink>& links() const { return problem_.options.chain; }
  const ChainLink& link() const { return links()[chain_.link]; }

  /// False if the solver has diverged; then the state is the best one again.
  bool pass() {
    add_modes();
    const SolverState before = chain_.state.clone();
    const double loss =
        chain_.solver->pass(problem_, chain_.state, {chain_.epoch, link().epochs, chain_.total}) /
        problem_.photons;
    const double least = chain_.has_best ? chain_.best_loss : loss_at_start(before);
    if (!std::isfinite(loss) || loss > kDivergence * std::max(least, kPoorFit)) {
      require(
          chain_.total > 0 || (has_start_ && std::isfinite(least)),
          "{} diverged in its first pass (loss {:.4g} per photon after {:.4g}): there is no image "
          "to keep; the probe or the steps may be far too large",
          link().solver, loss, least);
      warn("{} diverged in pass {} (loss {:.4g} per photon after {:.4g}); the best state is kept",
           link().solver, chain_.total + 1, loss, least);
      if (chain_.has_best)
        chain_.state = chain_.best;
      else
        chain_.state = before;
      return false;
    }
    keep_if_best(before, loss);
    advance(loss);
    return true;
  }

  /// Per photon, of a few patterns.
  double loss_at_start(const SolverState& state) const {
    const std::int64_t few = std::min(kGlance, problem_.patterns());
    const at::Tensor batch = at::arange(few) * problem_.patterns() / few;
    const double share = static_cast<double>(few) / static_cast<double>(problem_.patterns());
    const double loss = gradient(problem_, state, batch.to(at::kLong)).loss;
    return loss / (share * problem_.photons);
  }

  void add_modes() {
    const std::int64_t wait = std::min(kPassesBeforeModes, passes_of(links()) / 10);
    const SolverOptions& options = problem_.options;
    // A probe that is kept, or that has more modes already, keeps its own.
    if (options.fixed_probe || chain_.total < wait || chain_.state.probe.size(0) >= options.modes)
      return;
    chain_.state.probe = with_modes(chain_.state.probe, options.modes, options.mode_power);
    chain_.has_best = false;  // new modes make the fit worse before they make it better
  }

  void keep_if_best(const SolverState& before, double loss) {
    if (chain_.has_best && loss >= chain_.best_loss) return;
    chain_.best = before;
    chain_.best_loss = loss;
    chain_.has_best = true;
  }

  void advance(double loss) {
    chain_.losses.push_back(loss);
    ++chain_.total;
    ++chain_.epoch;
    ++chain_.stretch;
    progress_.step(chain_.total, chain_.total * problem_.patterns(),
                   fmt::format("{}  loss {:.5f}", link().solver, loss));
    const bool ends = chain_.epoch == link().epochs || (on_plateau() && !skips_passes());
    if (chain_.total % problem_.options.every == 0 || ends) look(loss);
    if (!ends) return;
    chain_.solver.reset();
    chain_.epoch = chain_.stretch = 0;
    chain_.has_best = false;
    ++chain_.link;
  }

  bool on_plateau() {
    const AtPlateau then_what = chain_.solver->at_plateau();
    // Loss that hardly falls at long steps still sharpens the image: ml:100 on the Siemens star
    // kept .707 of its spokes' modulation, and .698 cut short at the default.
    const bool asked_for = problem_.options.plateau > SolverOptions().plateau;
    if (problem_.options.plateau == 0 || then_what == AtPlateau::goes_on ||
        (then_what == AtPlateau::steps_fall && !asked_for) ||
        chain_.stretch < static_cast<std::int64_t>(2 * kPlateauPasses))
      return false;
    const auto last = chain_.losses.end();
    const double now = *std::min_element(last - kPlateauPasses, last);
    const double then = *std::min_element(last - 2 * kPlateauPasses, last - kPlateauPasses);
    return then - now <= problem_.options.plateau * std::abs(then);
  }

  /// On a plateau: half of the passes that are left where that makes the steps fall sooner. False
  /// if the link ends here.
  bool skips_passes() {
    const bool skips = chain_.solver->at_plateau() == AtPlateau::steps_fall;
    const std::int64_t skipped = skips ? (link().epochs - chain_.epoch) / 2 : 0;
    note("{}: on a plateau after {} passes; {}", link().solver, chain_.epoch,
         skips ? fmt::format("{} are skipped, so that its steps fall", skipped) : "it ends");
    chain_.epoch += skipped;
    chain_.stretch = 0;
    return skips;
  }

  void look(double loss) {
    SolverLook seen{.epoch = chain_.total,
                    .seconds = chain_.seconds + running_.seconds(),
                    .loss_per_photon = loss};
    const Reconstruction image = finished(problem_, chain_.state, chain_.losses);
    const at::Tensor held_out = problem_.scan.frames_with(FrameUse::held_out);
    if (held_out.size(0) > 0) {
      const DataFit fit = data_fit(image, problem_.scan, held_out, true);
      seen.held_out_r_factor = fit.r_factor;
      seen.held_out_deviance_per_photon = fit.deviance_per_photon;
      note("pass {} of {} ({}): held-out R {:.4f}, deviance per photon {:.5f}", chain_.total,
           passes_of(links()), link().solver, fit.r_factor, fit.deviance_per_photon);
    }
    chain_.looks.push_back(seen);
    if (watch_.look) watch_.look(image, seen);
  }

  void checkpoint_now_and_then() {
    if (watch_.checkpoint.empty() || chain_.link == links().size() ||
        since_save_.seconds() < kCheckpointSeconds)
      return;
    write_checkpoint();
  }

  /// What cannot be written is a warning: the work itself is not lost.
  void write_checkpoint() {
    if (!chain_.solver) chain_.solver = make_solver(link().solver);
    chain_.seconds += running_.seconds();
    running_ = Stopwatch();
    try {
      write_chain(watch_.checkpoint, chain_, key_);
    } catch (const std::exception& error) {
      warn("{}: the checkpoint could not be written, --resume cannot go on from here: {}",
           watch_.checkpoint.string(), error.what());
    }
    since_save_ = Stopwatch();
  }

  SolveResult finish(ChainEnd end) {
    if (end == ChainEnd::interrupted && chain_.link == links().size()) end = ChainEnd::done;
    if (end == ChainEnd::interrupted && !watch_.checkpoint.empty()) write_checkpoint();
    return {finished(problem_, chain_.state, chain_.losses), end, chain_.looks};
  }

  SolverProblem problem_;
  SolverWatch watch_;
  std::string key_;
  bool has_start_;
  ChainState chain_;
  Progress progress_;
  Stopwatch running_, since_save_;
};

}  // namespace

SolveResult solve(const Scan& scan, const std::optional<Reconstruction>& start,
                  const SolverOptions& options, const SolverWatch& watch) {
  const at::NoGradGuard no_grad;
  const CatchInterrupts catching;
  return ChainRun(scan, start, options, watch).run();
}

}  // namespace ptyche
