// Scores of a reconstruction that is already there.
#include "ptyche/evaluate/evaluate.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/product.h"

namespace ptyche {
namespace {

struct EvaluateVerbOptions {
  ReadOptions scan;
  std::filesystem::path image, output;
  std::uint64_t seed = 1;
};

void run_evaluate(EvaluateVerbOptions options) {
  options.scan.seed = options.seed;
  const Reconstruction image = read_reconstruction(options.image);
  Scan scan = read_scan(options.scan);
  require(image.probe.size(-1) == scan.pattern_size(),
          "{}: expected a probe of the scan's {} x {} pixels, found {} x {}",
          options.image.string(), scan.pattern_size(), scan.pattern_size(), image.probe.size(-1),
          image.probe.size(-1));
  const std::string& made_from = image.provenance.input_hash;
  if (!made_from.empty() && !scan.input_hash().empty() && made_from != scan.input_hash())
    warn("{}: made from another scan ({}) than {}; the scores compare the two all the same",
         options.image.string(), image.provenance.source, scan.source());
  const std::string scores = scores_json(evaluate(image, scan));
  if (!options.output.empty()) write_text(options.output, scores);
  fmt::print("{}\n", scores);
}

}  // namespace

Command evaluate_command() {
  const auto options = std::make_shared<EvaluateVerbOptions>();
  return {
      .name = "evaluate",
      .summary = "score a reconstruction against its scan or truth",
      .description =
          "Prints scores.json. Give the same --hold-out, --hold-out-file and --seed "
          "as at reconstruction: the held-out patterns are then scored apart.",
      .arguments = {{"RECONSTRUCTION", &options->image, "reconstruction.h5"},
                    {"SCAN", &options->scan.file, scan_formats() + " file"}},
      .options = joined({{{.name = "output",
                           .target = &options->output,
                           .help = "file for the scores, JSON",
                           .short_name = "o"},
                          {.name = "seed", .target = &options->seed, .help = "draws the hold-out"}},
                         fields(options->scan)}),
      .references = {},
      .run = [options] { run_evaluate(*options); }};
}

}  // namespace ptyche
