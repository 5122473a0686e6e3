// A scan to its image by iterative solvers, without a network or from its image.
#include "ptyche/solve/solve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <any>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "ptyche/commands/automatic_run.h"
#include "ptyche/commands/checked_scan.h"
#include "ptyche/commands/command_line.h"
#include "ptyche/commands/kept_probes.h"
#include "ptyche/commands/memory_plan.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/result_arrays.h"
#include "ptyche/commands/run_result.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/product.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/result.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/prepare/position_search.h"
#include "ptyche/report/report.h"
#include "ptyche/solve/shares.h"
#include "ptyche/solve/solver.h"

namespace ptyche {
namespace {

/// What was given for an option that only some solvers have; neither = each solver's own default.
struct GivenValue {
  std::optional<double> number = {};
  std::string word = "auto";
};

struct SolveVerbOptions {
  ReadOptions scan{.hold_out = std::nullopt};
  ProbeChoice probe;
  SolverOptions solver = {.chain = {}};
  std::int64_t threads = 0;
  MemoryOptions memory;
  std::map<std::string, GivenValue> of_solvers;  ///< by option
  std::filesystem::path start, output;
  std::string keep_probe;
  bool overwrite = false;
  bool resume = false, half_sets = false, no_check = false, no_verdict = false, arrays = false;
};

constexpr const char* kCheckpoint = "solve_checkpoint.h5";

std::string checkpoint_name(const SolveVerbOptions& options) {
  return options.solver.chain.empty() ? kAutomaticCheckpoint : kCheckpoint;
}

Command declare(const std::shared_ptr<SolveVerbOptions>& options);

/// Throws UsageError for an option that the automatic chain chooses by itself.
void require_automatic(const SolveVerbOptions& options) {
  SolverOptions own = options.solver, usual{.chain = {}};
  std::vector<std::string> names = given(
      without(fields(own), {"fixed-probe", "intensities", "interpolation", "seed", "every"}),
      without(fields(usual), {"fixed-probe", "intensities", "interpolation", "seed", "every"}));
  for (const auto& [name, value] : options.of_solvers)
    if (value.number || value.word != "auto") names.push_back(name);
  if (!names.empty())
    throw UsageError(fmt::format(
        "--{0}: --solver auto chooses it by itself; name a chain to set it, e.g. --solver ml:40",
        names.front()));
}

/// Values that follow from others. Throws InvalidInput for an option that no solver of the chain
/// has.
SolveVerbOptions resolved(SolveVerbOptions options) {
  if (options.solver.chain.empty()) require_automatic(options);
  options.scan.seed = options.solver.seed;
  if (!options.start.empty()) options.start = result_file(options.start);
  for (const auto& [name, given] : options.of_solvers) {
    if (given.number) set_option(options.solver, name, fmt::format("{}", *given.number));
    if (given.word != "auto") set_option(options.solver, name, given.word);
  }
  return options;
}

/// One line per evaluation: what a person plots to see how the chain went.
void write_progress(const std::filesystem::path& folder,
                    const std::vector<Evaluation>& evaluations) {
  std::string table =
      "pass,seconds,loss_per_photon,held_out_r_factor,held_out_deviance_per_photon\n";
  for (const Evaluation& each : evaluations)
    table += fmt::format("{},{:.3f},{:.8g},{:.8g},{:.8g}\n", each.epoch, each.seconds,
                         each.loss_per_photon, each.held_out_r_factor,
                         each.held_out_deviance_per_photon);
  write_text(folder / "progress.csv", table);
}

AutomaticOptions automatic_options(const SolveVerbOptions& options, const FirstProbe& first) {
  return {.fixed_probe = options.solver.fixed_probe,
          .intensities = options.solver.intensities,
          .interpolation = options.solver.interpolation,
          .seed = options.solver.seed,
          .put_aside = options.start.empty() ? first.put_aside : at::Tensor()};
}

/// One half's image, from a flat object: what --start gives knows the patterns of both halves.
Reconstruction half_image(const Scan& half, const SolveVerbOptions& options,
                          const AutomaticOptions& automatic) {
  if (options.solver.chain.empty()) return automatic_image(half, automatic);
  const SolveResult result = solve(half, {}, options.solver);
  if (result.end == ChainEnd::interrupted) throw Interrupted("stopped during the half sets");
  require(result.end == ChainEnd::done, "{}", "the solver diverged");
  return result.image;
}

/// How far the images of the two halves agree; nothing, with a warning, where one has no image.
std::optional<Comparison> agreement_of_halves(const SolveVerbOptions& options,
                                              const AutomaticOptions& automatic, const Scan& scan) {
  if (!options.start.empty()) note("the half sets begin with a flat object and not with --start");
  try {
    return write_half_sets(options.output, scan,
                           [&](const Scan& half) { return half_image(half, options, automatic); });
  } catch (const std::runtime_error& error) {  // InvalidInput or Interrupted
    warn("no half-set scores: {}", error.what());
  }
  return std::nullopt;
}

/// A chain's result, and how its image is to be judged.
struct Solved {
  SolveResult result;
  JudgeOptions judge;
  Scan scan;  ///< without patterns that were left out
};

/// What a named chain did.
Attempt attempt_of(const Chain& chain, const SolveResult& result) {
  std::string links;
  for (const ChainLink& link : chain)
    links += fmt::format("{}{}:{}", links.empty() ? "" : ",", link.solver, link.epochs);
  Attempt done{
      .what = links, .passes = static_cast<std::int64_t>(result.image.loss.size()), .kept = true};
  if (result.evaluations.empty()) return done;
  done.seconds = result.evaluations.back().seconds;
  done.held_out_deviance = result.evaluations.back().held_out_deviance_per_photon;
  return done;
}

/// The named chain, or the automatic one.
Solved solved(const Scan& scan, const std::optional<Reconstruction>& start,
              const SolveVerbOptions& options, const AutomaticOptions& automatic,
              const RunRecord& record, const std::filesystem::path& checkpoint) {
  if (options.solver.chain.empty()) {
    AutomaticResult found = run_automatically(scan, start, automatic, options.output,
                                              options.resume, record, options.arrays);
    JudgeOptions judge = judge_options(found);
    judge.own_probe = start.has_value();
    Scan rest = scan_of_result(scan, found);
    return {{std::move(found.image), found.end, {}, found.seconds_before},
            std::move(judge),
            std::move(rest)};
  }
  SolveResult result = solve(scan, start, options.solver,
                             {.evaluated =
                                  [&](Reconstruction image, const Evaluation&) {
                                    record.stamp(image, {});
                                    write_pictures(options.output, image);
                                    show_image_so_far(options.output, image, options.arrays);
                                  },
                              .checkpoint = checkpoint,
                              .resume = options.resume,
                              .keep_checkpoint = true});
  record.stamp(result.image, {attempt_of(options.solver.chain, result)});
  warn_on_error("progress.csv", [&] { write_progress(options.output, result.evaluations); });
  return {std::move(result),
          {.solver = options.solver, .converged = false, .own_probe = start.has_value()},
          scan};
}

/// --start brings its own probe along.
ProbeChoice probe_choice(const SolveVerbOptions& options) {
  ProbeChoice choice = options.probe;
  if (!options.start.empty() && choice.probe == "auto") choice.probe = "scan";
  return choice;
}

/// Without a chain the default's.
PlannedWork work_of(const Chain& chain) {
  const bool history = chain.empty() || std::ranges::any_of(chain, [](const ChainLink& link) {
                         return link.solver == "lbfgs";
                       });
  return history ? PlannedWork::solve : PlannedWork::solve_without_history;
}

void run_solve(const SolveVerbOptions& options, const std::string& options_json) {
  const Stopwatch stopwatch;
  const RunRecord record(options_json, options.solver.seed);
  use_threads(options.threads);
  use_memory(options.memory);
  settle_ranks({options.threads, options.memory.bytes});
  require_can_keep(options.keep_probe);
  const OutputFolder folder(options.output, folder_use(options.overwrite, options.resume),
                            image_files(checkpoint_name(options)));
  if (!options.start.empty()) reader_of(options.start, Content::object);  // refused at once
  FirstProbe first = prepared_scan(options.scan, options.no_check, probe_choice(options),
                                   kept_in(options.output, options.resume));
  write_bright_field(options.output, first.bright_field);
  std::optional<Reconstruction> start;
  if (!options.start.empty()) start = read_start(options.start, first.scan);
  if (start && start->provenance.input_hash == first.scan.input_hash())
    first.scan = turned_like(first.scan, start->positions);
  if (options.half_sets) require_halves(first.scan);
  first.scan = shared_by_ranks(first.scan);
  tell_memory_plan(first.scan, work_of(options.solver.chain));
  const std::filesystem::path checkpoint = options.output / checkpoint_name(options);
  const AutomaticOptions automatic = automatic_options(options, first);
  auto [result, how, scan] = solved(first.scan, start, options, automatic, record, checkpoint);
  how.doubt = first.doubt;
  Scores scores{.probe = score_of(first), .seconds = result.seconds_before + stopwatch.seconds()};
  if (result.end == ChainEnd::diverged)
    scores.passes_before_divergence = static_cast<std::int64_t>(result.image.loss.size());
  if (options.half_sets && result.end != ChainEnd::done)
    warn("no half-set scores: the solver did not come to its end");
  if (options.half_sets && result.end == ChainEnd::done) {
    write_reconstruction(options.output / "reconstruction.h5", result.image);
    scores.half_sets = agreement_of_halves(options, automatic, scan);
  }
  const bool judge = !options.no_verdict && result.end == ChainEnd::done && !interrupted();
  if (judge) scores.verdict = judged(scan, result.image, how);
  write_image(options.output, result.image, scan, scores, {});
  if (options.arrays) write_arrays(options.output, result.image);
  if (result.end == ChainEnd::done) keep_probe_of(options.keep_probe, result.image, scores.verdict);
  // Only now: until the image is written, the checkpoint is all that there is of the work.
  if (result.end == ChainEnd::done)
    remove_if_possible({options.output / kFirstProbeFile, checkpoint});
  require_whole(result.end, options.output, std::filesystem::exists(checkpoint));
  if (options.half_sets && !scores.half_sets && interrupted())
    throw Interrupted("stopped during the half sets; the image of all patterns is kept in " +
                      options.output.string());
  require_not_failed(scores.verdict, judge, options.output);
}

/// An option of one solver, with its default.
struct OptionOfSolver {
  std::string solver;
  Field field;
  std::string value;
};

using Words = std::vector<std::string>;

/// The value under `key`, empty at first; keys stay in the order in which they came.
template <class Value>
Value& at_key(std::vector<std::pair<std::string, Value>>& list, const std::string& key) {
  for (auto& [name, value] : list)
    if (name == key) return value;
  return list.emplace_back(key, Value{}).second;
}

/// The options that are not common to all solvers, by name; each list in the order of the solvers.
std::vector<std::pair<std::string, std::vector<OptionOfSolver>>> options_of_solvers() {
  std::vector<std::pair<std::string, std::vector<OptionOfSolver>>> all;
  const SolverOptions refining{.background = true, .positions = PositionFreedom::affine};
  for (const SolverEntry& entry : solvers()) {
    std::any options = entry.options;
    for (const Field& field : entry.fields(options, refining))
      if (!field.internal)
        at_key(all, field.name).push_back({entry.name, field, value_text(field)});
  }
  return all;
}

/// "what it is (lsqml: 0.5; epie, rpie: 0)", once for each meaning.
std::string help_of(const std::vector<OptionOfSolver>& options) {
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, Words>>>> meanings;
  for (const auto& [solver, field, value] : options)
    at_key(at_key(meanings, field.help), value).push_back(solver);
  Words texts;
  for (const auto& [help, defaults] : meanings) {
    Words words;
    for (const auto& [value, names] : defaults)
      words.push_back(fmt::format("{}: {}", fmt::join(names, ", "), value));
    texts.push_back(fmt::format("{} ({})", help, fmt::join(words, "; ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// Options that only some solvers have, "auto" being each one's own default.
std::vector<Field> own_option_list(std::map<std::string, GivenValue>& given) {
  std::vector<Field> list;
  for (const auto& [name, options] : options_of_solvers()) {
    const Field& first = options.front().field;
    Field field{.name = name, .unit = first.unit, .help = help_of(options), .range = first.range};
    field.choices = choices_of(first);
    if (field.choices.empty()) {
      field.target = &given[name].number;
    } else {
      field.target = &given[name].word;
      field.choices.insert(field.choices.begin(), "auto");
    }
    list.push_back(field);
  }
  return list;
}

std::vector<Field> solver_option_list(SolveVerbOptions& options) {
  std::vector<Field> common = fields(options.solver);
  std::erase_if(common, [](const Field& field) { return field.internal; });
  for (Field& field : common) field.choices = choices_of(field);
  return joined(
      {common,
       own_option_list(options.of_solvers),
       {{.name = "start",
         .target = &options.start,
         .help = "result to start from, of any program, or its folder; none = a flat object"},
        {.name = "resume",
         .target = &options.resume,
         .help = "continuation from the folder's checkpoint, or a start where there is none"},
        overwrite_option(options.overwrite),
        {.name = "half-sets",
         .target = &options.half_sets,
         .help = "two more images, of the odd and of the even patterns, each from a flat object, "
                 "and their correlation"},
        no_verdict_option(options.no_verdict),
        arrays_option(options.arrays)}});
}

Command declare(const std::shared_ptr<SolveVerbOptions>& options) {
  return {
      .name = "solve",
      .summary = "from a scan to its image by iterative solvers",
      .description =
          "Runs a chain of solvers from a flat object and the file's probe, or from --start. "
          "Leaves "
          "the same files as reconstruct, and progress.csv. Ctrl-C keeps the image and a "
          "checkpoint from which --resume goes on; a solver that diverges is stopped, its best "
          "image "
          "kept and the exit code 1. An option with the default auto belongs to the solvers that "
          "its "
          "text names, with their defaults; it is set in every solver of the chain that has it, "
          "and refused where none has. docs/solvers.md says which solver to choose.",
      .arguments = {{"SCAN", &options->scan.file, scan_formats() + " file"}},
      .options = joined({{output_dir_option(options->output)},
                         solver_option_list(*options),
                         fields(options->probe),
                         {keep_probe_option(options->keep_probe)},
                         fields(options->scan),
                         {no_check_option(options->no_check), threads_option(options->threads)},
                         fields(options->memory)}),
      .references = {"M. Odstrcil, A. Menzel, M. Guizar-Sicairos, Opt. Express 26, 3108 (2018)",
                     "P. Thibault, M. Guizar-Sicairos, New J. Phys. 14, 063004 (2012)",
                     "P. Thibault, A. Menzel, Nature 494, 68 (2013)"},
      .run = [options] { run_solve(resolved(*options), options_as_json(declare(options))); },
      .basic = {"output-dir", "solver", "probe-modes", "refine-positions", "start", "overwrite",
                "resume", "probe", "threads"},
      .on_ranks = true};
}

}  // namespace

Command solve_command() { return declare(std::make_shared<SolveVerbOptions>()); }

}  // namespace ptyche
