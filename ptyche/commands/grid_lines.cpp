// PtychoPINN's grid_lines_workflow under its own options.
#include "ptyche/ptychopinn/grid_lines.h"

#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"

namespace ptyche {
namespace {

struct GridLinesVerbOptions {
  GridLinesOptions study;
  LossWeights loss{.otherwise = LossKind::amplitude_absolute};
  std::int64_t threads = 0;
  bool overwrite = false;
};

void print_row(const GridLinesRow& row) {
  const PtychoPinnMetrics& image = row.scores.metrics.image.ptychopinn;
  show("{:<10} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.1f} {:>9.4f} {:>9.1f} {:>11.0f}\n",
       row.scores.label, image.amplitude.mae, image.phase.mae, image.amplitude.ssim,
       image.phase.ssim, image.amplitude.frc50, row.scores.metrics.image.aligned.nrmse_contrast,
       row.train_seconds, static_cast<double>(row.patterns) / row.infer_seconds);
}

void print_table(const std::vector<GridLinesRow>& rows) {
  show("{:<10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>11}\n", "", "mae a", "mae p", "ssim a",
       "ssim p", "frc50 a", "nrmse", "train s", "patterns/s");
  for (const GridLinesRow& row : rows) print_row(row);
  GridLinesRow flat = rows.front();
  flat.scores.label = "(flat)";
  flat.scores.metrics.image = flat.scores.metrics.flat;
  flat.train_seconds = 0;
  print_row(flat);
}

void run(GridLinesVerbOptions options) {
  use_threads(options.threads);
  options.study.loss = options.loss.kind();
  options.study.mae_share = options.loss.mae_share();
  const OutputFolder folder(options.study.output,
                            folder_use(options.overwrite, options.study.resume),
                            {.names = {"metrics.json", "visuals", "recons", "runs", "datasets"},
                             .last = "",
                             .checkpoint = kStudyFile});
  print_table(run_grid_lines(options.study));
  show("\n{}\n{}\n", (options.study.output / "metrics.json").string(),
       (options.study.output / "visuals" / "compare_amp_phase.png").string());
}

}  // namespace

Command grid_lines_command() {
  const auto options = std::make_shared<GridLinesVerbOptions>();
  options->study.train.grid.gridsize = 1;
  return {.name = "grid-lines",
          .summary = "PtychoPINN's study of line drawings, its networks beside ours",
          .description =
              "Simulates scans of random line drawings on a regular grid. Trains our network, "
              "PtychoPINN's and PtychoPINN's supervised baseline on some of the drawings, and "
              "scores their images of another one. Writes metrics.json, "
              "visuals/compare_amp_phase.png, recons/, runs/ and datasets/.",
          .arguments = {},
          .options = joined(
              {{output_dir_option(options->study.output), overwrite_option(options->overwrite)},
               fields(options->study),
               fields(options->loss),
               {engine_field(options->study.engine), precision_field(options->study.precision),
                threads_option(options->threads)}}),
          .references = {"O. Hoidn, A. A. Mishra, A. Mehta, Sci. Rep. 13, 22789 (2023)"},
          .run = [options] { run(*options); },
          .basic = {"output-dir", "overwrite", "N", "gridsize", "nimgs-train", "nimgs-test",
                    "mean-counts", "models", "epochs", "seed", "resume", "threads"}};
}

}  // namespace ptyche
