#include "ptyche/solve/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/description.h"
#include "ptyche/solve/attempts.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/problem.h"

namespace ptyche {
namespace {

// On 17 simulated scans a prior twice as strong made the image better where it won 13 % or more and
// worse where it won 9 % or less.
constexpr Margin kOfPrior{0.11, 0};
constexpr Margin kOfFreedom{0, 0.005}, kAnything{};
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
// Passes of `ml` until it has converged: patterns in batches of 16, and bounds.
constexpr std::int64_t kBatchPatterns = 700 * 16, kLeastBatchPasses = 25, kMostBatchPasses = 100;
constexpr double kPoor = 3;  // times the deviance of photon noise: perhaps a false minimum
constexpr double kSlope = Choice{}.slope, kPriorMatters = 0.1;  // its curvature over the light's
// A prior that spares edges can be stiffer between them; both by 12 simulated scans, the `tune`
// half of `./run bench defaults`.
constexpr double kEdge = 0.06, kSlopeBetweenEdges = 0.7, kSlopeAnew = 0.35;
constexpr std::int64_t kModes = 3, kMostPasses = 40, kMostLooks = 4;
constexpr double kStillInMuchLight = 0.003;
// Passes in much light: so many that a small scan comes out of a false minimum (leaves, 1e6
// photons: error .107 after 60, .057 after 100), in a large one no more than these patterns cost.
constexpr std::int64_t kMostPolish = 100, kLeastPolish = 30, kPolishPatterns = 20'000;
// Of what the mean pattern leaves above noise: an image that explains less may be noise that hides
// a sample of small phases. Then each smaller slope is a factor kSmoother below the one before.
constexpr double kNothingExplained = 0.1, kHardlyExplained = 0.75, kSmoother = 0.4;
constexpr std::int64_t kSmootherPasses = 25, kMostWithoutGain = 2;
// Where a side of the detector is hidden: the amplitude's stiffness, factors of it and the slope.
constexpr double kTied = 10, kMoreTied = 3, kWeaker = 3;

/// What is tried, for each a number of its own.
enum class Place : std::int64_t {
  first,
  first_without_rpie,
  slope,  // as it is, half and twice it
  last_slope = slope + 2,
  still,
  without,
  edges,
  edges_anew,
  held,
  batches,
  modes,
  modes_and_positions,
  difference_map,
  polish,
  few_background,
  few_free,
  tied,
  tied_weaker,
  tied_more,
  tied_most,
  put_aside,
  smoother,
  last_smoother = smoother + 3,
  all,
  count
};
Place next_place(Place place, std::size_t by = 1) {
  return static_cast<Place>(static_cast<std::size_t>(place) + by);
}
constexpr const char* kByBatches = "modes and positions by batches";

/// What is tried from the best image so far, or beside it.
struct Trial {
  std::function<std::optional<Request>()> request;  ///< by the best image; nothing = not worth it
  Margin margin = kOfFreedom;
  bool alone = false;  ///< what comes after it depends on it: nothing is tried beside it
};

RunKey key_of_run(const Scan& scan, const std::optional<Reconstruction>& start,
                  const AutomaticOptions& options) {
  RunKey key = run_key(make_problem(scan, {}), start);
  key.options = {{"fixed-probe", options.fixed_probe ? "true" : "false"},
                 {"intensities", fmt::format("{}", static_cast<int>(options.intensities))},
                 {"interpolation", to_string(options.interpolation)},
                 {"seed", fmt::format("{}", options.seed)},
                 {"start-is-solved", options.start_is_solved ? "true" : "false"},
                 {"put-aside", options.put_aside.defined() ? "true" : "false"}};
  return key;
}

class Automatic {
 public:
  Automatic(const Scan& scan, const std::optional<Reconstruction>& start,
            const AutomaticOptions& options, const ImageWatch& better, const KeepOptions& keep)
      : whole_(scan),
        scan_(with_hold_out(scan)),
        start_(start),
        options_(options),
        better_(better),
        kept_(keep, scan, keep.folder.empty() ? RunKey{} : key_of_run(scan_, start, options)),
        attempts_(options, kept_) {}

