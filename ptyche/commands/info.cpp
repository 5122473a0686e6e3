// What is in a file, and what it will take to reconstruct it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <memory>

#include "ptyche/commands/checked_scan.h"
#include "ptyche/commands/command_line.h"
#include "ptyche/commands/describe.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/engine/engine.h"
#include "ptyche/io/choose_reader.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/result.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/prepare/scan_rotation.h"
#include "ptyche/report/checks.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {
namespace {

void print_line(const std::string& name, const std::string& value) {
  show("{:<22} {}\n", name, value);
}

void print_reconstruction(const Result& result) {
  const Reconstruction& image = result.image;
  print_line("content", fmt::format("reconstruction ({})", result.format));
  if (image.object.defined())
    print_line("object", fmt::format("{} px", fmt::join(image.projection().sizes(), " x ")));
  if (image.probe.defined())
    print_line("probe", fmt::format("{} (modes, rows, columns)",
                                    fmt::join(image.main_probe().sizes(), " x ")));
  if (image.positions.defined())
    print_line("positions", fmt::format("{}", image.positions.size(0)));
  if (image.geometry.has_object_pixel())
    print_line("object pixel", fmt::format("{:.6g} nm", image.geometry.object_pixel_m * 1e9));
  if (image.geometry.energy_ev > 0)
    print_line("energy", fmt::format("{:.6g} eV", image.geometry.energy_ev));
  print_line("interpolation", to_string(image.interpolation));
  print_line("made from", image.provenance.source);
  print_line("options", image.provenance.options_json);
}

/// How it was trained; older files do not say.
void print_training(const Model& model) {
  print_line("epochs", fmt::format("{}", model.history.size()));
  const std::vector<std::pair<std::string, std::string>> told{
      {"recipe", "trained as"},
      {"loss", "loss"},
      {"mae-share", "absolute error beside it"},
      {"learning-rate", "learning rate"},
      {"groups-per-batch", "groups in a step"},
      {"group-size", "patterns in a group"},
      {"merged", "of these merged"},
      {"groups", "groups"}};
  for (const auto& [name, words] : told)
    for (const auto& [key, value] : model.training)
      if (key == name) print_line(words, value);
}

void print_model(const Model& model) {
  std::int64_t parameters = 0;
  for (const at::Tensor& weight : model.network->parameters()) parameters += weight.numel();
  print_line("content", "model");
  print_line("network", fmt::format("{}, {} parameters", model.network_options.name, parameters));
  print_line("patterns", fmt::format("{} x {} px", model.pattern_size(), model.pattern_size()));
  print_line("probe modes", fmt::format("{}", model.probe.size(0)));
  print_training(model);
  print_line("trained on", "scan with SHA-256 " + model.input_hash);
}

void print_engines() {
  for (const EngineCoverage& engine : engine_coverage()) {
    print_line("engine", to_string(engine.engine));
    print_line("  operators", engine.operators);
    print_line("  numbers", engine.number_types);
    print_line("  devices", engine.devices);
    print_line("  sizes", engine.sizes);
    print_line("  limits", engine.limits);
  }
}

struct InfoChoices {
  ReadOptions scan;
  GroupingChoices grouping;
  bool engines = false, groups = false, check = false, full = false;
  std::filesystem::path output;
  std::uint64_t seed = 1;
};

void print_facts(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) print_line(fact.name, fact.value);
}

void print_finding(const Finding& finding) {
  show("{:<7} {}: {}\n", to_string(finding.level), finding.cause, finding.text);
}

/// What the doctor finds and what it would do before a solve. Throws InvalidInput for a scan that
/// solvers are not given.
void print_check(const InfoChoices& info, const Scan& scan) {
  const Stopwatch watch;
  const ExamineOptions options = examine_options(info.scan);
  const Treatment treatment = treat(scan, options);
  const double seconds = watch.seconds();
  for (const Finding& act : treatment.done) print_finding(act);
  for (const Finding& finding : treatment.diagnosis.findings) print_finding(finding);
  if (const std::optional<BrightField> field = bright_field(treatment.scan))
    print_line("bright field", in_words(*field));
  show("{:<22} {} corrected, {} left, {:.2f} s\n", "checked", treatment.done.size(),
       treatment.diagnosis.findings.size(), seconds);
  if (!info.output.empty()) write_check(info.output, scan, treatment);
  require(!treatment.diagnosis.has(Level::refuse), "{}: the scan is not fit to be solved",
          info.scan.file.string());
}

