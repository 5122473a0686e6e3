// The first half of `reconstruct`: a scan to a model. Takes PtychoPINN's options too.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/outputs.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/verbs.h"
#include "ptyche/core/files.h"
#include "ptyche/core/log.h"
#include "ptyche/core/stopwatch.h"
#include "ptyche/model/model_file.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

struct TrainVerbOptions : TrainingChoices {
  GroupingChoices grouping{.groups = {.gridsize = 0}};
  LossWeights loss;
  std::string model_type = "pinn", backend;
  std::filesystem::path test_file;
  bool do_stitching = false;
};

Command declare(const std::shared_ptr<TrainVerbOptions>& options);

/// Options of the original that its network, or its way to group, looks at alone.
void note_options_without_effect(const TrainVerbOptions& options) {
  const NetworkOptions &network = options.train.network, absent;
  if (network.name == "unet" &&
      (network.object_big != absent.object_big || network.probe_big != absent.probe_big ||
       network.filters_scale != absent.filters_scale ||
       network.amplitude_activation != absent.amplitude_activation))
    note(
        "--n-filters-scale, --amp-activation, --object-big and --probe-big are of the original's "
        "network, which --network ptychopinn trains");
  if (network.name == "unet" && options.grouping.groups.gridsize == 0 &&
      options.grouping.groups.count > 0)
    note("--n-groups: groups are drawn anew in every epoch; with --gridsize they are chosen once");
}

/// Values that follow from others.
void resolve(TrainVerbOptions& options) {
  if (options.scan.read.file.empty())
    throw UsageError("SCAN is missing (" + scan_formats() +
                     " file; --train-data-file names it too)");
  options.compute.apply();
  options.TrainingChoices::resolve();
  options.train.loss = options.loss.kind();
  NetworkOptions& network = options.train.network;
  if (options.model_type == "supervised") network.name = "supervised";
  if (network.name == "ptychopinn")
    network.gridsize = std::max<std::int64_t>(options.grouping.groups.gridsize, 1);
  note_backend(options.backend);
  note_options_without_effect(options);
}

/// The image of the test scan, or of the scan itself.
void write_stitched(const TrainVerbOptions& options, const Scan& scan, const Model& model,
                    const Stopwatch& watch, const std::string& options_json) {
  ReadChoices test = options.scan;
  test.read.file = options.test_file;
  const Scan seen = options.test_file.empty() ? scan : read_scan(test.resolved());
  const Scan placed = placed_by(model, seen);
  Reconstruction image = stitch(
      infer(model, placed, {.precision = options.train.precision, .engine = options.train.engine}),
      placed);
  fill_provenance(image, model, "ptyche train", options_json);
  write_image(options.output, image, seen, {.seconds = watch.seconds()}, {});
}

void run_train(TrainVerbOptions options, const std::string& options_json) {
  const Stopwatch watch;
  resolve(options);
  require_writable_folder(options.output);
  const Scan scan =
      subsample(read_scan(options.scan.resolved()), options.grouping.resolved_subsample());
  const Model model = train(scan, groups_for(scan, options, options.grouping), options.train);
  write_training(options.output, model);
  fmt::print("{}\n", (options.output / "model.ptyche").string());
  if (options.do_stitching) write_stitched(options, scan, model, watch, options_json);
}

/// What a PtychoPINN user types, where it is not an option of another list.
std::vector<Field> original_option_list(TrainVerbOptions& options) {
  NetworkOptions& network = options.train.network;
  return {
      {.name = "train-data-file",
       .target = &options.scan.read.file,
       .help = "the scan, instead of SCAN"},
      {.name = "test-data-file",
       .target = &options.test_file,
       .help = "scan for --do-stitching; none = the one that is trained on"},
      {.name = "do-stitching",
       .target = &options.do_stitching,
       .help = "infer and stitch after training, as infer does"},
      {.name = "model-type",
       .target = &options.model_type,
       .help = "supervised: the same as --network supervised",
       .choices = {"pinn", "supervised"}},
      {.name = "n-filters-scale",
       .target = &network.filters_scale,
       .help = "of the original's networks: factor of all numbers of features",
       .range = {1, 64}},
      {.name = "amp-activation",
       .target = &network.amplitude_activation,
       .help = "of the original's network: what bounds its amplitudes",
       .choices = {"sigmoid", "swish", "softplus", "relu"}},
      {.name = "object-big",
       .target = &network.object_big,
       .help = "of the original's network: a patch for each pattern of a group, not one for all"},
      {.name = "probe-big",
       .target = &network.probe_big,
       .help = "of the original's network: patches with a border of low resolution, not of zeros"},
      backend_option(options.backend)};
}

Command declare(const std::shared_ptr<TrainVerbOptions>& options) {
  return {.name = "train",
          .summary = "train a network on a scan",
          .description =
              "The first half of `reconstruct`. Leaves model.ptyche and history.csv; "
              "Ctrl-C keeps a checkpoint from which --resume goes on. With --gridsize, or another "
              "network than ours, groups are chosen once, as PtychoPINN does.",
          .arguments = {{"SCAN", &options->scan.read.file, scan_formats() + " file", false}},
          .options = joined({{output_dir_option(options->output, "folder for the model")},
                             read_option_list(options->scan),
                             hold_out_option_list(options->scan.read),
                             train_option_list(options->group, options->train),
                             position_option_list(options->positions, options->train.position_step),
                             loss_weight_option_list(options->loss),
                             grouping_option_list(options->grouping),
                             original_option_list(*options),
                             compute_option_list(options->compute)}),
          .references = {},
          .run = [options] { run_train(*options, options_as_json(declare(options))); }};
}

}  // namespace

Command train_command() { return declare(std::make_shared<TrainVerbOptions>()); }

}  // namespace ptyche
