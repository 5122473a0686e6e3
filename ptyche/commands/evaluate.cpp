// Scores of a reconstruction that is already there.
#include "ptyche/evaluate/evaluate.h"

#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/product.h"
#include "ptyche/prepare/scan_rotation.h"

namespace ptyche {
namespace {

struct EvaluateVerbOptions {
  ReadOptions scan;
  std::filesystem::path image, output;
  std::uint64_t seed = 1;
};

/// The scan with the use of its patterns that the image's file says, where the image was made of
/// this scan and no option says otherwise. Throws InvalidInput where an option calls patterns held
/// out that the image was made of.
Scan as_the_image_used_it(const Scan& scan, const Reconstruction& image,
                          const EvaluateVerbOptions& options) {
  const at::Tensor& use = image.frame_use;
  const bool own = !scan.input_hash().empty() && image.provenance.input_hash == scan.input_hash();
  if (!own || !use.defined() || use.size(0) != scan.frames()) return scan;
  const bool chosen = options.scan.hold_out != 0.0 || !options.scan.hold_out_file.empty() ||
                      options.scan.unseen_half != "none";
  if (!chosen) return scan.with_frame_use(use);
  const auto code = [](FrameUse of) { return static_cast<int>(of); };
  const at::Tensor wrong =
      scan.frame_use().eq(code(FrameUse::held_out)).logical_and(use.eq(code(FrameUse::used)));
  require(
      !wrong.any().item<bool>(),
      "{}: made of {} patterns (the first is {}) that the options call held out; without them "
      "the file says which patterns were used",
      options.image.string(), [&] { return wrong.sum().item<std::int64_t>(); },
      [&] { return wrong.nonzero()[0][0].item<std::int64_t>(); });
  return scan;
}

void run_evaluate(EvaluateVerbOptions options) {
  options.scan.seed = options.seed;
  const Reconstruction image = read_reconstruction(result_file(options.image));
  Scan scan = read_turned_scan(options.scan);
  require(image.pattern_size() == scan.pattern_size(),
          "{}: expected a probe of the scan's {} x {} pixels, found {} x {}",
          options.image.string(), scan.pattern_size(), scan.pattern_size(), image.pattern_size(),
          image.pattern_size());
  const std::string& made_from = image.provenance.input_hash;
  if (!made_from.empty() && !scan.input_hash().empty() && made_from != scan.input_hash())
    warn("{}: made from another scan ({}) than {}; the scores compare the two all the same",
         options.image.string(), image.provenance.source, scan.source());
  scan = as_the_image_used_it(scan, image, options);
  const std::string scores = scores_json(evaluate(image, scan));
  if (!options.output.empty()) write_text(options.output, scores);
  show("{}\n", scores);
}

}  // namespace

Command evaluate_command() {
  const auto options = std::make_shared<EvaluateVerbOptions>();
  return {
      .name = "evaluate",
      .summary = "score a reconstruction against its scan or truth",
      .description =
          "Prints scores.json. Which patterns were used and which held out is taken from the "
          "file, where the image was made of this scan; with --hold-out, --hold-out-file or "
          "--unseen-half it is as they say, and refused where they call patterns held out that the "
          "image was made of.",
      .arguments = {{"RECONSTRUCTION", &options->image, "reconstruction.h5, or its folder"},
                    {"SCAN", &options->scan.file, scan_formats() + " file"}},
      .options = joined({{{.name = "output",
                           .target = &options->output,
                           .help = "file for the scores, JSON",
                           .short_name = "o"},
                          {.name = "seed",
                           .target = &options->seed,
                           .help = "seed of the choice of held-out patterns"}},
                         fields(options->scan)}),
      .references = {},
      .run = [options] { run_evaluate(*options); },
      .basic = {"output", "mask", "crop", "hold-out"}};
}

}  // namespace ptyche
