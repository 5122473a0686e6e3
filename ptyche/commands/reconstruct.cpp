// The whole path in one verb: the first thing a reader should open. Solvers that fit themselves to
// the scan, or, where it is asked for, a network that is trained on the scan and then refined.
#include <ATen/ATen.h>

#include <memory>

#include "ptyche/commands/automatic_run.h"
#include "ptyche/commands/checked_scan.h"
#include "ptyche/commands/command_line.h"
#include "ptyche/commands/kept_probes.h"
#include "ptyche/commands/memory_plan.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/result_arrays.h"
#include "ptyche/commands/run_result.h"
#include "ptyche/commands/several_scans.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/ranks.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/infer/infer.h"
#include "ptyche/io/product.h"
#include "ptyche/model/model.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/solve/refine.h"
#include "ptyche/solve/shares.h"
#include "ptyche/train/together.h"

namespace ptyche {
namespace {

struct ReconstructOptions : TrainingChoices {
  ProbeChoice probe;
  InferOptions infer;
  std::string network = "none";  ///< none, auto (the default number of epochs) or epochs
  std::string refine = "auto", keep_probe;
  IntensityFreedom intensities = IntensityFreedom::automatic;
  bool half_sets = false, no_check = false, no_verdict = false, own_probes = false, arrays = false;
  std::vector<std::filesystem::path> scans;

