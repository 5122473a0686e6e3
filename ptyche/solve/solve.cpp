#include "ptyche/solve/solve.h"

#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/events.h"
#include "ptyche/core/files.h"
#include "ptyche/core/memory.h"
#include "ptyche/core/output_folder.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/ranks.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/data/scan.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/intensities.h"
#include "ptyche/solve/problem.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

constexpr double kDivergence = 4;  // times the least loss of the link
// Loss per photon, about what the mean pattern leaves over. A link that begins with an image that
// fits better may undo that for a while: its first steps are its longest.
constexpr double kPoorFit = 0.25;
constexpr std::int64_t kStartPatterns = 64;  // patterns that tell how good the start of a link is
constexpr std::int64_t kPassesBeforeModes = 3;
constexpr std::size_t kPlateauPasses = 10;
constexpr std::int64_t kStillPasses = 5;
// Passes after which the image tells whether the beam changes; again at the end of every link.
constexpr std::int64_t kPassesBeforeIntensities = 10;
// intensity_spread then: at most .028 in 12 good scans, at least .045 where the beam changes by 15
// %. With few counts an image that lacks much spreads them, too (a blurred disk's patterns of 3000
// counts: .05).
constexpr double kBeamChanges = 0.035, kBeamChangesByNoise = 3;  // over that of the counts

constexpr const char* kGroup = "chain";
constexpr const char* kSolver = "chain/solver";

/// Everything that changes while a chain runs.
struct ChainState {
  SolverState state;
  SolverState best;      ///< before the pass with the least loss of this link: solvers judge by
                         ///< different losses
  double best_loss = 0;  ///< per photon, of that pass
  bool has_best = false;
  std::unique_ptr<Solver> solver;
  std::size_t link = 0;        ///< what comes next: a link of the chain
  std::int64_t epoch = 0;      ///< and its pass
  std::int64_t total = 0;      ///< passes made so far
  std::int64_t stretch = 0;    ///< passes of the link since its schedule was last shortened
  std::vector<double> losses;  ///< per photon, of every pass
  std::vector<Evaluation> evaluations;  ///< all, also before a resumption
  double seconds = 0;                   ///< spent before `state` was written to a checkpoint
  at::Tensor earlier_object;            ///< kStillPasses or less ago, in this link; or undefined
};

const DatasetLayout kCounters{"chain/counters", at::kDouble, {7}};
const DatasetLayout kLosses{"chain/losses", at::kDouble, {kAnyLength}};
const DatasetLayout kEvaluations{"chain/evaluations", at::kDouble, {kAnyLength, 5}};

at::Tensor counters(const ChainState& chain) {
  return at::tensor(
      {static_cast<double>(chain.link), static_cast<double>(chain.epoch),
       static_cast<double>(chain.total), chain.best_loss, static_cast<double>(chain.has_best),
       static_cast<double>(chain.stretch), chain.seconds},
      at::kDouble);
}

/// Throws InvalidInput unless they are those of a chain that has not come to its end.
void read_counters(const Hdf5File& file, const Chain& links, ChainState& chain) {
  const at::Tensor values = read(file, kCounters);
  const auto* value = values.const_data_ptr<double>();
  const auto whole = [&](int index, const char* what, std::int64_t most) {
    return whole_number(value[index], fmt::format("{}: {}", kCounters.path, what), 0, most);
  };
  const auto last = static_cast<std::int64_t>(links.size()) - 1;
  chain.link = static_cast<std::size_t>(whole(0, "link of the chain", last));
  chain.epoch = whole(1, "pass of the link", links[chain.link].epochs - 1);
  // Links end before their last pass, and skip some: never more were made than are behind.
  const Chain before(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(chain.link));
  chain.total = whole(2, "passes", passes_of(before) + chain.epoch);
  chain.best_loss = value[3];
  chain.has_best = whole(4, "whether there is a best state", 1) == 1;
  chain.stretch = whole(5, "passes since the schedule was shortened", chain.epoch);
  chain.seconds = std::max(value[6], 0.0);
}

/// One row per evaluation: (evaluations, 5) float64.
at::Tensor table_of(const std::vector<Evaluation>& evaluations) {
  std::vector<double> numbers;
  for (const Evaluation& each : evaluations)
    numbers.insert(numbers.end(),
                   {static_cast<double>(each.epoch), each.seconds, each.loss_per_photon,
                    each.held_out_r_factor, each.held_out_deviance_per_photon});
  return at::tensor(numbers, at::kDouble).view({-1, 5});
}

