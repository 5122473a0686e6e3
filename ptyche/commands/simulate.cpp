// A scan with known truth, as a CXI file.
#include "ptyche/simulate/simulate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/write_scan.h"
#include "ptyche/simulate/universe.h"

namespace ptyche {
namespace {

struct SimulateVerbOptions {
  SimulateOptions simulate;
  std::filesystem::path output, like, universe;
  std::uint64_t number = 0;
};

/// Throws UsageError for an option that another scan decides.
void require_options_of_like(SimulateOptions options) {
  SimulateOptions defaults;
  const std::vector<std::string> looked_at = options_of_like();
  for (const std::string& name : given(fields(options), fields(defaults)))
    if (std::ranges::count(looked_at, name) == 0)
      throw UsageError(
          fmt::format("--{}: with --like the scan itself says that; expected none but --{}", name,
                      fmt::join(looked_at, ", --")));
}

/// A scan as `train --universe` draws it. Throws UsageError for an option that the universe
/// decides.
Scan drawn_from(const SimulateVerbOptions& options) {
  SimulateOptions asked = options.simulate, defaults;
  for (const std::string& name : given(fields(asked), fields(defaults)))
    if (name != "seed")
      throw UsageError(
          fmt::format("--{}: with --universe its file says that; expected none but --seed", name));
  if (!options.like.empty()) throw UsageError("--like: give it or --universe, not both");
  return universe_scan(read_universe(options.universe), asked.seed, options.number).scan;
}

Scan simulated(const SimulateVerbOptions& options) {
  if (!options.universe.empty()) return drawn_from(options);
  if (options.number != 0)
    throw UsageError("--number: expected --universe beside it, the file whose scan it is");
  if (options.like.empty()) return simulate(options.simulate);
  require_options_of_like(options.simulate);
  ReadOptions read;
  read.file = options.like;
  return simulate_like(read_scan(read), options.simulate);
}

void run_simulate(const SimulateVerbOptions& options) {
  const auto extension = options.output.extension();
  require(extension == ".cxi" || extension == ".h5" || extension == ".npz",
          "{}: expected an output file that ends in .cxi, .h5 or .npz", options.output.string());
  if (options.output.has_parent_path()) require_writable_folder(options.output.parent_path());
  const Scan scan = simulated(options);
  if (extension == ".npz")
    write_scan_as("PtychoPINN", options.output, scan);
  else
    write_cxi(options.output, scan);
  show("{}: {} patterns of {} x {} pixels\n", options.output.string(), scan.frames(),
       scan.pattern_size(), scan.pattern_size());
}

}  // namespace

Command simulate_command() {
  const auto options = std::make_shared<SimulateVerbOptions>();
  return {
      .name = "simulate",
      .summary = "make a scan with known truth",
      .description =
          "Writes a CXI file with Poisson counts, positions, probe and, for scoring, "
          "the true object.",
      .arguments = {},
      .options = joined({{{.name = "output",
                           .target = &options->output,
                           .help = "file to write, .cxi, or .npz as PtychoPINN reads it",
                           .short_name = "o",
                           .required = true},
                          {.name = "like",
                           .target = &options->like,
                           .help = "a scan whose own object, probe and positions are simulated"},
                          {.name = "universe",
                           .target = &options->universe,
                           .help = "TOML file that says what scans there are, as of train"},
                          {.name = "number",
                           .target = &options->number,
                           .help = "number of the scan of --universe"}},
                         fields(options->simulate)}),
      .references = {},
      .run = [options] { run_simulate(*options); },
      .basic = {"output", "like", "universe", "number", "object", "object-file", "probe",
                "trajectory", "N", "n-patterns", "step", "jitter", "photons", "probe-diameter",
                "relative-defocus", "seed"}};
}

}  // namespace ptyche