  ReconstructOptions() { scan.hold_out.reset(); }
};

constexpr const char* kRefineCheckpoint = "refine_checkpoint.h5";

Command declare(const std::shared_ptr<ReconstructOptions>& options);

RefineOptions refinement_of(const ReconstructOptions& options, const Scan& scan) {
  return {.passes = refine_passes(options.refine, scan.frames_with(FrameUse::used).size(0)),
          .fixed_probe = options.train.fixed_probe,
          .background = options.train.background,
          .intensities = options.intensities,
          .seed = options.train.seed,
          .device = options.train.device};
}

/// What the unseen patterns alone give, each seen for the first time, in one forward pass.
std::vector<ExtraImage> infer_unseen(const Model& model, const Scan& scan, InferOptions options) {
  options.frames = FrameUse::unseen;
  if (scan.frames_with(FrameUse::unseen).size(0) == 0) return {};
  return {{.title = "Unseen half",
           .caption = "Patterns that training never saw, one forward pass each, stitched.",
           .image = network_image(model, scan, options)}};
}

/// A scan to its image by a network of its own, without leaving a file: what each half set runs.
Reconstruction image_of(const Scan& scan, ReconstructOptions options) {
  options.train.checkpoint.clear();
  options.train.resume = false;
  const Groups groups = groups_for(scan, options);
  const Model model = train_by_ranks({{.scan = scan, .groups = groups}}, options.train);
  return refine(scan, network_image(model, scan, options.infer), refinement_of(options, scan));
}

/// An image, and whether Ctrl-C ended it before its time.
struct Refined {
  Reconstruction image;
  bool stopped = false;
};

Refined refine_or_stop(const Scan& scan, const Reconstruction& before, const RefineOptions& how,
                       const SolverWatch& keep) {
  try {
    return {refine(scan, before, how, keep)};
  } catch (const InterruptedRefinement& stop) {
    return {stop.image, true};
  }
}

/// The network's image, with a note, where the refinement made held-out patterns worse.
Refined kept_if_better(Refined result, const Reconstruction& before, const Scan& scan,
                       RefinementGain& gain) {
  const at::Tensor held_out = scan.frames_with(FrameUse::held_out);
  if (held_out.size(0) == 0) return result;
  gain.held_out_before = data_fit(before, scan, held_out, true);
  if (gain.passes == 0) return result;
  const DataFit after = data_fit(result.image, scan, held_out, true);
  if (after.deviance_per_photon <= gain.held_out_before->deviance_per_photon) return result;
  note(
      "the refinement is undone: it made the held-out patterns worse ({:.4g} per photon after, "
      "{:.4g} before)",
      after.deviance_per_photon, gain.held_out_before->deviance_per_photon);
  gain.undone = after;
  result.image = before;
  return result;
}

/// The image that a solver makes of the network's, and what that took and gave.
Refined refined(const Scan& scan, const Reconstruction& before, const ReconstructOptions& options,
                RefinementGain& gain) {
  const Stopwatch watch;
  const RefineOptions how = refinement_of(options, scan);
  Refined result = refine_or_stop(scan, before, how,
                                  {.checkpoint = options.output / kRefineCheckpoint,
                                   .resume = options.train.resume,
                                   .keep_checkpoint = true});
  gain.passes = result.stopped ? static_cast<std::int64_t>(result.image.loss.size()) : how.passes;
  gain.seconds = watch.seconds();
  return kept_if_better(std::move(result), before, scan, gain);
}

Attempt attempt_of(const RefinementGain& gain) {
  return {.what = "refinement by a solver",
          .passes = gain.passes,
          .seconds = gain.seconds,
          .kept = !gain.undone};
}

/// How the result of a training is judged: beside a converged image with the solver's freedom.
JudgeOptions judge_options(const ReconstructOptions& options, const Reconstruction& image,
                           bool is_refined) {
  SolverOptions solver{.chain = {}};
  solver.modes = image.modes();
  solver.fixed_probe = options.train.fixed_probe;
  solver.background = options.train.background;
  if (is_refined) solver.positions = PositionFreedom::jitter;
  solver.seed = options.train.seed;
  return {.solver = solver, .converged = false};
}

AutomaticOptions automatic_options(const ReconstructOptions& options, const FirstProbe& first) {
  return {.fixed_probe = options.train.fixed_probe,
          .intensities = options.intensities,
          .seed = options.train.seed,
          .put_aside = first.put_aside};
}

/// Without a network: the automatic chain of solvers.
void reconstruct_by_solvers(const ReconstructOptions& options, const std::string& options_json) {
  const Stopwatch watch;
  const RunRecord record(options_json, options.train.seed);
  const bool resume = options.train.resume;
  const OutputFolder folder(options.output, folder_use(options.overwrite, resume),
                            image_files(kAutomaticCheckpoint));
  FirstProbe first =
      prepared_scan(options.scan, options.no_check, options.probe, kept_in(options.output, resume));
  write_bright_field(options.output, first.bright_field);
  if (options.half_sets) require_halves(first.scan);
  first.scan = shared_by_ranks(first.scan);
  tell_memory_plan(first.scan, PlannedWork::solve);
  const AutomaticOptions chain = automatic_options(options, first);
  const AutomaticResult result =
      run_automatically(first.scan, {}, chain, options.output, resume, record, options.arrays);
  const Scan scan = scan_of_result(first.scan, result);
  Scores scores{.probe = score_of(first), .seconds = result.seconds_before + watch.seconds()};
  if (options.half_sets && result.end == ChainEnd::done) {
    write_reconstruction(options.output / "reconstruction.h5", result.image);
    scores.half_sets = write_half_sets(
        options.output, scan, [&](const Scan& half) { return automatic_image(half, chain); });
  }
  const bool judge = !options.no_verdict && result.end == ChainEnd::done;
  JudgeOptions how = judge_options(result);
  how.doubt = first.doubt;
  if (judge) scores.verdict = judged(scan, result.image, how);
  write_image(options.output, result.image, scan, scores, {});
  if (options.arrays) write_arrays(options.output, result.image);
  if (result.end == ChainEnd::done) keep_probe_of(options.keep_probe, result.image, scores.verdict);
  // Only now: until the image is written, the checkpoint is all that there is of the work.
  const std::filesystem::path checkpoint = options.output / kAutomaticCheckpoint;
  const std::filesystem::path first_probe = options.output / kFirstProbeFile;
  if (result.end == ChainEnd::done) remove_if_possible({first_probe, checkpoint});
  require_whole(result.end, options.output, std::filesystem::exists(checkpoint));
  require_not_failed(scores.verdict, judge, options.output);
}

/// By a network that is trained on the scan, and a solver that starts from its image.
void reconstruct_by_training(ReconstructOptions options, const std::string& options_json) {
  const Stopwatch watch;
  const RunRecord record(options_json, options.train.seed);
  refine_passes(options.refine, 1);  // refused now and not after the training
  RunFiles files = joined(model_files(), image_files());
  files.names.emplace_back("network.h5");
  files.last = "report.html";
  const OutputFolder folder(options.output, folder_use(options.overwrite, options.train.resume),
                            files);
  const FirstProbe first = prepared_scan(options.scan, options.no_check, options.probe,
                                         kept_in(options.output, options.train.resume));
  write_bright_field(options.output, first.bright_field);
  const Scan scan = shared_by_ranks(first.scan);
  tell_memory_plan(scan, PlannedWork::train);
  if (options.half_sets) require_halves(scan);
  const Groups groups = groups_for(scan, options);
  const Model model = train(scan, groups, options.train);
  write_training(options.output, model);
  Reconstruction before = network_image(model, scan, options.infer);
  record.stamp(before, model, {});
  write_reconstruction(options.output / "network.h5", before);
  show_image_so_far(options.output, before, options.arrays);
  std::vector<ExtraImage> extras = infer_unseen(model, scan, options.infer);
  RefinementGain gain;
  auto [image, stopped] = refined(scan, before, options, gain);
  const bool is_refined = gain.passes > 0 && !gain.undone;
  if (is_refined) record.stamp(image, model, {attempt_of(gain)});
  Scores scores{.probe = score_of(first), .seconds = model.seconds_before + watch.seconds()};
  if (gain.passes > 0) scores.refinement = gain;
  if (options.half_sets && !stopped) {
    write_reconstruction(options.output / "reconstruction.h5", image);  // before more long work
    scores.half_sets = write_half_sets(options.output, scan,
                                       [&](const Scan& half) { return image_of(half, options); });
  }
  if (is_refined)
    extras.push_back({.title = "Before refinement",
                      .caption = "The network's image, from which the solver started (network.h5).",
                      .image = before});
  const bool judge = !options.no_verdict && !stopped;
  JudgeOptions how = judge_options(options, image, is_refined);
  how.doubt = first.doubt;
  if (judge) scores.verdict = judged(scan, image, how);
  write_image(options.output, image, scan, scores, extras);
  if (options.arrays) write_arrays(options.output, image);
  if (stopped)
    throw Interrupted(fmt::format(
        "stopped during the refinement, after {} passes; image and state are kept in {}, --resume "
        "goes on",
        gain.passes, options.output.string()));
  keep_probe_of(options.keep_probe, image, scores.verdict);
  // Only now: with them a run that is ended in the refinement need not train or refine again.
  remove_if_possible({options.output / kRefineCheckpoint, options.output / kFirstProbeFile,
                      options.train.checkpoint});
  require_not_failed(scores.verdict, judge, options.output);
}

/// Under one name: --batch-size is PtychoPINN's word for a batch of training.
Field batch_option(InferOptions& options) {
  const std::vector<Field> all = fields(options);
  Field batch = *find_field(all, "batch");
  batch.aliases.clear();
  return batch;
}

/// Options that say how a network is made and run.
std::vector<Field> network_fields(ReconstructOptions& options) {
  return joined(
      {fields(options.group),
       fields(options.train),
       {batch_option(options.infer),
        {.name = "refine",
         .target = &options.refine,
         .help = "passes of a solver that starts from the network's image (ml, 3 probe modes, "
                 "positions, background); none or auto"}}});
}

/// Throws UsageError for an option that says how a network is trained where none is.
void require_no_network_options(ReconstructOptions options) {
  ReconstructOptions usual;
  for (const std::string& name : given(network_fields(options), network_fields(usual)))
    if (name != "fixed-probe" && name != "seed" && name != "resume" &&
        (name != "device" || options.train.device != usual.train.device))
      throw UsageError(fmt::format(
          "--{}: nothing looks at it unless a network is trained on the scan (--train)", name));
}

/// Values that follow from others.
ReconstructOptions resolved(ReconstructOptions options) {
  if (options.network == "none") {
    require_no_network_options(options);
    options.scan.seed = options.train.seed;
    use_threads(options.threads);
    use_memory(options.memory);
    settle_ranks({options.threads, options.memory.bytes});
    return options;
  }
  if (options.scan.near_field)
    throw UsageError("--near-field: networks know the far field only; it goes without --train");
  if (options.network != "auto") {
    const std::vector<Field> all = fields(options.train);
    assign(*find_field(all, "epochs"), options.network);
  }
  options.resolve();
  require_own_grouping(options);
  options.infer.precision = options.train.precision;
  options.infer.engine = options.train.engine;
  options.infer.device = options.train.device;
  return options;
}

void reconstruct_one(const ReconstructOptions& options, const std::string& options_json) {
  require_can_keep(options.keep_probe);
  if (options.network == "none") return reconstruct_by_solvers(options, options_json);
  reconstruct_by_training(options, options_json);
}

/// The choices for one of several scans: its file and folder, and the probe of the one before it.
ReconstructOptions choices_for(ReconstructOptions options, const ScanJob& job,
                               const std::filesystem::path& out,
                               const std::filesystem::path& before) {
  options.scan.file = job.file;
  options.scan.scan_index = job.scan_index;
  options.output = out;
  options.train.checkpoint = out / "checkpoint.ptyche";
  const bool carried = !options.own_probes && options.probe.probe == "auto" && !before.empty();
  if (carried && probe_fits(before, options.scan)) {
    options.probe.probe = before.string();
    note("it starts from the probe of {} (--own-probes: each from its own)",
         before.parent_path().filename().string());
  }
  return options;
}

void reconstruct(const ReconstructOptions& options, const std::string& options_json) {
  const std::vector<ScanJob> jobs = scan_jobs(options.scans, options.scan);
  if (jobs.size() == 1 && options.scans.size() == 1 && jobs.front().file == options.scans.front())
    return reconstruct_one(choices_for(options, jobs.front(), options.output, {}), options_json);
  if (!options.keep_probe.empty())
    throw UsageError("--keep-probe: expected one scan, whose probe has the name");
  run_scans(jobs, options.output, [&](const ScanJob& job, const auto& out, const auto& before) {
    reconstruct_one(choices_for(options, job, out, before), options_json);
  });
}

/// none, auto or a number of epochs, whose range `resolved` checks.
TextTarget epochs_or_word(std::string& network) {
  return {.get = [&network] { return network; },
          .set =
              [&network](const std::string& text) {
                const bool number =
                    !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
                require(number || text == "auto" || text == "none",
                        "--train: expected none, auto or a number of epochs, found '{}'", text);
                network = text;
              }};
}

Command declare(const std::shared_ptr<ReconstructOptions>& options) {
  return {
      .name = "reconstruct",
      .summary = "from a scan to its image, scored and drawn",
      .description =
          "Solvers that fit themselves to the scan: what is tried on the way is judged by patterns "
          "that are held out, and it ends when the image stands still. A first image is in the "
          "output folder after a few seconds. With --train a network is trained on the scan "
          "itself, without labels, through the physics of diffraction; every pattern then gives "
          "its patch in one pass, the patches are stitched and a solver refines them. Leaves "
          "reconstruction.h5, pictures, scores.json and report.html in the output folder, and "
          "attempts.csv or model.ptyche.",
      .arguments = {{"SCAN", &options->scans,
                     scan_formats() +
                         " file; of several (patterns with * and ? too) each goes "
                         "into a folder of its own in the output folder, and a table comes at the "
                         "end"}},
      .options = joined(
          {{output_dir_option(options->output), overwrite_option(options->overwrite)},
           fields(options->probe),
           {keep_probe_option(options->keep_probe)},
           fields(options->scan),
           {no_check_option(options->no_check), intensities_field(options->intensities)},
           {{.name = "half-sets",
             .target = &options->half_sets,
             .help = "two more images, of the odd and of the even patterns, and their correlation; "
                     "takes twice the time"},
            no_verdict_option(options->no_verdict),
            arrays_option(options->arrays),
            {.name = "own-probes",
             .target = &options->own_probes,
             .help = "each scan's own probe as its first, not that of the scan before"},
            {.name = "train",
             .target = epochs_or_word(options->network),
             .help = "epochs of a network that is trained on the scan first (the bare option: "
                     "auto), with the options from group-size on; none = solvers alone",
             .implied = "auto"}},
           network_fields(*options),
           {threads_option(options->threads)},
           fields(options->memory)}),
      .references = {"O. Hoidn, A. A. Mishra, A. Mehta, Sci. Rep. 13, 22789 (2023)",
                     "A. Maiden, D. Johnson, P. Li, Optica 4, 736 (2017)",
                     "M. van Heel, M. Schatz, J. Struct. Biol. 151, 250 (2005)"},
      .run = [options] { reconstruct(resolved(*options), options_as_json(declare(options))); },
      .basic = {"output-dir", "overwrite", "resume", "probe", "energy", "distance",
                "detector-pixel", "mask", "no-check", "no-verdict", "train", "threads"},
      .on_ranks = true};
}

}  // namespace

Command reconstruct_command() { return declare(std::make_shared<ReconstructOptions>()); }

}  // namespace ptyche