  AutomaticResult run() {
    const SolverProblem problem = make_problem(scan_, {});
    const double counts = problem.photons / static_cast<double>(problem.patterns());
    const double share =
        counts / few_photons(start_state(problem, start_).main_probe(), scan_.probe_given());
    const bool dim = prior_matters(problem, counts);
    detail("{:.3g} counts a pattern: {}", counts,
           share < 1 ? "few: the probe is held at first" : "enough to find probe and background");
    std::vector<Trial> trials = share < 1 ? with_few_photons(share) : with_more_photons(dim);
    if (one_sided_light(scan_) > kOneSidedLight)
      std::ranges::move(tied_trials(), std::back_inserter(trials));
    if (!dim) trials.push_back({[this] { return polish(); }, kAnything});
    try_each(trials);
    best_.choice.holds_positions = false;
    AutomaticResult result;
    if (goes_on()) give_back(result);
    result.options = attempts_.options_for(scan_, from_best(Place::all, "", best_.choice));
    result.end = best_.end;
    result.image = std::move(best_.image);
    result.image.loss = std::move(loss_);
    result.attempts = std::move(attempts_.rows());
    result.left_out = left_out_;
    result.first_probe = first_probe_;
    result.seconds_before = attempts_.seconds_before();
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
    const double power = std::max(probe_power(state.main_probe()), 1e-30);
    const double light = mean_light(problem, state) * counts / power;
    return smoothness_curvature(kSlope) > kPriorMatters * 2 * light;
  }

  /// What the first image said of the beam holds for all later ones: they do not know it better,
  /// for a chain whose probe is free explains changes away, and one that begins anew takes what it
  /// has not yet explained for a change (leaves, 1.8e3 counts: 14 %, error .58 -> .77).
  IntensityFreedom intensities() const {
    const bool automatic = options_.intensities == IntensityFreedom::automatic;
    if (!automatic || bests_ == 0) return options_.intensities;
    return best_.fits_intensities ? IntensityFreedom::on : IntensityFreedom::off;
  }

  std::int64_t number_of(Place place) const {
    return bests_ * static_cast<std::int64_t>(Place::count) + static_cast<std::int64_t>(place);
  }

  bool is_best(Place place) const {
    return best_.number % static_cast<std::int64_t>(Place::count) ==
           static_cast<std::int64_t>(place);
  }

  Request from_best(Place place, const std::string& what, const Choice& choice,
                    const Chain& chain = {{"lbfgs", kMostPasses}}) const {
    return {.number = number_of(place),
            .what = what,
            .choice = choice,
            .chain = chain,
            .intensities = intensities(),
            .origin = best_.number,
            .start = best_.image};
  }

  Request from_start(Place place, const std::string& what, const Choice& choice,
                     const Chain& chain) const {
    return {.number = number_of(place),
            .what = what,
            .choice = choice,
            .chain = chain,
            .intensities = intensities(),
            .start = start_};
  }

  /// From the beginning: from the start that was given, if one was.
  Request anew(Place place, const std::string& what, const Choice& choice) const {
    const Chain last{{"lbfgs", kMostPasses}};
    return from_start(place, what, choice, start_ ? last : Chain{{"rpie", 5}, last[0]});
  }

  /// The best image from now on; that of before need not be kept.
  void replace(Candidate candidate, Attempt& row) {
    const std::int64_t before = best_.number;
    keep(std::move(candidate), row);
    if (before != best_.number) kept_.drop_image(before);
  }

  void keep(Candidate candidate, Attempt& row) {
    row.kept = true;
    loss_.insert(loss_.end(), candidate.image.loss.begin(), candidate.image.loss.end());
    best_ = std::move(candidate);
    ++bests_;
    if (better_ && best_.image.object.defined()) better_(best_.image);
  }

  /// The image of what must be possible.
  Candidate made(const Scan& scan, const Request& request) {
    Candidate candidate = attempts_.take(scan, request);
    if (!candidate.refused.empty()) throw InvalidInput(candidate.refused);
    return candidate;
  }

