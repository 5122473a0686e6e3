// PtychoPINN's dose_response_study.
#include "ptyche/ptychopinn/dose_response.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/verbs.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

struct DoseVerbOptions {
  DoseResponseOptions study;
  ComputeChoices compute;
};

void run(DoseVerbOptions options) {
  options.compute.apply();
  options.study.engine = engine_from(options.compute.engine);
  options.study.precision = precision_from(options.compute.precision);
  require_writable_folder(options.study.output);
  for (const DoseArm& arm : run_dose_response(options.study))
    fmt::print("{:<10} {:>8.0e} photons  error over contrast {:.4f}  [flat object {:.4g}]\n",
               arm.label, arm.photons, arm.scores.image.aligned.nrmse_contrast,
               arm.scores.flat.aligned.nrmse_contrast);
  fmt::print("\n{}\n", (options.study.output / "reports" / "dose_comparison.png").string());
}

std::vector<Field> study_option_list(DoseResponseOptions& study) {
  return {{.name = "N",
           .target = &study.pattern_size,
           .unit = "px",
           .help = "side of a pattern",
           .range = {16, 1024}},
          {.name = "gridsize",
           .target = &study.gridsize,
           .help = "groups of gridsize^2 patterns",
           .range = {1, 8}},
          {.name = "network",
           .target = &study.network.name,
           .help = "ours, or the original's",
           .choices = {"unet", "ptychopinn"}},
          {.name = "train-patterns",
           .target = &study.train_patterns,
           .unit = "patterns",
           .help = "of the drawing to learn from",
           .range = {1, 1e6},
           .aliases = {"n-train"}},
          {.name = "test-patterns",
           .target = &study.test_patterns,
           .unit = "patterns",
           .help = "of the drawing that is scored",
           .range = {1, 1e6},
           .aliases = {"n-test"}},
          {.name = "n-groups",
           .target = &study.groups,
           .unit = "groups",
           .help = "to train on; 0 = one around every pattern",
           .range = {0, 1e6}},
          {.name = "neighbor-count",
           .target = &study.neighbours,
           .unit = "patterns",
           .help = "nearest patterns that a group is drawn from",
           .range = {1, 4096}},
          {.name = "object-size",
           .target = &study.object_size,
           .unit = "px",
           .help = "side of a drawing",
           .range = {32, 1e4}},
          {.name = "buffer",
           .target = &study.buffer_px,
           .unit = "px",
           .help = "distance of the positions from its edges",
           .range = {0, 1e4}},
          {.name = "nphotons-high",
           .target = &study.high_photons,
           .unit = "photons",
           .help = "mean counts of a pattern of the high dose",
           .range = {1, 1e10}},
          {.name = "nphotons-low",
           .target = &study.low_photons,
           .unit = "photons",
           .help = "of the low one",
           .range = {1, 1e10}},
          {.name = "nepochs",
           .target = &study.epochs,
           .help = "passes over the groups",
           .range = {1, 1e6},
           .aliases = {"epochs"}},
          {.name = "batch-size",
           .target = &study.batch,
           .unit = "groups",
           .help = "in a step",
           .range = {1, 1e5}},
          {.name = "seed",
           .target = &study.seed,
           .help = "of drawings, positions, noise and networks"}};
}

}  // namespace

Command dose_response_command() {
  const auto options = std::make_shared<DoseVerbOptions>();
  return {.name = "dose-response",
          .summary = "PtychoPINN's study of two doses and two losses",
          .description =
              "Trains on a simulated drawing of lines at a high and a low dose, by the Poisson "
              "likelihood and by the absolute error of the amplitudes, and scores the image of "
              "another drawing: reports/dose_comparison.png, recons/, "
              "training_history.json, metrics.json.",
          .arguments = {},
          .options = joined({{output_dir_option(options->study.output)},
                             study_option_list(options->study),
                             compute_option_list(options->compute)}),
          .references = {"O. Hoidn, A. A. Mishra, A. Mehta, Sci. Rep. 13, 22789 (2023)"},
          .run = [options] { run(*options); }};
}

}  // namespace ptyche
