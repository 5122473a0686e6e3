// PtychoPINN's grid_lines_workflow under its own options.
#include "ptyche/ptychopinn/grid_lines.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/verbs.h"
#include "ptyche/core/files.h"
#include "ptyche/core/text.h"

namespace ptyche {
namespace {

struct GridLinesVerbOptions {
  GridLinesOptions study;
  GridProbeOptions probe;
  LossWeights loss{.otherwise = LossKind::amplitude_absolute};
  ComputeChoices compute;
  std::string models = "ptyche,pinn,baseline";
};

void print_row(const GridLinesRow& row) {
  const PtychoPinnMetrics& image = row.scores.metrics.image.ptychopinn;
  fmt::print("{:<10} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.1f} {:>9.4f} {:>9.1f} {:>11.0f}\n",
             row.scores.label, image.amplitude.mae, image.phase.mae, image.amplitude.ssim,
             image.phase.ssim, image.amplitude.frc50,
             row.scores.metrics.image.aligned.nrmse_contrast, row.train_seconds,
             static_cast<double>(row.patterns) / row.infer_seconds);
}

void print_table(const std::vector<GridLinesRow>& rows) {
  fmt::print("{:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>11}\n", "", "mae a", "mae p",
             "ssim a", "ssim p", "frc50 a", "nrmse", "train s", "patterns/s");
  for (const GridLinesRow& row : rows) print_row(row);
  GridLinesRow flat = rows.front();
  flat.scores.label = "(flat)";
  flat.scores.metrics.image = flat.scores.metrics.flat;
  flat.train_seconds = 0;
  print_row(flat);
}

void run(GridLinesVerbOptions options) {
  options.compute.apply();
  options.study.engine = engine_from(options.compute.engine);
  options.study.precision = precision_from(options.compute.precision);
  options.study.loss = options.loss.kind();
  options.study.models = split(options.models, ',');
  options.study.probe = grid_probe(options.study.train.grid.pattern_size, options.probe);
  require_writable_folder(options.study.output);
  print_table(run_grid_lines(options.study));
  fmt::print("\n{}\n{}\n", (options.study.output / "metrics.json").string(),
             (options.study.output / "visuals" / "compare_amp_phase.png").string());
}

std::vector<Field> data_option_list(GridLinesVerbOptions& options) {
  GridDataOptions& train = options.study.train;
  GridScanOptions& grid = train.grid;
  return {{.name = "N",
           .target = &grid.pattern_size,
           .unit = "px",
           .help = "side of a pattern",
           .range = {16, 1024}},
          {.name = "gridsize",
           .target = &grid.gridsize,
           .help = "groups of gridsize^2 patterns",
           .range = {1, 8}},
          {.name = "size",
           .target = &grid.object_size,
           .unit = "px",
           .help = "side of a drawing",
           .range = {32, 1e5}},
          {.name = "offset",
           .target = &grid.offset_px,
           .unit = "px",
           .help = "distance of neighbours inside a group",
           .range = {1, 1e4}},
          {.name = "outer-offset-train",
           .target = &grid.outer_offset_px,
           .unit = "px",
           .help = "twice the distance of neighbouring groups, even",
           .range = {2, 1e4}},
          {.name = "outer-offset-test",
           .target = &options.study.test_outer_offset_px,
           .unit = "px",
           .help = "the same of the test; a tile of half of it is what a group is scored on",
           .range = {2, 1e4}},
          {.name = "nimgs-train",
           .target = &train.images,
           .help = "drawings to learn from",
           .range = {1, 1000}},
          {.name = "nimgs-test",
           .target = &options.study.test_images,
           .help = "drawings for the test; the first one is scored",
           .range = {1, 1000}},
          {.name = "nphotons",
           .target = &train.nphotons,
           .unit = "photons",
           .help = "mean counts of a pattern",
           .range = {1, 1e10}},
          {.name = "set-phi", .target = &train.set_phi, .help = "objects with a phase"},
          {.name = "probe-source",
           .target = &options.probe.source,
           .help = "a disc with a soft edge, or the one of a file",
           .choices = {"ideal_disk", "custom"}},
          {.name = "probe-npz",
           .target = &options.probe.file,
           .help = "file with probeGuess, for --probe-source custom"},
          {.name = "probe-scale-mode",
           .target = &options.probe.scale_mode,
           .help = "how that comes to N x N pixels",
           .choices = {"pad_preserve", "pad_extrapolate", "interpolate"}},
          {.name = "probe-smoothing-sigma",
           .target = &options.probe.smoothing_px,
           .unit = "px",
           .help = "Gaussian blur of the probe; 0 = none",
           .range = {0, 100}}};
}

std::vector<Field> model_option_list(GridLinesVerbOptions& options) {
  return {
      {.name = "models",
       .target = &options.models,
       .help = "which of ptyche (our default network), pinn (the original's) and baseline (the "
               "original's supervised one)"},
      {.name = "nepochs",
       .target = &options.study.epochs,
       .help = "passes over the patterns",
       .range = {1, 1e6},
       .aliases = {"epochs"}},
      {.name = "batch-size",
       .target = &options.study.batch,
       .unit = "groups",
       .help = "in a step of the original's networks",
       .range = {1, 1e5}},
      {.name = "object-big",
       .target = &options.study.ptychopinn.object_big,
       .help = "of the original's network: a patch for each pattern of a group, not one for all"},
      {.name = "probe-big",
       .target = &options.study.ptychopinn.probe_big,
       .help = "of the original's network: patches with a border of low resolution"},
      {.name = "seed",
       .target = &options.study.seed,
       .help = "of every network; the drawings are the original's own"}};
}

}  // namespace

Command grid_lines_command() {
  const auto options = std::make_shared<GridLinesVerbOptions>();
  options->study.train.grid.gridsize = 1;
  return {.name = "grid-lines",
          .summary = "PtychoPINN's study of line drawings, its networks beside ours",
          .description =
              "Simulates scans of random line drawings on a regular grid, trains our network, the "
              "original's and its supervised baseline on some, and scores their images of others "
              "that none has seen: metrics.json, visuals/compare_amp_phase.png, recons, runs, "
              "datasets.",
          .arguments = {},
          .options = joined({{output_dir_option(options->study.output)},
                             data_option_list(*options),
                             model_option_list(*options),
                             loss_weight_option_list(options->loss),
                             compute_option_list(options->compute)}),
          .references = {"O. Hoidn, A. A. Mishra, A. Mehta, Sci. Rep. 13, 22789 (2023)"},
          .run = [options] { run(*options); }};
}

}  // namespace ptyche
