// A scan to its image by iterative solvers, without a network or from its image.
#include "ptyche/solve/solve.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/outputs.h"
#include "ptyche/commands/verbs.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/interrupt.h"
#include "ptyche/core/log.h"
#include "ptyche/core/stopwatch.h"
#include "ptyche/io/product.h"
#include "ptyche/report/report.h"
#include "ptyche/report/result_figures.h"
#include "ptyche/solve/solver.h"

namespace ptyche {
namespace {

struct SolveVerbOptions {
  ReadOptions scan;
  SolverOptions solver;
  ComputeChoices compute;
  std::string chain = "ml:40", positions = "none", likelihood = "auto";
  std::string interpolation = "probe_fourier", momentum = "auto";
  std::filesystem::path start, output;
  bool resume = false, half_sets = false;
};

Command declare(const std::shared_ptr<SolveVerbOptions>& options);

/// "epie, rpie, ...: what each is" for the help.
std::string solver_names() {
  std::string text;
  for (const SolverEntry& entry : solvers())
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", entry.name, entry.summary);
  return text;
}

/// "auto", each solver's own, or a number; its range is checked with the other options.
std::optional<double> momentum_from(const std::string& text) {
  if (text == "auto") return std::nullopt;
  double momentum = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), momentum);
  require(error == std::errc() && end == text.data() + text.size(),
          "--momentum: expected auto or a number of 0..0.99, found {}", text);
  return momentum;
}

/// The losses with a curvature: lsqml needs one.
std::vector<std::string> likelihood_choices() {
  std::vector<std::string> names{"auto"};
  for (const LossInfo& loss : losses())
    if (loss.curvature > 0) names.push_back(loss.name);
  return names;
}

/// Values that follow from others.
SolveVerbOptions resolved(SolveVerbOptions options) {
  options.scan.seed = options.solver.seed;
  options.solver.chain = chain_from(options.chain);
  options.solver.positions = position_freedom_from(options.positions);
  options.solver.engine = engine_from(options.compute.engine);
  options.solver.interpolation = interpolation_from(options.interpolation);
  options.solver.momentum = momentum_from(options.momentum);
  if (options.likelihood != "auto") options.solver.likelihood = loss_kind_from(options.likelihood);
  return options;
}

void stamp(Reconstruction& image, const SolveVerbOptions& options,
           const std::string& options_json) {
  image.provenance.seed = options.solver.seed;
  image.provenance.command = "ptyche solve";
  image.provenance.options_json = options_json;
}

/// What a look leaves in the folder: the image so far.
void write_pictures(const std::filesystem::path& folder, const Reconstruction& image) {
  warn_on_error("phase.png", [&] {
    write_text(folder / "phase.png", render_png(phase_figure(image).figure));
    write_text(folder / "amplitude.png", render_png(amplitude_figure(image).figure));
  });
}

/// One line per look: what a person plots to see how the chain went.
void write_looks(const std::filesystem::path& folder, const std::vector<SolverLook>& looks) {
  std::string table =
      "pass,seconds,loss_per_photon,held_out_r_factor,held_out_deviance_per_photon\n";
  for (const SolverLook& look : looks)
    table += fmt::format("{},{:.3f},{:.8g},{:.8g},{:.8g}\n", look.epoch, look.seconds,
                         look.loss_per_photon, look.held_out_r_factor,
                         look.held_out_deviance_per_photon);
  write_text(folder / "progress.csv", table);
}

/// One half's image, from a flat object: what --start gives knows the patterns of both halves.
Reconstruction half_image(const Scan& half, const SolverOptions& options) {
  const SolveResult result = solve(half, {}, options);
  if (result.end == ChainEnd::interrupted) throw Interrupted("stopped during the half sets");
  require(result.end == ChainEnd::done, "{}", "the solver diverged");
  return result.image;
}

/// How far the images of the two halves agree; nothing, with a warning, where one has no image.
std::optional<Comparison> agreement_of_halves(const SolveVerbOptions& options, const Scan& scan) {
  if (!options.start.empty()) note("the half sets begin with a flat object and not with --start");
  try {
    return write_half_sets(options.output, scan,
                           [&](const Scan& half) { return half_image(half, options.solver); });
  } catch (const std::runtime_error& error) {  // InvalidInput or Interrupted
    warn("no half-set scores: {}", error.what());
  }
  return std::nullopt;
}

/// Throws what the exit code is to say, once all files are written.
void require_whole(const SolveVerbOptions& options, ChainEnd end, bool halves_missing,
                   const std::filesystem::path& checkpoint) {
  const std::string folder = options.output.string();
  require(end != ChainEnd::diverged,
          "the solver diverged; its best image is kept in {}, smaller steps may help", folder);
  if (end == ChainEnd::interrupted)
    throw Interrupted(std::filesystem::exists(checkpoint)
                          ? "stopped during the solver; image and state are kept in " + folder +
                                ", --resume goes on"
                          : "stopped during the solver; the image is kept in " + folder +
                                ", but no state from which --resume could go on");
  if (halves_missing && interrupted())
    throw Interrupted("stopped during the half sets; the image of all patterns is kept in " +
                      folder);
}

