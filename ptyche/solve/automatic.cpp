#include "ptyche/solve/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/description.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/problem.h"

namespace ptyche {
namespace {

constexpr std::int64_t kEnoughToTry = 20;  // used patterns; fewer are not worth a hold-out
constexpr std::int64_t kOneIn = 20;  // used patterns is set apart where the scan holds out none
/// What an option must gain on the trial's passes: a share of what is above the noise, and a share
/// of the noise itself.
struct Margin {
  double above_noise = 0, noise = 0;
};
// On 17 simulated scans a prior twice as strong made the image better where it won 13 % or more and
// worse where it won 9 % or less.
constexpr Margin kOfPrior{0.11, 0};
constexpr Margin kOfFreedom{0, 0.005};
// With few photons a free probe fits what the prior should have held: on 36 simulated scans the
// image was better where it won 23 % or more, worse four times where it won 6 to 13 %.
constexpr Margin kOfFreeProbe{0, 0.15};
// With more, a file's probe that is nearly right is still better than what can be found: on five
// scans of 1e4 photons the image was better where it won 1.1 % or more, worse where it won .5 %.
constexpr Margin kOfHeldProbe{0, 0.01};
// Deviance of held-out patterns over that of the noise below which modes and positions gained
// nothing in 24 simulated scans (five of them, 1.03 to 1.09).
constexpr double kExplained = 1.1;
// Deviance of the used patterns over that of the noise: at most .99 in 24 simulated scans once the
// image is still, for it fits some of the noise; 1.2 and 2.0 in a measured one, at two sizes.
constexpr double kMisfit = 1.1;
// Patterns of all passes, in batches of 16, by which `ml` comes to its image, and those passes.
constexpr std::int64_t kBatchPatterns = 700 * 16, kLeastBatchPasses = 25, kMostBatchPasses = 100;
constexpr double kLongObjectStep = 0.1;
constexpr double kPoor = 3;  // times the deviance of photon noise: perhaps a false minimum
constexpr double kPriorMatters = 0.1;  // its curvature over that of the light
constexpr double kSlope = 0.1;         // of the prior, see add_smoothness
// A prior that spares edges can be stiffer between them; both by 12 simulated scans, the `tune`
// half of `./run bench defaults`.
constexpr double kEdge = 0.06, kSlopeBetweenEdges = 0.7, kSlopeAnew = 0.35;
constexpr std::int64_t kModes = 3;
constexpr std::int64_t kMostPasses = 40;
constexpr double kStill = 0.02, kStillInMuchLight = 0.003;
// Passes in much light: so many that a small scan comes out of a false minimum (leaves, 1e6
// photons: error .107 after 60, .057 after 100), in a large one no more than these patterns cost.
constexpr std::int64_t kMostPolish = 100, kLeastPolish = 30, kPolishPatterns = 20'000;
constexpr Margin kAnything{};
constexpr int kMostLooks = 4;
constexpr std::int64_t kNever = 1'000'000;  // passes between evaluations that nobody looks at

/// What a trial may change.
struct Choice {
  double slope = kSlope;
  std::int64_t modes = 1;
  PositionFreedom positions = PositionFreedom::none;
  bool fixed_probe = false, background = true;
  double stiffness = 1, edge = 0;  ///< of the prior
  double still = kStill;
  bool holds_positions = false;  ///< as the image from which it begins has them
  bool slow_phase = true;        ///< corrected before L-BFGS begins
};

/// Where photons are few: the file's probe as it is, no background that stands in for what is not
/// known, and a strength of the prior that follows from the light, for held-out patterns ask for
/// too weak ones: .14 and .19 at 3000 and 1000 counts where 5000 are few, .2 at most.
///   share  of the counts below which they are few, 0..1
Choice choice_for_few(double share) {
  return {.slope = std::min(2 * kSlope, kSlope * std::pow(2 / share, 0.28)),
          .fixed_probe = true,
          .background = false,
          .stiffness = 3,
          .slow_phase = false};
}

struct Candidate {
  Choice choice;
  Reconstruction image;
  ChainEnd end = ChainEnd::done;
  DataFit fit;
  double misfit = 0;        ///< deviance of the used patterns over that of the noise
  std::int64_t number = 0;  ///< in KeptAttempts
};

/// The scan in which some patterns are held out, for trials to be judged.
Scan with_hold_out(const Scan& scan) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  if (scan.frames_with(FrameUse::held_out).size(0) > 0 || used.size(0) < kEnoughToTry) return scan;
  at::Tensor use = scan.frame_use().clone();
  use.index_fill_(0, used.slice(0, kOneIn / 2, {}, kOneIn), static_cast<int>(FrameUse::held_out));
  return scan.with_frame_use(use);
}

/// The scan with patterns (k) int64 that are not used for anything.
Scan without(const Scan& scan, const at::Tensor& frames) {
  return scan.with_frame_use(
      scan.frame_use().index_fill(0, frames, static_cast<int>(FrameUse::rejected)));
}

double misfit_of(const Reconstruction& image, const Scan& scan) {
  const DataFit fit = data_fit(image, scan, scan.frames_with(FrameUse::used), true);
  return fit.deviance_per_photon / std::max(fit.deviance_per_photon_floor, 1e-30);
}

RunKey key_of_run(const Scan& scan, const std::optional<Reconstruction>& start,
                  const AutomaticOptions& options) {
  RunKey key = run_key(make_problem(scan, {}), start);
  key.options = {{"fixed-probe", options.fixed_probe ? "true" : "false"},
                 {"intensities", fmt::format("{}", static_cast<int>(options.intensities))},
                 {"interpolation", to_string(options.interpolation)},
                 {"seed", fmt::format("{}", options.seed)},
                 {"start-is-solved", options.start_is_solved ? "true" : "false"}};
  return key;
}

class Automatic {
 public:
  Automatic(const Scan& scan, const std::optional<Reconstruction>& start,
            const AutomaticOptions& options, const ImageWatch& better, const KeepOptions& keep)
      : whole_(scan),
        scan_(with_hold_out(scan)),
        options_(options),
        better_(better),
        kept_(keep, scan, keep.folder.empty() ? RunKey{} : key_of_run(scan_, start, options)) {}

