// PtychoPINN's run_complete_generalization_study.
#include "ptyche/ptychopinn/generalization.h"

#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/ptychopinn/grid_data.h"

namespace ptyche {
namespace {

struct GeneralizationVerbOptions {
  GeneralizationOptions study;
  LossWeights loss;
  GridDataOptions drawings;
  std::filesystem::path learn, test;
  std::int64_t threads = 0;
  bool overwrite = false;
};

Scan whole_scan(const std::filesystem::path& file) {
  ReadOptions options;
  options.file = file;
  options.hold_out = 0.0;
  return read_scan(options);
}

struct TwoScans {
  Scan learn, test;
};

/// Of the files, or of drawings of lines: the test's are others, at other places.
TwoScans scans_of(const GeneralizationVerbOptions& options) {
  if (!options.learn.empty()) return {whole_scan(options.learn), whole_scan(options.test)};
  const at::Tensor probe = grid_probe(options.drawings.grid.pattern_size, {});
  return {simulate_grid_data(options.drawings, probe).scan,
          simulate_grid_data(unseen(options.drawings, 1), probe).scan};
}

void print_table(const std::vector<GeneralizationTrial>& trials) {
  show("{:<10} {:>8} {:>7} {:>28} {:>28}\n", "", "patterns", "trials", "ssim of the amplitude",
       "error over contrast");
  const std::vector<ScoreQuartiles> rows = quartiles_of(trials);
  for (const ScoreQuartiles& row : rows) {
    if (row.metric != "ssim" || row.channel != "amplitude") continue;
    const auto text = [](const ScoreQuartiles& of) {
      return fmt::format("{:.4f} ({:.4f} to {:.4f})", of.median, of.low, of.high);
    };
    for (const ScoreQuartiles& error : rows)
      if (error.metric == "nrmse_contrast" && error.model == row.model && error.size == row.size)
        show("{:<10} {:>8} {:>7} {:>28} {:>28}\n", row.model, row.size, row.trials, text(row),
             text(error));
  }
}

void run(GeneralizationVerbOptions options) {
  if (options.learn.empty() != options.test.empty())
    throw UsageError("generalization: expected both TRAIN and TEST, or none, found one");
  use_threads(options.threads);
  options.study.training.loss = options.loss.kind();
  options.study.training.mae_share = options.loss.mae_share();
  if (options.learn.empty()) options.study.data = key_of(fields(options.drawings));
  const OutputFolder folder(
      options.study.output, folder_use(options.overwrite, options.study.resume),
      {.names = {"results.csv", "figures", "runs"}, .last = "", .checkpoint = kStudyFile});
  const TwoScans scans = scans_of(options);
  print_table(run_generalization(scans.learn, scans.test, options.study));
  show("\n{}\n{}\n", (options.study.output / "results.csv").string(),
       (options.study.output / "figures").string());
}

}  // namespace

Command generalization_command() {
  const auto options = std::make_shared<GeneralizationVerbOptions>();
  return {
      .name = "generalization",
      .summary = "PtychoPINN's study of training sizes",
      .description =
          "Trains networks on more and more patterns of a scan, several of each size, and "
          "scores their images of another scan. Writes results.csv (medians and quartiles), "
          "a figure for each score and runs/. Without scans, drawings of lines are simulated "
          "as `grid-lines` does.",
      .arguments = {{.name = "TRAIN",
                     .target = &options->learn,
                     .help = "scan to learn from",
                     .required = false},
                    {.name = "TEST",
                     .target = &options->test,
                     .help = "scan with a truth, to score by",
                     .required = false}},
      .options = joined(
          {{output_dir_option(options->study.output), overwrite_option(options->overwrite)},
           fields(options->study),
           without(fields(options->drawings), {"gridsize", "offset"}),
           fields(options->loss),
           {engine_field(options->study.training.engine),
            precision_field(options->study.training.precision), threads_option(options->threads)}}),
      .references = {"O. Hoidn, A. A. Mishra, A. Mehta, Sci. Rep. 13, 22789 (2023)"},
      .run = [options] { run(*options); },
      .basic = {"output-dir", "overwrite", "sizes", "trials", "models", "gridsize", "epochs", "N",
                "mean-counts", "seed", "resume", "threads"}};
}

}  // namespace ptyche