  void keep_made(const Scan& scan, const Request& request) {
    Candidate candidate = made(scan, request);
    keep(std::move(candidate), attempts_.rows().back());
  }

  /// A whole chain with other choices, kept if it foretells held-out patterns better: they rank
  /// choices once the solver has converged, and images that have not by how blurred they are.
  /// Nothing, with a note, where a solver cannot take this scan (a prime factor in N, no memory for
  /// exit waves) or diverges at once: what is there already must not be lost with it.
  bool is_better(const Request& request, const Margin& margin = kOfFreedom) {
    Candidate tried = attempts_.take(scan_, request);
    if (!tried.refused.empty()) {
      detail("{}: not possible here: {}", request.what, tried.refused);
      return false;
    }
    if (tried.end == ChainEnd::interrupted) best_.end = tried.end;
    const bool better = tried.end == ChainEnd::done && wins(tried.fit, best_.fit, margin);
    if (better)
      replace(std::move(tried), attempts_.rows().back());
    else
      kept_.drop_image(tried.number);
    return better;
  }

  /// One after the other, each by the best image that those before it have left. While one is made,
  /// threads that it leaves make the next ones as if it were not better: mostly it is not, and else
  /// those that then ask for something else are made again. So the images are the same on any
  /// number of threads.
  void try_each(const std::vector<Trial>& trials) {
    for (std::size_t i = 0; i < trials.size() && goes_on(); ++i) {
      const std::optional<Request> request = trials[i].request();
      if (!request) continue;
      if (!attempts_.has(*request)) make_ahead(beside(*request, trials, i));
      if (goes_on()) is_better(*request, trials[i].margin);
    }
  }

  /// What ended in the middle begins with the best image when it goes on: until it has, that stays.
  void make_ahead(const std::vector<Request>& requests) {
    if (!attempts_.make_ahead(scan_, requests)) best_.end = ChainEnd::interrupted;
  }

  std::vector<Request> beside(const Request& request, const std::vector<Trial>& trials,
                              std::size_t place) const {
    std::vector<Request> together{request};
    const std::size_t most = Attempts::side_by_side_of(scan_);
    for (std::size_t i = place + 1; i < trials.size() && together.size() < most; ++i) {
      if (trials[i - 1].alone || trials[i].alone) break;
      if (const auto next = trials[i].request()) together.push_back(*next);
    }
    return together;
  }

  // Where photons are few.

  std::vector<Trial> with_few_photons(double share) {
    const Choice held = choice_for_few(share);
    keep_made(scan_, from_start(Place::first, "probe held", held, {{"lbfgs", kMostPasses}}));
    if (goes_on()) try_smoother();
    base_ = best_.choice;
    const auto background = [this, held]() -> std::optional<Request> {
      Choice choice = held;
      choice.background = true;
      return from_start(Place::few_background, "probe held and a background", choice,
                        {{"lbfgs", kMostPasses}});
    };
    const auto free = [this, held]() -> std::optional<Request> {
      if (options_.fixed_probe) return std::nullopt;
      Choice choice = held;
      choice.fixed_probe = false;
      choice.background = true;
      return anew(Place::few_free, "probe free", choice);
    };
    return {{background}, {free, kOfFreeProbe}};
  }

  // Where there are more.

  std::vector<Trial> with_more_photons(bool dim) {
    make_first();
    if (goes_on() && dim && !has_faults()) try_slopes();
    if (goes_on()) try_smoother();
    if (goes_on() && !(options_.start_is_solved && has_faults())) go_on_until_still();
    if (goes_on() && options_.put_aside.defined() && !explains_all()) try_put_aside();
    leave_out_misfits();
    base_ = best_.choice;
    return {{[this] { return edges(); }},
            {[this] { return edges_anew(); }},
            {[this] { return held_probe(); }, kOfHeldProbe},
            {.request = [this] { return batches(); }, .alone = true},
            {[this] { return modes(); }},
            {[this] { return modes_and_positions(); }},
            {[this] { return from_the_difference_map(); }}};
  }