  AutomaticResult run(const std::optional<Reconstruction>& start) {
    const SolverProblem problem = make_problem(scan_, {});
    const double counts = problem.photons / static_cast<double>(problem.patterns());
    const double share =
        counts / few_photons(start_state(problem, start).probe, scan_.probe_given());
    const bool few = share < 1;
    if (few) held_ = choice_for_few(share);
    detail("{:.3g} counts a pattern: {}", counts,
           few ? "few, so the probe is held at first" : "enough to find probe and background");
    begin(start, few);
    if (goes_on() && few) try_a_background(start);
    if (goes_on() && few && !options_.fixed_probe) try_a_free_probe(start);
    const bool dim = prior_matters(problem, counts);
    if (goes_on() && !few && dim && !has_faults()) try_slopes();
    if (goes_on() && !few && !(options_.start_is_solved && has_faults())) go_on_until_still();
    if (goes_on() && !few) leave_out_misfits(start);
    if (goes_on() && !few && !has_faults()) try_edges(start);
    if (goes_on() && !few && !explains_all() && !has_faults()) try_a_held_probe(start);
    if (goes_on() && !few && !explains_all()) give_freedom(start);
    if (goes_on() && !dim) polish();
    AutomaticResult result;
    if (goes_on()) give_back(result);
    result.options = options_for(best_.choice, {{"lbfgs", kMostPasses}});
    result.end = best_.end;
    result.image = std::move(best_.image);
    result.image.loss = std::move(loss_);
    result.attempts = std::move(attempts_);
    result.left_out = left_out_;
    result.seconds_before = seconds_before_;
    return result;
  }

 private:
  bool goes_on() const { return best_.end == ChainEnd::done; }

  /// Whether even the patterns that the image was made of contradict it, by more than noise does.
  bool has_faults() const { return best_.misfit > kMisfit; }

  bool explains_all() const {
    return best_.fit.deviance_per_photon <= kExplained * best_.fit.deviance_per_photon_floor;
  }

  /// Whether strengths of the prior are worth a trial.
  static bool prior_matters(const SolverProblem& problem, double counts) {
    const SolverState state = start_state(problem, {});
    const double light =
        mean_light(problem, state) * counts / std::max(probe_power(state.probe), 1e-30);
    return smoothness_curvature(kSlope) > kPriorMatters * 2 * light;
  }

