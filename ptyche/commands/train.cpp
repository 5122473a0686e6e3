// The first half of `reconstruct`: a scan to a model.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/outputs.h"
#include "ptyche/commands/verbs.h"
#include "ptyche/core/files.h"
#include "ptyche/model/model_file.h"

namespace ptyche {
namespace {

void run_train(TrainingChoices options) {
  options.compute.apply();
  options.resolve();
  require_writable_folder(options.output);
  const Scan scan = read_scan(options.scan.resolved());
  const Groups groups = make_groups(scan, options.group);
  write_training(options.output, train(scan, groups, options.train));
  fmt::print("{}\n", (options.output / "model.ptyche").string());
}

}  // namespace

Command train_command() {
  const auto options = std::make_shared<TrainingChoices>();
  return {.name = "train",
          .summary = "train a network on a scan",
          .description =
              "The first half of `reconstruct`. Leaves model.ptyche and history.csv; "
              "Ctrl-C keeps a checkpoint from which --resume goes on.",
          .arguments = {{"SCAN", &options->scan.read.file, "NPZ or CXI file"}},
          .options = joined({{{.name = "output-dir",
                               .target = &options->output,
                               .unit = "",
                               .help = "folder for the model",
                               .short_name = "o",
                               .required = true}},
                             read_option_list(options->scan),
                             hold_out_option_list(options->scan.read),
                             train_option_list(options->group, options->train),
                             position_option_list(options->positions, options->train.position_step),
                             compute_option_list(options->compute)}),
          .references = {},
          .run = [options] { run_train(*options); }};
}

}  // namespace ptyche
