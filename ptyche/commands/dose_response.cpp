// PtychoPINN's dose_response_study.
#include "ptyche/ptychopinn/dose_response.h"

#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/ptychopinn/study.h"

namespace ptyche {
namespace {

struct DoseVerbOptions {
  DoseResponseOptions study;
  std::int64_t threads = 0;
  bool overwrite = false;
};

void run(DoseVerbOptions options) {
  use_threads(options.threads);
  const OutputFolder folder(
      options.study.output, folder_use(options.overwrite, options.study.resume),
      {.names = {"metrics.json", "training_history.json", "reports", "recons", "runs"},
       .last = "",
       .checkpoint = kStudyFile});
  for (const DoseArm& arm : run_dose_response(options.study))
    show("{:<10} {:>8.0e} photons  error over contrast {:.4f}  [flat object {:.4g}]\n", arm.label,
         arm.photons, arm.scores.image.aligned.nrmse_contrast,
         arm.scores.flat.aligned.nrmse_contrast);
  show("\n{}\n", (options.study.output / "reports" / "dose_comparison.png").string());
}

}  // namespace

Command dose_response_command() {
  const auto options = std::make_shared<DoseVerbOptions>();
  return {.name = "dose-response",
          .summary = "PtychoPINN's study of two doses and two losses",
          .description =
              "Simulates a drawing of lines at a high and a low dose. At each dose it trains one "
              "network with the Poisson likelihood and one with the absolute error of the "
              "amplitudes, and scores their images of another drawing. Writes "
              "reports/dose_comparison.png, recons/, runs/, training_history.json and "
              "metrics.json.",
          .arguments = {},
          .options = joined(
              {{output_dir_option(options->study.output), overwrite_option(options->overwrite)},
               fields(options->study),
               {engine_field(options->study.engine), precision_field(options->study.precision),
                threads_option(options->threads)}}),
          .references = {"O. Hoidn, A. A. Mishra, A. Mehta, Sci. Rep. 13, 22789 (2023)"},
          .run = [options] { run(*options); },
          .basic = {"output-dir", "overwrite", "N", "gridsize", "network", "train-patterns",
                    "test-patterns", "mean-counts-high", "mean-counts-low", "epochs", "seed",
                    "resume", "threads"}};
}

}  // namespace ptyche