std::vector<Evaluation> evaluations_from(const at::Tensor& table, std::int64_t passes) {
  std::vector<Evaluation> evaluations;
  const auto* number = table.const_data_ptr<double>();
  for (std::int64_t row = 0; row < table.size(0); ++row, number += 5)
    evaluations.push_back({whole_number(number[0], kEvaluations.path + ": pass", 0, passes),
                           number[1], number[2], number[3], number[4]});
  return evaluations;
}

/// `first` is the state before the first pass.
ChainState read_content(const Hdf5File& file, const SolverProblem& problem,
                        const SolverState& first) {
  ChainState chain;
  const auto room = static_cast<double>(problem.room_px);
  const std::int64_t modes = std::max(problem.options.modes, first.modes());
  read_counters(file, problem.options.chain, chain);
  chain.state = read_state(file, "chain/state", first, room, modes);
  if (chain.has_best) chain.best = read_state(file, "chain/best", first, room, modes);
  chain.earlier_object = read_if_there(file, like(first.object, "chain/earlier_object"));
  if (file.has(kEvaluations.path))
    chain.evaluations = evaluations_from(read(file, kEvaluations), chain.total);
  chain.losses = to_vector(read(file, kLosses));
  require(static_cast<std::int64_t>(chain.losses.size()) == chain.total,
          "{}: expected {} losses, one a pass, found {}", kLosses.path, chain.total,
          chain.losses.size());
  chain.solver = problem.options.chain.at(chain.link).make();
  chain.solver->load(file, kSolver, chain.state);
  return chain;
}

/// Writes / reads the whole state. Reading throws InvalidInput if the key is another one.
void write_chain(const std::filesystem::path& file, const ChainState& chain,
                 const SolverProblem& problem, const RunKey& key) {
  const auto room = static_cast<double>(problem.room_px);
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    out.make_group(kGroup);
    write_key(out, kGroup, key);
    write_state(out, "chain/state", chain.state, room);
    if (chain.has_best) write_state(out, "chain/best", chain.best, room);
    write(out, kCounters, counters(chain));
    write(out, kLosses, at::tensor(chain.losses, at::kDouble));
    if (chain.earlier_object.defined())
      write(out, like(chain.earlier_object, "chain/earlier_object"), chain.earlier_object);
    if (!chain.evaluations.empty()) write(out, kEvaluations, table_of(chain.evaluations));
    chain.solver->save(out, kSolver);
    out.close();
  });
}

ChainState read_chain(const std::filesystem::path& file, const SolverProblem& problem,
                      const SolverState& first, const RunKey& key) {
  return with_file(file, [&] {
    const Hdf5File in = Hdf5File::open(file);
    require_same_run(in, kGroup, key);
    return read_content(in, problem, first);
  });
}

/// One run of `solve`.
class ChainRun {
 public:
  ChainRun(const Scan& scan, const std::optional<Reconstruction>& start,
           const SolverOptions& options, const SolverWatch& watch)
      : problem_(make_problem(scan, options, start)),
        watch_(watch),
        key_(run_key(problem_, start)),
        has_start_(start.has_value()),
        progress_("solve", passes_of(options.chain), "patterns") {
    const bool goes_on =
        watch.resume && !watch.checkpoint.empty() && std::filesystem::exists(watch.checkpoint);
    if (!goes_on) {
      if (watch.resume) note("no checkpoint {}: the solvers start anew", watch.checkpoint.string());
      chain_.state = start_state(problem_, start);
      keep_in_scale();
      return;
    }
    const auto files = files_alone();
    try {
      chain_ = read_chain(watch.checkpoint, problem_, start_state(problem_, start), key_);
    } catch (const InvalidInput& error) {
      throw BadCheckpoint(error.what());
    }
    before_seconds_ = chain_.seconds;
    note("resumed from {} at pass {}", watch.checkpoint.string(), chain_.total + 1);
  }

  SolveResult run() {
    while (chain_.link < links().size()) {
      if (!chain_.solver) chain_.solver = link().make();
      if (!pass()) return finish(ChainEnd::diverged);
      if (interrupted() || (watch_.stop && watch_.stop(chain_.total)))
        return finish(ChainEnd::interrupted);
      checkpoint_now_and_then();
    }
    if (!watch_.keep_checkpoint) remove_if_possible({watch_.checkpoint});
    return finish(ChainEnd::done);
  }

 private:
  const Chain& links() const { return problem_.options.chain; }
  const ChainLink& link() const { return links()[chain_.link]; }

  std::unique_lock<std::mutex> files_alone() const {
    return watch_.files ? std::unique_lock(*watch_.files) : std::unique_lock<std::mutex>();
  }