/// What needs all patterns: the doctor, groups, and a raster's turn that they tell.
bool needs_all(const InfoChoices& info) {
  return info.check || info.groups || info.full || info.scan.scan_rotation == "auto";
}

void print_whole_scan(const InfoChoices& info) {
  const Stopwatch watch;
  const std::clock_t work = std::clock();
  const Scan scan = read_turned_scan(info.scan);
  const double seconds = watch.seconds();
  const double of_cores = static_cast<double>(std::clock() - work) / CLOCKS_PER_SEC;
  if (info.check) return print_check(info, scan);
  print_facts(describe(scan));
  if (info.full) {
    print_line("SHA-256", scan.input_hash());
    print_line("read in", fmt::format("{:.3f} s ({:.3f} s of the cores' time)", seconds, of_cores));
  }
  if (!info.groups) return;
  const GroupingChoices& grouping = info.grouping;
  print_facts(describe_groups(subsample(scan, grouping.resolved_subsample()),
                              grouping.resolved_groups(info.seed)));
}

void print_scan(const InfoChoices& info) {
  if (needs_all(info)) return print_whole_scan(info);
  print_facts(describe(read_scan_sample(info.scan)));
}

/// What chooses groups goes with --groups.
void require_groups_for(InfoChoices info) {
  GroupingChoices defaults;
  const std::vector<std::string> chosen = given(fields(info.grouping), fields(defaults));
  if (!info.groups && !chosen.empty())
    throw UsageError(fmt::format("--{}: it goes with --groups", chosen.front()));
}

void run_info(const InfoChoices& info) {
  require_groups_for(info);
  if (!info.output.empty() && !info.check) throw UsageError("--output-dir: it goes with --check");
  if (info.engines) return print_engines();
  const auto& file = info.scan.file;
  if (file.empty()) throw UsageError("info: expected a SCAN, or --engines");
  const bool model = is_hdf5(file) && with_context(file.string(), [&] {
                       return Hdf5File::open(file, SealCheck::later).has("ptyche_model");
                     });
  const bool scan =
      !model && (names_a_reader(info.scan) || reader_of(file, Content::any).read_scan);
  if (info.groups && !scan)
    throw UsageError(fmt::format("info --groups: expected a scan, {} is none", file.string()));
  if (info.check && !scan)
    throw UsageError(fmt::format("info --check: expected a scan, {} is none", file.string()));
  if (scan) return print_scan(info);
  return model ? print_model(read_model(file)) : print_reconstruction(read_result(file));
}

}  // namespace

Command info_command() {
  const auto choices = std::make_shared<InfoChoices>();
  std::vector<Field> topics{
      {.name = "engines",
       .target = &choices->engines,
       .help = "list of what each engine of the physics covers, instead of a file"},
      {.name = "check",
       .target = &choices->check,
       .help =
           "of a scan what is wrong with it, and what reconstruct and solve would mend; the exit "
           "code is 1 where they would refuse it"},
      {.name = "output-dir",
       .target = &choices->output,
       .help = "folder for checks.png and checks.json of --check",
       .short_name = "o"},
      {.name = "full",
       .target = &choices->full,
       .help = "of a scan read all patterns and not a few of them; also its SHA-256, and how long "
               "the reading took"},
      {.name = "groups",
       .target = &choices->groups,
       .help = "of a scan also the groups that --gridsize and the like make, and their overlap"}};
  return {
      .name = "info",
      .summary = "what is in a file: shapes, counts, overlap, dose",
      .description =
          "For a scan it reads headers, positions and a few patterns just as `reconstruct` would, "
          "with the same options, and says what it understood.",
      .arguments = {{.name = "SCAN",
                     .target = &choices->scan.file,
                     .help = "scan, reconstruction.h5 or model.ptyche",
                     .required = false}},
      .options = joined(
          {topics,
           fields(choices->grouping),
           {{.name = "seed", .target = &choices->seed, .help = "seed of the choice of groups"}},
           whole_scan_options(choices->scan)}),
      .references = {},
      .run = [choices] { run_info(*choices); },
      .basic = {"check", "output-dir", "full", "engines", "format", "scan-shape", "energy",
                "distance", "detector-pixel"}};
}

}  // namespace ptyche
