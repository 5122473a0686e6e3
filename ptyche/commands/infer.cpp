// The second half of `reconstruct`: a model and a scan to an image.
#include "ptyche/infer/infer.h"

#include <memory>
#include <optional>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/kept_probes.h"
#include "ptyche/commands/memory_plan.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/ptychopinn_words.h"
#include "ptyche/commands/result_arrays.h"
#include "ptyche/commands/run_result.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/infer/trust.h"
#include "ptyche/model/model.h"
#include "ptyche/model/shipped_model.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/prepare/scan_rotation.h"
#include "ptyche/ptychopinn/pictures.h"
#include "ptyche/solve/shares.h"

namespace ptyche {
namespace {

struct InferVerbOptions {
  ReadOptions scan;
  InferOptions infer;
  SubsampleOptions subsample;
  PictureOptions pictures;
  std::filesystem::path test_data, model, output;
  std::string probe = "auto", keep_probe;
  BackendWords backend;
  MemoryOptions memory;
  std::int64_t threads = 0, groups = 0, gridsize = 0, neighbours = 0;
  bool overwrite = false, arrays = false, no_trust = false, no_polish = false;
  std::uint64_t seed = 1;
};

Command declare(const std::shared_ptr<InferVerbOptions>& options);

/// PtychoPINN names the folder of a training.
std::filesystem::path model_file_at(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? path / "model.ptyche" : path;
}

/// What a PtychoPINN user types and nothing here needs.
std::vector<Field> ptychopinn_option_list(InferVerbOptions& options) {
  return {{.name = "n-groups",
           .target = &options.groups,
           .unit = "groups",
           .help = "number of patterns that are inferred, as --n-subsample, which wins where both "
                   "are given",
           .range = {0, 1e9}},
          {.name = "gridsize",
           .target = &options.gridsize,
           .help = "no effect: the model knows how many patterns go in together",
           .range = {0, 8}},
          {.name = "neighbor-count",
           .target = &options.neighbours,
           .unit = "patterns",
           .help = "no effect: the nearest ones go in together",
           .range = {0, 4096}},
          {.name = "comparison-plot",
           .target = &options.pictures.comparison,
           .help = "also comparison_plot.png: the image beside the truth, where the scan has one",
           .affects_result = false}};
}

void note_options_without_effect(const InferVerbOptions& options) {
  note_backend_words(options.backend);
  if (options.gridsize > 0 || options.neighbours > 0)
    note(
        "--gridsize and --neighbor-count: the model knows how many patterns go in together; they "
        "are the nearest ones");
}

/// Values that follow from others. Who names the scan as PtychoPINN does gets its pictures, too.
void resolve_infer(InferVerbOptions& options) {
  options.pictures.image |= !options.test_data.empty();
  if (!options.test_data.empty()) options.scan.file = options.test_data;
  if (options.scan.file.empty())
    throw UsageError("SCAN is missing (" + scan_formats() + " file; --test-data names it too)");
  as_usage([&] { require_phase_range(options.pictures); });
  options.scan.seed = options.seed;
  if (options.subsample.count == 0) options.subsample.count = options.groups;
}

ProbeSource source_of(const std::string& probe) {
  if (probe == "auto") return ProbeSource::automatic;
  return probe == "model" ? ProbeSource::model : ProbeSource::scan;
}

/// The scan with the probe that the option names, and the one that came before it was refined.
struct ScanToInfer {
  RefinedProbe probe;
  at::Tensor first;
};

/// A network of any scan stands and falls with the probe: it gets one that a short solve has
/// refined, from the file's or from one that is found.
ScanToInfer scan_to_infer(const InferVerbOptions& options, const Model& model) {
  const Scan scan = shared_by_ranks(read_turned_scan(options.scan));
  const bool looked_for = options.probe == "auto" || options.probe == "library";
  const bool refined = looked_for && model.any_scan;
  const bool named = source_of(options.probe) == ProbeSource::scan;
  if (!refined && !named) return {{subsample(scan, options.subsample), {}}, scan.probe()};
  const Scan lit = with_first_probe(scan, {.probe = options.probe}).scan;
  RefinedProbe probe =
      refined ? with_refined_probe(lit, options.infer.background) : RefinedProbe{lit, {}};
  probe.scan = subsample(probe.scan, options.subsample);
  return {std::move(probe), refined && scan.probe_given() ? scan.probe() : lit.probe()};
}

/// The trust in an image by the program's network, to whose errors it is calibrated; a warning
/// where the scan is unlike those that the network knows.
std::optional<Trust> trusted(const Agreement& agreement, const Reconstruction& image,
                             const Scan& scan, const at::Tensor& first, const Model& model,
                             const InferOptions& options) {
  try {
    Trust trust = measured_trust(agreement, image, scan, first, model, options);
    if (trust.alarmed())
      warn(
          "the scan is unlike those that the network knows ({:.1f}, alarm above 1), so neither "
          "image nor map of its errors is to be relied on: {}",
          trust.unlike, trust.reason);
    return trust;
  } catch (const Interrupted& stop) {
    warn("no trust: {}", stop.what());
  } catch (const InvalidInput& error) {
    warn("no trust: {}", error.what());
  }
  return std::nullopt;
}

/// A solver's canvases that go to the disk and back take longer than all the rest. On a GPU they
/// are not in this memory.
bool has_room_to_polish(const Scan& scan, at::Device device) {
  if (!device.is_cpu()) return true;
  const double needed = memory_beyond_limit(scan, PlannedWork::polish);
  if (needed > 0)
    warn(
        "the network's image is not polished by maximum likelihood (as with --no-polish): that "
        "takes {} of memory, {} may be used (--memory)",
        bytes_text(needed), bytes_text(memory_limit()));
  return needed == 0;
}

void run_infer(InferVerbOptions options, const std::string& options_json) {
  const Stopwatch watch;
  const RunRecord record(options_json, options.seed);
  resolve_infer(options);
  use_threads(options.threads);
  use_memory(options.memory);
  settle_ranks({options.threads, options.memory.bytes});
  note_options_without_effect(options);
  require_can_keep(options.keep_probe);
  const OutputFolder folder(options.output, folder_use(options.overwrite),
                            joined(image_files(), picture_files()));
  const Model trained =
      options.model.empty() ? shipped_model() : read_model(model_file_at(options.model));
  require_precision(trained, options.infer.precision, options.infer.device);
  const auto [lit, first] = scan_to_infer(options, trained);
  const Scan& scan = lit.scan;
  Model model = model_for(scan, trained, source_of(options.probe));
  model.stem_background = lit.background;
  const Scan placed = placed_by(model, scan);
  const bool judged = options.model.empty() && !options.no_trust;
  options.infer.polish =
      trained.any_scan && !options.no_polish && has_room_to_polish(placed, options.infer.device);
  tell_memory_plan(placed, options.infer.polish ? PlannedWork::infer_polished : PlannedWork::infer);
  auto [image, agreement] = inferred_image(model, placed, options.infer, judged);
  Scores scores{.seconds = watch.seconds()};
  if (judged) scores.trust = trusted(agreement, image, placed, first, model, options.infer);
  record.stamp(image, model, {});
  write_image(options.output, image, placed, scores, {});
  if (options.arrays) write_arrays(options.output, image);
  write_ptychopinn_pictures(options.output, image, scan, options.pictures);
  keep_probe_of(options.keep_probe, image);
  if (judged && !scores.trust && interrupted())
    throw Interrupted("stopped while the trust in the image was measured; the image is kept in " +
                      options.output.string());
}

Command declare(const std::shared_ptr<InferVerbOptions>& options) {
  return {
      .name = "infer",
      .summary = "the image of a scan by a model that is already trained",
      .description =
          "One forward pass per pattern, then the patches are stitched. The scan "
          "may be another one than the model was trained on: with the same probe "
          "and pattern size if that was one scan, with any probe if it was several. "
          "Without --model: a network for any scan that comes with the program, and with the image "
          "a map of how far it can be trusted.",
      .arguments = {{"SCAN", &options->scan.file, scan_formats() + " file", false}},
      .options = joined({{{.name = "model",
                           .target = &options->model,
                           .help = "model.ptyche written by train or reconstruct, or its folder; "
                                   "without it the network that comes with the program",
                           .short_name = "m",
                           .aliases = {"model-path"}},
                          {.name = "probe",
                           .target = &options->probe,
                           .help = "auto (the model's, where it was trained on one scan or on "
                                   "this one; else the scan's; by a network for any scan refined "
                                   "by a short solve), library (as auto, beginning with kept ones "
                                   "that fit: see probes), model, scan, or the path of a result or "
                                   "of an .npy file"},
                          keep_probe_option(options->keep_probe),
                          output_dir_option(options->output),
                          overwrite_option(options->overwrite),
                          arrays_option(options->arrays),
                          {.name = "no-trust",
                           .target = &options->no_trust,
                           .help = "no map of expected errors and no warning of a scan that is "
                                   "unlike those that the program's network knows; they take four "
                                   "short solves of a part of the patterns"},
                          {.name = "no-polish",
                           .target = &options->no_polish,
                           .help = "the image as it is stitched, of a network for any scan; else "
                                   "two steps of maximum likelihood over all patterns follow, "
                                   "with a background, the probe held"},
                          {.name = "test-data-file",
                           .target = &options->test_data,
                           .help = "the scan, instead of SCAN; with --ptychopinn-pictures",
                           .aliases = {"test-data"}},
                          {.name = "seed",
                           .target = &options->seed,
                           .help = "seed of the choice of held-out patterns"}},
                         fields(options->infer),
                         fields(options->subsample),
                         fields(options->pictures),
                         ptychopinn_option_list(*options),
                         fields(options->backend),
                         far_field_scan_options(options->scan),
                         {threads_option(options->threads)},
                         fields(options->memory)}),
      .references = {},
      .run = [options] { run_infer(*options, options_as_json(declare(options))); },
      .basic = {"model", "probe", "background", "output-dir", "no-trust", "overwrite", "mask",
                "crop", "batch", "threads"},
      .on_ranks = true};
}

}  // namespace

Command infer_command() { return declare(std::make_shared<InferVerbOptions>()); }

}  // namespace ptyche