  /// False if the solver has diverged; then the state is the best one again.
  bool pass() {
    add_modes();
    const SolverState before =
        chain_.solver->writes_in_place() ? chain_.state.clone() : chain_.state;
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
    keep_in_scale();
    watch_the_beam();
    keep_if_best(before, loss);
    advance(loss);
    return true;
  }

  /// A probe that grows while the object shrinks gives the same patterns, and priors and limits of
  /// the object would lose their meaning.
  void keep_in_scale() {
    if (problem_.options.fixed_probe) return;
    share_power(chain_.state, probe_power(problem_.scan.probe()));
    constrain(problem_, chain_.state);
  }

  /// Per photon, of a few patterns.
  double loss_at_start(const SolverState& state) const {
    const std::int64_t few = std::min(kStartPatterns, problem_.patterns());
    const at::Tensor batch =
        (at::arange(few, problem_.frames.options()) * problem_.patterns()).floor_divide(few);
    const double share = static_cast<double>(few) / static_cast<double>(problem_.patterns());
    const double loss = gradient(problem_, state, batch, chain_.solver->gradient_options()).loss;
    return loss / (share * problem_.photons);
  }

  void add_modes() {
    const std::int64_t wait = std::min(kPassesBeforeModes, passes_of(links()) / 10);
    const SolverOptions& options = problem_.options;
    // A probe that is kept, or that has more modes already, keeps its own.
    if (options.fixed_probe || chain_.total < wait || chain_.state.modes() >= options.modes) return;
    chain_.state.probe =
        with_modes(chain_.state.main_probe(), options.modes, options.mode_power).unsqueeze(0);
    chain_.has_best = false;  // new modes make the fit worse before they make it better
  }

  /// Fits the beam's intensity in each pattern from here on where the image tells that it changes.
  void watch_the_beam() {
    const bool asked = problem_.options.intensities == IntensityFreedom::automatic;
    const std::int64_t made = chain_.total + 1;
    const bool last = chain_.epoch + 1 == link().epochs && made > kPassesBeforeIntensities;
    if (!asked || chain_.state.intensities.defined() || (made != kPassesBeforeIntensities && !last))
      return;
    const Engine engine = chain_.solver->gradient_options().engine;
    const double spread = intensity_spread(problem_, chain_.state, engine);
    const double counts = problem_.photons / static_cast<double>(problem_.patterns());
    if (spread < std::max(kBeamChanges, kBeamChangesByNoise / std::sqrt(counts))) return;
    note("the beam changes by {:.0f} % from pattern to pattern: its intensity is fitted in each",
         100 * spread);
    free_intensities(problem_, chain_.state, engine);
    chain_.solver->variables_changed();
    chain_.has_best = false;
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
                   fmt::format("{}  loss {:.5f}", link().solver, loss), loss);
    const bool ends = chain_.epoch == link().epochs || still() || (on_plateau() && !skips_passes());
    if (chain_.total % problem_.options.every == 0 || ends) evaluate_held_out(loss);
    if (!ends) return;
    straighten_probe(problem_, chain_.state);
    chain_.solver.reset();
    chain_.epoch = chain_.stretch = 0;
    chain_.has_best = false;
    chain_.earlier_object = at::Tensor();
    ++chain_.link;
  }

  /// Whether the image hardly moves any more.
  bool still() {
    const double limit = chain_.solver->plateau().still;
    if (limit == 0 || chain_.epoch % kStillPasses != 0) return false;
    const at::Tensor before = std::exchange(chain_.earlier_object, chain_.state.object.clone());
    if (!before.defined()) return false;
    const double moved = image_movement(problem_, chain_.state, before);
    if (moved >= limit) return false;
    detail(
        "{}: the image is still after {} passes (the last {} moved it by {:.2g} of its contrast)",
        link().solver, chain_.epoch, kStillPasses, moved);
    return true;
  }

  bool on_plateau() {
    const double share = chain_.solver->plateau().share;
    if (share == 0 || chain_.stretch < static_cast<std::int64_t>(2 * kPlateauPasses)) return false;
    const auto last = chain_.losses.end();
    const double now = *std::min_element(last - kPlateauPasses, last);
    const double then = *std::min_element(last - 2 * kPlateauPasses, last - kPlateauPasses);
    return then - now <= share * std::abs(then);
  }

  /// On a plateau: half of the passes that are left where that makes the steps fall sooner. False
  /// if the link ends here.
  bool skips_passes() {
    const bool skips = chain_.solver->plateau().skips_passes;
    const std::int64_t skipped = skips ? (link().epochs - chain_.epoch) / 2 : 0;
    detail("{}: on a plateau after {} passes; {}", link().solver, chain_.epoch,
           skips ? fmt::format("{} are skipped, so that its steps fall", skipped) : "it ends");
    chain_.epoch += skipped;
    chain_.stretch = 0;
    return skips;
  }

  void evaluate_held_out(double loss) {
    Evaluation found{.epoch = chain_.total,
                     .seconds = chain_.seconds + running_.seconds(),
                     .loss_per_photon = loss};
    const Reconstruction image = finished(problem_, chain_.state, chain_.losses);
    const at::Tensor held_out = problem_.scan.frames_with(FrameUse::held_out);
    if (held_out.size(0) > 0) {
      const DataFit fit = data_fit(image, problem_.scan, held_out, true);
      found.held_out_r_factor = fit.r_factor;
      found.held_out_deviance_per_photon = fit.deviance_per_photon;
      detail("pass {} of {} ({}): held-out R {:.4f}, deviance per photon {:.5f}", chain_.total,
             passes_of(links()), link().solver, fit.r_factor, fit.deviance_per_photon);
    }
    chain_.evaluations.push_back(found);
    if (watch_.evaluated) watch_.evaluated(image, found);
  }

  void checkpoint_now_and_then() {
    if (watch_.checkpoint.empty() || chain_.link == links().size() ||
        since_save_.seconds() < checkpoint_seconds())
      return;
    write_checkpoint();
  }

  /// What cannot be written is a warning: the work itself is not lost.
  void write_checkpoint() {
    if (!chain_.solver) chain_.solver = link().make();
    chain_.seconds += running_.seconds();
    running_ = Stopwatch();
    const auto files = files_alone();
    try {
      write_chain(watch_.checkpoint, chain_, problem_, key_);
      send_event("checkpoint", {{"file", watch_.checkpoint.string()}, {"done", chain_.total}});
    } catch (const std::exception& error) {
      warn("{}: the checkpoint could not be written, --resume cannot go on from here: {}",
           watch_.checkpoint.string(), error.what());
    }
    since_save_ = Stopwatch();
  }

  SolveResult finish(ChainEnd end) {
    if (problem_.shares)
      detail("{} ranks, {} between rank 0 and the others so far", ranks().all,
             bytes_text(bytes_between_ranks()));
    if (end == ChainEnd::interrupted && chain_.link == links().size()) end = ChainEnd::done;
    if (end == ChainEnd::interrupted && !watch_.checkpoint.empty()) write_checkpoint();
    return {finished(problem_, chain_.state, chain_.losses), end, chain_.evaluations,
            before_seconds_};
  }

  SolverProblem problem_;
  SolverWatch watch_;
  RunKey key_;
  bool has_start_;
  ChainState chain_;
  Progress progress_;
  Stopwatch running_, since_save_;
  double before_seconds_ = 0;
};

}  // namespace