void run_solve(const SolveVerbOptions& options, const std::string& options_json) {
  const Stopwatch stopwatch;
  require(options.compute.device != "cuda",
          "--device cuda: solvers compute on the CPU only; use auto or cpu");
  options.compute.apply();
  require_writable_folder(options.output);
  std::optional<Reconstruction> start;
  if (!options.start.empty()) start = read_reconstruction(options.start);
  const Scan scan = read_scan(options.scan);
  if (options.half_sets) require_halves(scan);
  if (const auto ignored = ignored_options(options.solver); !ignored.empty())
    warn("options without effect: {}", fmt::join(ignored, "; "));
  const SolverWatch watch{.look =
                              [&](Reconstruction image, const SolverLook&) {
                                stamp(image, options, options_json);
                                write_pictures(options.output, image);
                              },
                          .checkpoint = options.output / "solve_checkpoint.h5",
                          .resume = options.resume};
  SolveResult result = solve(scan, start, options.solver, watch);
  stamp(result.image, options, options_json);
  Scores scores{.seconds = stopwatch.seconds()};
  if (result.end == ChainEnd::diverged)
    scores.passes_before_divergence = static_cast<std::int64_t>(result.image.loss.size());
  if (options.half_sets && result.end != ChainEnd::done)
    warn("no half-set scores: the solver did not come to its end");
  if (options.half_sets && result.end == ChainEnd::done) {
    write_reconstruction(options.output / "reconstruction.h5", result.image);
    scores.half_sets = agreement_of_halves(options, scan);
  }
  write_image(options.output, result.image, scan, scores, {});
  warn_on_error("progress.csv", [&] { write_looks(options.output, result.looks); });
  require_whole(options, result.end, options.half_sets && !scores.half_sets, watch.checkpoint);
}

std::vector<Field> solver_option_list(SolveVerbOptions& options) {
  SolverOptions& solver = options.solver;
  return {
      {.name = "solver",
       .target = &options.chain,
       .help = "SOLVER:PASSES, several joined by commas; solvers: " + solver_names()},
      {.name = "start",
       .target = &options.start,
       .help = "reconstruction.h5 to start from, of ptyche or in its layout; none = a flat object"},
      {.name = "probe-modes",
       .target = &solver.modes,
       .help = "incoherent probe modes",
       .range = {1, 32}},
      {.name = "fixed-probe",
       .target = &solver.fixed_probe,
       .help = "keep the probe that the chain starts from"},
      {.name = "background",
       .target = &solver.background,
       .help = "fit a background per detector pixel"},
      {.name = "likelihood",
       .target = &options.likelihood,
       .help = "of the counts: poisson, or gaussian amplitudes; auto: the latter for lsqml",
       .choices = likelihood_choices()},
      {.name = "interpolation",
       .target = &options.interpolation,
       .help = "between pixels: move the probe (does not blur) or interpolate the object",
       .choices = {"probe_fourier", "bilinear"}},
      {.name = "batch",
       .target = &solver.batch,
       .unit = "patterns",
       .help = "in a step of ml; lsqml takes up to four times as many",
       .range = {1, 1e6}},
      {.name = "object-step",
       .target = &solver.object_step,
       .help = "of ml, in units of |object| = 1",
       .range = {1e-9, 10}},
      {.name = "probe-step",
       .target = &solver.probe_step,
       .help = "of ml, in shares of the probe's peak",
       .range = {1e-9, 10}},
      {.name = "momentum",
       .target = &options.momentum,
       .help =
           "share of the last changes that goes on, 0..0.99, of lsqml, epie and rpie; auto: 0.5 "
           "for lsqml, 0 for the others"},
      {.name = "object-slope",
       .target = &solver.object_slope,
       .help = "expected change of the object from pixel to pixel: smooths where photons are few; "
               "0 = no such prior",
       .range = {0, 1e6}},
      {.name = "max-amplitude",
       .target = &solver.max_amplitude,
       .help = "of the object; 0 = free",
       .range = {0, 1e6}},
      {.name = "probe-support",
       .target = &solver.probe_support,
       .unit = "N/2",
       .help = "radius outside which the probe is dark; 0 = free",
       .range = {0, 2}},
      {.name = "plateau",
       .target = &solver.plateau,
       .help = "where ten passes gain less than this share, lsqml and lbfgs end and, if it is more "
               "than the default, ml, epie and rpie skip half of their passes that are left, so "
               "that their steps fall; 0 = never",
       .range = {0, 1}},
      {.name = "every",
       .target = &solver.every,
       .unit = "passes",
       .help = "between two looks: held-out R-factor, pictures",
       .range = {1, 1e6}},
      {.name = "resume",
       .target = &options.resume,
       .help = "go on from the checkpoint in the output folder, or start where there is none"},
      {.name = "half-sets",
       .target = &options.half_sets,
       .help = "also solve the odd and the even patterns apart, each from a flat object, and "
               "correlate the two images"},
      {.name = "seed",
       .target = &solver.seed,
       .help = "of the order of patterns and the hold-out"}};
}

Command declare(const std::shared_ptr<SolveVerbOptions>& options) {
  return {
      .name = "solve",
      .summary = "from a scan to its image by iterative solvers",
      .description =
          "Runs a chain of solvers from a flat object and the file's probe, or from --start. "
          "Leaves "
          "the same files as reconstruct, and progress.csv. Ctrl-C keeps the image and a "
          "checkpoint from which --resume goes on; a solver that diverges is stopped, its best "
          "image "
          "kept and the exit code 1. docs/solvers.md says which solver to choose.",
      .arguments = {{"SCAN", &options->scan.file, scan_formats() + " file"}},
      .options = joined({{output_dir_option(options->output)},
                         solver_option_list(*options),
                         position_option_list(options->positions, options->solver.position_step),
                         fields(options->scan),
                         compute_option_list(options->compute)}),
      .references = {"M. Odstrcil, A. Menzel, M. Guizar-Sicairos, Opt. Express 26, 3108 (2018)",
                     "P. Thibault, M. Guizar-Sicairos, New J. Phys. 14, 063004 (2012)",
                     "P. Thibault, A. Menzel, Nature 494, 68 (2013)"},
      .run = [options] { run_solve(resolved(*options), options_as_json(declare(options))); }};
}

}  // namespace

Command solve_command() { return declare(std::make_shared<SolveVerbOptions>()); }

}  // namespace ptyche