  void make_first() {
    if (start_) {
      const Chain chain{{"lbfgs", 10}};
      return keep_made(scan_, from_start(Place::first, "first image", {}, chain));
    }
    const Chain chain{{"rpie", 5}, {"lbfgs", 10}};
    Candidate first = attempts_.take(scan_, from_start(Place::first, "first image", {}, chain));
    if (first.refused.empty()) return keep(std::move(first), attempts_.rows().back());
    detail("first image: not possible by rpie: {}", first.refused);
    const Chain other{{"lbfgs", 20}};
    keep_made(scan_, from_start(Place::first_without_rpie, "first image", {}, other));
  }

  /// Each from the image that is there; the first one, or a later one that foretells held-out
  /// patterns better by more than a margin, is kept.
  void try_slopes() {
    std::vector<Request> requests;
    for (const double factor : {1.0, 0.5, 2.0}) {
      Choice choice = best_.choice;
      choice.slope *= factor;
      choice.slow_phase = false;  // what all of them would gain by it decides nothing
      requests.push_back(from_best(next_place(Place::slope, requests.size()),
                                   fmt::format("prior of slope {:g}", choice.slope), choice,
                                   {{"lbfgs", kTrialPasses}}));
    }
    if (Attempts::side_by_side_of(scan_) > 1) make_ahead(requests);
    if (!goes_on()) return;
    std::optional<Candidate> winner;
    std::size_t row = 0;
    for (const Request& request : requests) {
      Candidate tried = made(scan_, request);
      tried.choice.slow_phase = true;
      if (tried.end == ChainEnd::interrupted) return void(best_.end = tried.end);
      if (tried.end == ChainEnd::diverged || (winner && !wins(tried.fit, winner->fit, kOfPrior))) {
        kept_.drop_image(tried.number);
        continue;
      }
      if (winner) kept_.drop_image(winner->number);
      winner = std::move(tried);
      row = attempts_.rows().size() - 1;
    }
    if (winner) replace(std::move(*winner), attempts_.rows()[row]);
  }

  /// Each from the beginning: an image of noise does not become smooth by a few passes more.
  void try_smoother() {
    const double known = explained(best_.fit, scan_);
    if (known > kHardlyExplained) return;
    const Margin margin = known < kNothingExplained ? kAnything : kOfPrior;
    Choice choice = best_.choice;
    std::int64_t without_gain = 0;
    for (Place place = Place::smoother; place <= Place::last_smoother; place = next_place(place)) {
      choice.slope *= kSmoother;
      const bool gained =
          is_better(from_start(place, fmt::format("prior of slope {:.2g}", choice.slope), choice,
                               {{"lbfgs", kSmootherPasses}}),
                    margin);
      without_gain = gained ? 0 : without_gain + 1;
      if (!goes_on() || without_gain == kMostWithoutGain) return;
    }
  }

  void go_on_until_still() {
    Candidate last = made(scan_, from_best(Place::still, "until it stands still", best_.choice));
    Attempt& row = attempts_.rows().back();
    if (last.end == ChainEnd::interrupted)
      return keep(std::move(last), row);  // --resume begins before it
    const bool smoothed = best_.choice.slope < kSmoother * kSlope;
    if (last.end != ChainEnd::done || (smoothed && !wins(last.fit, best_.fit, kAnything)))
      return kept_.drop_image(last.number);
    replace(std::move(last), row);
  }

  /// Short solves rank probes by how soon they explain something, whole ones by how much.
  void try_put_aside() {
    const Scan before = scan_;
    scan_ = scan_.with_probe(options_.put_aside);
    if (is_better(anew(Place::put_aside, "the file's probe", best_.choice))) {
      whole_ = whole_.with_probe(options_.put_aside);
      first_probe_ = options_.put_aside;
      note("probe: the file's after all: a whole solve from it foretells more");
    } else {
      scan_ = before;
    }
  }