RunKey run_key(const SolverProblem& problem, const std::optional<Reconstruction>& start) {
  const auto* there = std::get_if<NearField>(&problem.propagation);
  const NearField near = there ? *there : NearField{};
  return {.scan = fmt::format("{} near {} {} {}", fingerprint(problem.scan), near.wavelength_m,
                              near.pixel_m, near.distance_m),
          .start =
              start ? fmt::format("{:.17g}", fingerprint(start->object) + fingerprint(start->probe))
                    : "flat",
          .options = key_of(problem.options)};
}

void write_key(Hdf5File& file, const std::string& group, const RunKey& key) {
  file.set(group, "scan", key.scan);
  file.set(group, "start", key.start);
  file.set(group, "options", to_text(key.options));
}

void require_same_run(const Hdf5File& file, const std::string& group, const RunKey& key) {
  const auto options = file.text(group, "options");
  require(
      options.has_value(), "{}",
      "expected the state of a chain of solvers, found another file or that of another version; "
      "remove it");
  std::vector<std::string> found = differences(key.options, key_from(*options));
  if (file.text(group, "scan").value_or("") != key.scan)
    found.insert(found.begin(), "the scan, or how it is read, is another one");
  if (file.text(group, "start").value_or("") != key.start)
    found.insert(found.begin(), "--start is another image");
  require(found.empty(),
          "the checkpoint is of another run: {}; remove it or repeat the options of that run",
          fmt::join(found, "; "));
}

SolveResult solve(const Scan& scan, const std::optional<Reconstruction>& start,
                  const SolverOptions& options, const SolverWatch& watch) {
  const at::NoGradGuard no_grad;
  const CatchInterrupts catching;
  return ChainRun(scan, start, options, watch).run();
}

}  // namespace ptyche