  /// What the first image said of the beam holds for all later ones: they do not know it better,
  /// for a chain whose probe is free explains changes away, and one that begins anew takes what it
  /// has not yet explained for a change (leaves, 1.8e3 counts: 14 %, error .58 -> .77).
  IntensityFreedom intensities() const {
    const bool automatic = options_.intensities == IntensityFreedom::automatic;
    if (!automatic || !best_.image.object.defined()) return options_.intensities;
    return best_.image.intensities.defined() ? IntensityFreedom::on : IntensityFreedom::off;
  }

  SolverOptions options_for(const Choice& choice, const Chain& chain) const {
    SolverOptions options{
        .chain = chain,
        .modes = choice.modes,
        .fixed_probe = options_.fixed_probe || choice.fixed_probe,
        .background = choice.background,
        .positions = choice.holds_positions ? PositionFreedom::none : choice.positions,
        .intensities = intensities(),
        .interpolation = options_.interpolation,
        .every = kNever,
        .seed = options_.seed};
    set_if_looked_at(options, "object-slope", choice.slope);
    set_if_looked_at(options, "amplitude-stiffness", choice.stiffness);
    set_if_looked_at(options, "object-edge", choice.edge);
    set_if_looked_at(options, "still", choice.still);
    set_if_looked_at(options, "slow-phase", choice.slow_phase ? 1 : 0);
    set_if_looked_at(options, "object-step", kLongObjectStep);
    take_engine_for(scan_.pattern_size(), options);
    return options;
  }

  /// The scan with the positions that the start has found, where they are to be held.
  static Scan placed(const Scan& scan, const Choice& choice,
                     const std::optional<Reconstruction>& start) {
    return choice.holds_positions && start && start->positions.defined()
               ? scan.with_positions(start->positions)
               : scan;
  }

  /// Runs the chain, or finds what an earlier run has kept of it; what came of it is written down,
  /// but is not the best image yet.
  Candidate attempt(const std::string& what, const Scan& scan, const Choice& choice,
                    const Chain& chain, const std::optional<Reconstruction>& start) {
    const std::int64_t number = number_++;
    KeptAttempt done;
    if (const auto found = kept_.find(number, what)) {
      done = *found;
      seconds_before_ += done.seconds;
    } else {
      done = made(number, what, placed(scan, choice, start), options_for(choice, chain), start);
    }
    if (!done.refused.empty()) throw InvalidInput(done.refused);
    attempts_.push_back({.what = what,
                         .passes = done.passes,
                         .seconds = done.seconds,
                         .held_out_deviance = done.deviance});
    DataFit fit;
    fit.deviance_per_photon = done.deviance;
    fit.deviance_per_photon_floor = done.deviance_floor;
    return {choice, std::move(done.image), done.end, fit, done.misfit, number};
  }

  KeptAttempt made(std::int64_t number, const std::string& what, const Scan& scan,
                   const SolverOptions& options, const std::optional<Reconstruction>& start) {
    const Stopwatch watch;
    KeptAttempt done{.what = what};
    if (start) kept_.require_image(*start, "'" + what + "'");
    try {
      SolveResult result = solve(scan, start, options, kept_.watch(number));
      done.image = std::move(result.image);
      done.end = result.end;
      done.seconds = result.seconds_before;
      seconds_before_ += result.seconds_before;
    } catch (const BadCheckpoint&) {
      throw;
    } catch (const InvalidInput& error) {
      done.refused = error.what();
    }
    const at::Tensor held_out = scan.frames_with(FrameUse::held_out);
    if (done.refused.empty() && held_out.size(0) > 0) {
      const DataFit fit = data_fit(done.image, scan, held_out, true);
      done.deviance = fit.deviance_per_photon;
      done.deviance_floor = fit.deviance_per_photon_floor;
    }
    if (done.refused.empty()) done.misfit = misfit_of(done.image, scan);
    done.passes = static_cast<std::int64_t>(done.image.loss.size());
    done.seconds += watch.seconds();
    if (done.end != ChainEnd::interrupted) kept_.keep(number, done);
    return done;
  }

  /// The best image from now on; that of before need not be kept.
  void replace(Candidate candidate) { replace(std::move(candidate), attempts_.back()); }

  void replace(Candidate candidate, Attempt& row) {
    const std::int64_t before = best_.number;
    keep(std::move(candidate), row);
    if (before != best_.number) kept_.drop_image(before);
  }