  /// Used patterns that do not fit the image of the others. What the scan holds out stays, for it
  /// is to tell of the image, good or bad. Wrong patterns bend the image beside them, too, so that
  /// a second look at all of them follows.
  void leave_out_misfits() {
    const Scan trials = scan_, whole = whole_;
    if (trials.frames_with(FrameUse::held_out).size(0) == 0) return;
    for (std::int64_t look = 0; look < kMostLooks && goes_on(); ++look) {
      const at::Tensor misfits = kept_.patterns("misfits", best_.number, [&] {
        kept_.require_image(best_.image, "the search for patterns that do not fit");
        return misfitting(best_.image, whole, whole.frames_with(FrameUse::used));
      });
      if (at::equal(misfits, left_out_) || !is_better_without(misfits, trials)) return;
      whole_ = without(whole, misfits);
      left_out_ = misfits;
    }
  }

  /// A chain from the beginning without these patterns; where it is not better, nothing has
  /// changed. Those that were set apart go on to judge, so that images with and without can be
  /// compared.
  bool is_better_without(const at::Tensor& misfits, const Scan& trials) {
    const Scan before = scan_;
    const at::Tensor used = trials.frames_with(FrameUse::used);
    scan_ = without(trials, misfits.masked_select(at::isin(misfits, used)));
    const std::string what = fmt::format("without {} patterns that do not fit", misfits.size(0));
    const bool better = is_better(anew(Place::without, what, best_.choice));
    if (!better) scan_ = before;
    return better;
  }

  /// Where one side of the detector is hidden.
  Request tied(Place place, double slope, double edge, double stiffness) const {
    Choice choice = tied_choice(best_.choice, best_.image, stiffness);
    choice.slope = slope;
    choice.edge = edge;
    return from_best(place, fmt::format("amplitude tied to the phase, {:g} times", stiffness),
                     choice, {{"lbfgs", polishing_passes()}});
  }

  std::optional<Request> tied_more(Place place, double than) const {
    const Choice& best = best_.choice;
    if (best.stiffness < than) return std::nullopt;
    return tied(place, best.slope, best.edge, kMoreTied * than);
  }

  /// By the prior as it is, and by a weaker one without edges.
  std::vector<Trial> tied_trials() {
    return {
        {[this] { return tied(Place::tied, best_.choice.slope, best_.choice.edge, kTied); },
         kOfPrior},
        {[this] { return tied(Place::tied_weaker, kWeaker * base_.slope, 0, kTied); }, kOfPrior},
        {[this] { return tied_more(Place::tied_more, kTied); }},
        {[this] { return tied_more(Place::tied_most, kMoreTied * kTied); }}};
  }

  /// For samples with sharp borders: the changes that noise makes are smoothed more, theirs less.
  std::optional<Request> edges() const {
    if (has_faults()) return std::nullopt;
    Choice choice = base_;
    choice.edge = kEdge;
    choice.slope *= kSlopeBetweenEdges;
    return from_best(Place::edges, "prior that spares edges", choice);
  }

  /// Where the patterns are explained a weaker one from the beginning, too: an image that stands
  /// still under another prior hardly moves any more (leaves, 1e5 photons, overlap .8: error .197
  /// there, .129 from the beginning).
  std::optional<Request> edges_anew() const {
    if (has_faults() || !explains_all()) return std::nullopt;
    Choice choice = base_;
    choice.edge = kEdge;
    choice.slope *= kSlopeAnew;
    return anew(Place::edges_anew, "edges spared from the beginning", choice);
  }

  /// Where patterns that were held out are foretold worse than those that were used, the image may
  /// have fitted noise by way of the probe.
  std::optional<Request> held_probe() const {
    if (options_.fixed_probe || explains_all() || has_faults()) return std::nullopt;
    Choice held = best_.choice;
    held.fixed_probe = true;
    return anew(Place::held, "probe held", held);
  }

