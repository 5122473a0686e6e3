// A scan with known truth, as a CXI file.
#include "ptyche/simulate/simulate.h"

#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/cxi.h"

namespace ptyche {
namespace {

struct SimulateVerbOptions {
  SimulateOptions simulate;
  std::filesystem::path output;
};

void run_simulate(const SimulateVerbOptions& options) {
  const auto extension = options.output.extension();
  require(extension == ".cxi" || extension == ".h5",
          "{}: expected an output file that ends in .cxi or .h5", options.output.string());
  if (options.output.has_parent_path()) require_writable_folder(options.output.parent_path());
  const Scan scan = simulate(options.simulate);
  write_cxi(options.output, scan);
  show("{}: {} patterns of {} x {} pixels\n", options.output.string(), scan.frames(),
       scan.pattern_size(), scan.pattern_size());
}

}  // namespace

Command simulate_command() {
  const auto options = std::make_shared<SimulateVerbOptions>();
  return {.name = "simulate",
          .summary = "make a scan with known truth",
          .description =
              "Writes a CXI file with Poisson counts, positions, probe and, for scoring, "
              "the true object.",
          .arguments = {},
          .options = joined({{{.name = "output",
                               .target = &options->output,
                               .help = "file to write, .cxi",
                               .short_name = "o",
                               .required = true}},
                             fields(options->simulate)}),
          .references = {},
          .run = [options] { run_simulate(*options); },
          .basic = {"output", "object", "object-file", "probe", "scan", "N", "frames", "step",
                    "jitter", "photons", "probe-diameter", "defocus", "seed"}};
}

}  // namespace ptyche