  void keep(Candidate candidate) { keep(std::move(candidate), attempts_.back()); }

  void keep(Candidate candidate, Attempt& row) {
    row.kept = true;
    loss_.insert(loss_.end(), candidate.image.loss.begin(), candidate.image.loss.end());
    best_ = std::move(candidate);
    if (better_ && best_.image.object.defined()) better_(best_.image);
  }

  /// Tries each choice from the image that is there, and keeps the first one or a later one that
  /// foretells held-out patterns better by more than the margin.
  void race(const std::vector<std::pair<std::string, Choice>>& choices, const Margin& margin) {
    const Reconstruction start = best_.image;
    std::optional<Candidate> winner;
    std::size_t row = 0;
    for (auto [what, choice] : choices) {
      choice.slow_phase = false;  // what all of them would gain by it decides nothing
      Candidate tried = attempt(what, scan_, choice, {{"lbfgs", kTrialPasses}}, start);
      tried.choice.slow_phase = true;
      if (tried.end == ChainEnd::interrupted) return void(best_.end = tried.end);
      if (tried.end == ChainEnd::diverged || (winner && !wins(tried.fit, winner->fit, margin))) {
        kept_.drop_image(tried.number);
        continue;
      }
      if (winner) kept_.drop_image(winner->number);
      winner = std::move(tried);
      row = attempts_.size() - 1;
    }
    if (winner) replace(std::move(*winner), attempts_[row]);
  }

  static bool wins(const DataFit& fit, const DataFit& other, const Margin& margin) {
    const double above = std::max(other.deviance_per_photon - other.deviance_per_photon_floor, 0.0);
    const double gain = other.deviance_per_photon - fit.deviance_per_photon;
    return gain > margin.above_noise * above &&
           gain > margin.noise * other.deviance_per_photon_floor;
  }

  void begin(const std::optional<Reconstruction>& start, bool few) {
    const Chain whole{{"lbfgs", kMostPasses}};
    if (few) return keep(attempt("probe held", scan_, held_, whole, start));
    if (start) return keep(attempt("first image", scan_, {}, {{"lbfgs", 10}}, start));
    std::optional<Candidate> first =
        attempt_if_possible("first image", {}, {{"rpie", 5}, {"lbfgs", 10}}, {});
    keep(first ? std::move(*first) : attempt("first image", scan_, {}, {{"lbfgs", 20}}, {}));
  }

  void try_slopes() {
    std::vector<std::pair<std::string, Choice>> choices;
    for (const double factor : {1.0, 0.5, 2.0}) {
      Choice choice = best_.choice;
      choice.slope *= factor;
      choices.emplace_back(fmt::format("prior of slope {:g}", choice.slope), choice);
    }
    race(choices, kOfPrior);
  }

  /// For samples with sharp borders: the changes that noise makes are smoothed more, theirs less.
  /// Where the patterns are explained a weaker one from the beginning, too: an image that stands
  /// still under another prior hardly moves any more (leaves, 1e5 photons, overlap .8: error .197
  /// there, .129 from the beginning).
  void try_edges(const std::optional<Reconstruction>& start) {
    Choice choice = best_.choice;
    const double best_slope = choice.slope;
    choice.edge = kEdge;
    choice.slope = best_slope * kSlopeBetweenEdges;
    const Chain last{{"lbfgs", kMostPasses}};
    try_whole("prior that spares edges", choice, last, best_.image);
    if (!goes_on() || !explains_all()) return;
    choice.slope = best_slope * kSlopeAnew;
    try_whole("edges spared from the beginning", choice, start ? last : Chain{{"rpie", 5}, last[0]},
              start);
  }

  void go_on_until_still() {
    Candidate last = attempt("until it stands still", scan_, best_.choice, {{"lbfgs", kMostPasses}},
                             best_.image);
    if (last.end == ChainEnd::interrupted)
      return keep(std::move(last));  // --resume begins before it
    if (last.end == ChainEnd::done) replace(std::move(last));
  }