  /// Modes and positions in one chain of mini-batches from the beginning: their steps, each as long
  /// as its own history allows, bring weak modes up within a few passes, L-BFGS hardly in a
  /// hundred. In small scans without faults they are behind, and not tried.
  std::optional<Request> batches() const {
    if (explains_all() || !has_faults()) return std::nullopt;
    const std::int64_t used = scan_.frames_with(FrameUse::used).size(0);
    const Chain chain{
        {"ml", std::clamp(kBatchPatterns / used, kLeastBatchPasses, kMostBatchPasses)}};
    Choice free = best_.choice;
    free.modes = options_.fixed_probe ? 1 : kModes;
    free.positions = PositionFreedom::jitter;
    const bool solved = options_.start_is_solved && start_;
    return solved ? from_best(Place::batches, kByBatches, free, chain)
                  : from_start(Place::batches, kByBatches, free, chain);
  }

  /// Modes for what is incoherent, from the image that is there; modes and positions from the
  /// beginning, for an image that has formed at wrong positions holds them there.
  std::optional<Choice> more_freedom() const {
    if (explains_all() || best_.choice.positions == PositionFreedom::jitter) return std::nullopt;
    Choice free = best_.choice;
    free.modes = options_.fixed_probe || free.fixed_probe ? 1 : kModes;
    return free;
  }

  std::optional<Request> modes() const {
    const std::optional<Choice> free = more_freedom();
    if (!free || free->modes == 1) return std::nullopt;
    return from_best(Place::modes, "three probe modes", *free);
  }

  std::optional<Request> modes_and_positions() const {
    std::optional<Choice> free = more_freedom();
    if (!free) return std::nullopt;
    free->positions = PositionFreedom::jitter;
    return anew(Place::modes_and_positions, "modes and positions", *free);
  }

  std::optional<Request> from_the_difference_map() const {
    const DataFit& fit = best_.fit;
    const bool poor = fit.deviance_per_photon > kPoor * fit.deviance_per_photon_floor;
    if (!poor || start_ || is_best(Place::batches)) return std::nullopt;
    Choice free = best_.choice;
    free.modes = options_.fixed_probe || free.fixed_probe ? 1 : kModes;
    free.positions = PositionFreedom::jitter;
    return from_start(Place::difference_map, "from the difference map", free,
                      {{"dm", 10}, {"lbfgs", kMostPasses}});
  }

  /// Much light tells more than the first standstill.
  std::optional<Request> polish() const {
    Choice last = best_.choice;
    last.still = kStillInMuchLight;
    last.holds_positions = true;
    return from_best(Place::polish, "polish", last, {{"lbfgs", polishing_passes()}});
  }

  std::int64_t polishing_passes() const {
    const std::int64_t used = scan_.frames_with(FrameUse::used).size(0);
    return std::clamp(kPolishPatterns / used, kLeastPolish, kMostPolish);
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
        made(whole_, from_best(Place::all, "with all patterns", best_.choice, {{"lbfgs", 10}}));
    if (all.end != ChainEnd::diverged)
      keep(std::move(all), attempts_.rows().back());  // with the image before them
  }

  Scan whole_, scan_;
  std::optional<Reconstruction> start_;
  AutomaticOptions options_;
  ImageWatch better_;
  KeptAttempts kept_;
  Attempts attempts_;
  Candidate best_;
  Choice base_;               ///< before trials with other priors
  std::int64_t bests_ = 0;    ///< images that have been the best
  std::vector<double> loss_;  ///< of those that were kept, one after the other
  at::Tensor left_out_ = at::empty({0}, at::kLong), first_probe_;
};

}  // namespace

AutomaticResult solve_automatically(const Scan& scan, const std::optional<Reconstruction>& start,
                                    const AutomaticOptions& options, const ImageWatch& better,
                                    const KeepOptions& keep) {
  return Automatic(scan, start, options, better, keep).run();
}

Reconstruction automatic_image(const Scan& scan, const AutomaticOptions& options) {
  AutomaticResult result = solve_automatically(scan, {}, options);
  if (result.end == ChainEnd::interrupted) throw Interrupted("stopped during the solver");
  require(result.end == ChainEnd::done, "{}", "the solver diverged");
  return std::move(result.image);
}

}  // namespace ptyche
