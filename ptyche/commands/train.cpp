// The first half of `reconstruct`: a scan to a model. Takes PtychoPINN's options too.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/model/model.h"
#include "ptyche/prepare/first_probe.h"

namespace ptyche {
namespace {

struct TrainVerbOptions : TrainingChoices {
  GroupingChoices grouping{.groups = {.gridsize = 0}};
  LossWeights loss;
  ProbeChoice probe;
  std::string model_type = "pinn", backend;
  std::filesystem::path test_file;
  bool do_stitching = false;
};

Command declare(const std::shared_ptr<TrainVerbOptions>& options);

/// Values that follow from others.
void resolve(TrainVerbOptions& options) {
  if (options.scan.file.empty())
    throw UsageError("SCAN is missing (" + scan_formats() +
                     " file; --train-data-file names it too)");
  NetworkOptions& network = options.train.network;
  if (options.model_type == "supervised") network.name = "supervised";
  if (traits_of(network).group_input)
    network.gridsize = std::max<std::int64_t>(options.grouping.groups.gridsize, 1);
  options.train.loss = options.loss.kind();
  options.TrainingChoices::resolve();
  require_own_grouping(options, options.grouping);
  note_backend(options.backend);
}

/// The image of the test scan, or of the scan itself.
void write_stitched(const TrainVerbOptions& options, const Scan& scan, const Model& model,
                    const Stopwatch& watch, const std::string& options_json) {
  ReadOptions test = options.scan;
  test.file = options.test_file;
  const Scan seen = options.test_file.empty() ? scan : read_scan(test);
  Reconstruction image = network_image(
      model, seen, {.precision = options.train.precision, .engine = options.train.engine});
  fill_provenance(image, model, "ptyche train", options_json);
  write_image(options.output, image, seen, {.seconds = watch.seconds()}, {});
}

void run_train(TrainVerbOptions options, const std::string& options_json) {
  const Stopwatch watch;
  resolve(options);
  require_writable_folder(options.output);
  const FirstProbe first = with_first_probe(read_scan(options.scan), options.probe);
  const Scan scan = subsample(first.scan, options.grouping.resolved_subsample());
  const Model model = train(scan, groups_for(scan, options, options.grouping), options.train);
  write_training(options.output, model);
  fmt::print("{}\n", (options.output / "model.ptyche").string());
  if (options.do_stitching) write_stitched(options, scan, model, watch, options_json);
}

/// What a PtychoPINN user types, where it is not an option of another list.
std::vector<Field> ptychopinn_option_list(TrainVerbOptions& options) {
  return {{.name = "train-data-file",
           .target = &options.scan.file,
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
          backend_option(options.backend)};
}

Command declare(const std::shared_ptr<TrainVerbOptions>& options) {
  return {.name = "train",
          .summary = "train a network on a scan",
          .description =
              "The first half of `reconstruct`. Leaves model.ptyche and history.csv; "
              "Ctrl-C keeps a checkpoint from which --resume goes on. With --gridsize, or another "
              "network than ours, groups are chosen once, as PtychoPINN does.",
          .arguments = {{"SCAN", &options->scan.file, scan_formats() + " file", false}},
          .options = joined({{output_dir_option(options->output, "folder for the model")},
                             fields(options->probe),
                             far_field_scan_options(options->scan),
                             fields(options->group),
                             fields(options->train),
                             fields(options->loss),
                             fields(options->grouping),
                             ptychopinn_option_list(*options),
                             {threads_option(options->threads)}}),
          .references = {},
          .run = [options] { run_train(*options, options_as_json(declare(options))); }};
}

}  // namespace

Command train_command() { return declare(std::make_shared<TrainVerbOptions>()); }

}  // namespace ptyche