  /// Used patterns that do not fit the image of the others. What the scan holds out stays, for it
  /// is to tell of the image, good or bad. Wrong patterns bend the image beside them, too, so that
  /// a second look at all of them follows.
  void leave_out_misfits(const std::optional<Reconstruction>& start) {
    const Scan trials = scan_, whole = whole_;
    if (trials.frames_with(FrameUse::held_out).size(0) == 0) return;
    for (int look = 0; look < kMostLooks && goes_on(); ++look) {
      const at::Tensor misfits = kept_.patterns("misfits", best_.number, [&] {
        kept_.require_image(best_.image, "the search for patterns that do not fit");
        return misfitting(best_.image, whole, whole.frames_with(FrameUse::used));
      });
      if (at::equal(misfits, left_out_) || !is_better_without(misfits, trials, start)) return;
      whole_ = without(whole, misfits);
      left_out_ = misfits;
    }
  }

  /// A chain from the beginning without these patterns; where it is not better, nothing has
  /// changed. Those that were set apart go on to judge, so that images with and without can be
  /// compared.
  bool is_better_without(const at::Tensor& misfits, const Scan& trials,
                         const std::optional<Reconstruction>& start) {
    const Scan before = scan_;
    const std::int64_t number = best_.number;
    const at::Tensor used = trials.frames_with(FrameUse::used);
    scan_ = without(trials, misfits.masked_select(at::isin(misfits, used)));
    const Chain last{{"lbfgs", kMostPasses}};
    try_whole(fmt::format("without {} patterns that do not fit", misfits.size(0)), best_.choice,
              start ? last : Chain{{"rpie", 5}, last[0]}, start);
    if (best_.number == number) scan_ = before;
    return best_.number != number;
  }

  /// Nothing, with a note, where a solver cannot take this scan (a prime factor in N, no memory for
  /// exit waves) or diverges at once: what is there already must not be lost with it.
  std::optional<Candidate> attempt_if_possible(const std::string& what, const Choice& choice,
                                               const Chain& chain,
                                               const std::optional<Reconstruction>& start) {
    try {
      return attempt(what, scan_, choice, chain, start);
    } catch (const BadCheckpoint&) {
      throw;
    } catch (const InvalidInput& error) {
      detail("{}: not possible here: {}", what, error.what());
      return std::nullopt;
    }
  }

  /// A whole chain with other choices, kept if it foretells held-out patterns better: they rank
  /// choices once the solver has converged, and images that have not by how blurred they are.
  void try_whole(const std::string& what, const Choice& choice, const Chain& chain,
                 const std::optional<Reconstruction>& start, const Margin& margin = kOfFreedom) {
    std::optional<Candidate> tried = attempt_if_possible(what, choice, chain, start);
    if (!tried) return;
    if (tried->end == ChainEnd::interrupted) best_.end = tried->end;
    if (tried->end == ChainEnd::done && wins(tried->fit, best_.fit, margin))
      replace(std::move(*tried));
    else
      kept_.drop_image(tried->number);
  }

  void give_freedom(const std::optional<Reconstruction>& start) {
    if (has_faults() && is_better_by_batches(start)) return;
    if (goes_on()) try_more_freedom(start);
  }

  /// Modes and positions in one chain of mini-batches from the beginning: their steps, each as long
  /// as its own history allows, bring weak modes up within a few passes, L-BFGS hardly in a
  /// hundred. In small scans without faults they are behind, and not tried.
  bool is_better_by_batches(const std::optional<Reconstruction>& start) {
    const std::int64_t number = best_.number, used = scan_.frames_with(FrameUse::used).size(0);
    const std::int64_t passes =
        std::clamp(kBatchPatterns / used, kLeastBatchPasses, kMostBatchPasses);
    const bool solved = options_.start_is_solved && start;
    Choice free = best_.choice;
    free.modes = options_.fixed_probe ? 1 : kModes;
    free.positions = PositionFreedom::jitter;
    try_whole("modes and positions by batches", free, {{"ml", passes}},
              solved ? best_.image : start);
    return best_.number != number;
  }

  /// Modes for what is incoherent, from the image that is there; modes and positions from the
  /// beginning, for an image that has formed at wrong positions holds them there.
  void try_more_freedom(const std::optional<Reconstruction>& start) {
    Choice free = best_.choice;
    const bool held = options_.fixed_probe || free.fixed_probe;
    free.modes = held ? 1 : kModes;
    const Chain last{{"lbfgs", kMostPasses}};
    if (!held) try_whole("three probe modes", free, last, best_.image);
    free.positions = PositionFreedom::jitter;
    const Chain anew = start ? last : Chain{{"rpie", 5}, last[0]};
    if (goes_on()) try_whole("modes and positions", free, anew, start);
    const DataFit& fit = best_.fit;
    const bool poor = fit.deviance_per_photon > kPoor * fit.deviance_per_photon_floor;
    if (goes_on() && poor && !start)
      try_whole("from the difference map", free, {{"dm", 10}, last[0]}, {});
  }

  /// Much light tells more than the first standstill.
  void polish() {
    Choice last = best_.choice;
    last.still = kStillInMuchLight;
    last.holds_positions = true;
    const std::int64_t used = scan_.frames_with(FrameUse::used).size(0);
    const std::int64_t passes = std::clamp(kPolishPatterns / used, kLeastPolish, kMostPolish);
    try_whole("polish", last, {{"lbfgs", passes}}, best_.image, kAnything);
    best_.choice.holds_positions = false;
  }

  /// Where patterns that were held out are foretold worse than those that were used, the image may
  /// have fitted noise by way of the probe.
  void try_a_held_probe(const std::optional<Reconstruction>& start) {
    if (options_.fixed_probe) return;
    Choice held = best_.choice;
    held.fixed_probe = true;
    const Chain last{{"lbfgs", kMostPasses}};
    try_whole("probe held", held, start ? last : Chain{{"rpie", 5}, last[0]}, start, kOfHeldProbe);
  }

  void try_a_background(const std::optional<Reconstruction>& start) {
    Choice choice = held_;
    choice.background = true;
    try_whole("probe held and a background", choice, {{"lbfgs", kMostPasses}}, start);
  }

  void try_a_free_probe(const std::optional<Reconstruction>& start) {
    const Chain last{{"lbfgs", kMostPasses}};
    Choice free = held_;
    free.fixed_probe = false;
    free.background = true;
    try_whole("probe free", free, start ? last : Chain{{"rpie", 5}, last[0]}, start, kOfFreeProbe);
  }

  /// The patterns that were set apart for the trials join for the last passes.
  void give_back(AutomaticResult& result) {
    if (whole_.frames_with(FrameUse::held_out).size(0) > 0 ||
        scan_.frames_with(FrameUse::held_out).size(0) == 0)
      return;
    const at::Tensor apart = scan_.frames_with(FrameUse::held_out);
    result.set_apart = apart.masked_select(at::isin(apart, left_out_).logical_not());
    result.before_them = best_.image;
    Candidate all =
        attempt("with all patterns", whole_, best_.choice, {{"lbfgs", 10}}, best_.image);
    if (all.end != ChainEnd::diverged) keep(std::move(all));  // with the image before them
  }

  Scan whole_, scan_;
  AutomaticOptions options_;
  ImageWatch better_;
  KeptAttempts kept_;
  Choice held_;  ///< where photons are few
  Candidate best_;
  std::int64_t number_ = 0;  ///< of attempts so far
  double seconds_before_ = 0;
  std::vector<Attempt> attempts_;
  std::vector<double> loss_;  ///< of those that were kept, one after the other
  at::Tensor left_out_ = at::empty({0}, at::kLong);
};

}  // namespace

double few_photons(const at::Tensor& probe, bool given) {
  constexpr double kCounts = 5e3, kUsualArea_px = 400;  // of the scans by which it was chosen
  if (!given) return kCounts;
  const at::Tensor light = mode_power(probe).to(at::kDouble);
  const double squares = light.square().sum().item<double>();
  const double area = squares > 0 ? std::pow(light.sum().item<double>(), 2) / squares : 0;
  return kCounts * std::max(1.0, area / kUsualArea_px);
}

AutomaticResult solve_automatically(const Scan& scan, const std::optional<Reconstruction>& start,
                                    const AutomaticOptions& options, const ImageWatch& better,
                                    const KeepOptions& keep) {
  return Automatic(scan, start, options, better, keep).run(start);
}

Reconstruction automatic_image(const Scan& scan, const AutomaticOptions& options) {
  AutomaticResult result = solve_automatically(scan, {}, options);
  if (result.end == ChainEnd::interrupted) throw Interrupted("stopped during the solver");
  require(result.end == ChainEnd::done, "{}", "the solver diverged");
  return std::move(result.image);
}

}  // namespace ptyche
