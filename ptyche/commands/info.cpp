// What is in a file, and what it will take to reconstruct it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/checked_scan.h"
#include "ptyche/commands/command_line.h"
#include "ptyche/commands/describe.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/engine/engine.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/io/product.h"
#include "ptyche/io/readers.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/report/checks.h"

namespace ptyche {
namespace {

void print_line(const std::string& name, const std::string& value) {
  fmt::print("{:<22} {}\n", name, value);
}

void print_reconstruction(const Reconstruction& image) {
  print_line("content", "reconstruction (ptychodus product)");
  print_line("object", fmt::format("{} px", fmt::join(image.object.sizes(), " x ")));
  print_line("probe",
             fmt::format("{} (modes, rows, columns)", fmt::join(image.probe.sizes(), " x ")));
  print_line("positions", fmt::format("{}", image.positions.size(0)));
  print_line("interpolation", to_string(image.interpolation));
  print_line("made from", image.provenance.source);
  print_line("options", image.provenance.options_json);
}

void print_model(const Model& model) {
  std::int64_t parameters = 0;
  for (const at::Tensor& weight : model.network->parameters()) parameters += weight.numel();
  print_line("content", "model");
  print_line("network", fmt::format("{}, {} parameters", model.network_options.name, parameters));
  print_line("patterns", fmt::format("{} x {} px", model.pattern_size(), model.pattern_size()));
  print_line("probe modes", fmt::format("{}", model.probe.size(0)));
  print_line("epochs", fmt::format("{}", model.history.size()));
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
  bool engines = false, groups = false, check = false;
  std::filesystem::path output;
  std::uint64_t seed = 1;
};

void print_facts(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) print_line(fact.name, fact.value);
}

void print_finding(const Finding& finding) {
  fmt::print("{:<7} {}: {}\n", to_string(finding.level), finding.cause, finding.text);
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
  fmt::print("{:<22} {} mended, {} left, {:.2f} s\n", "checked", treatment.done.size(),
             treatment.diagnosis.findings.size(), seconds);
  if (!info.output.empty()) write_check(info.output, scan, treatment);
  require(!treatment.diagnosis.has(Level::refuse), "{}: the scan is not fit to be solved",
          info.scan.file.string());
}

void print_scan(const InfoChoices& info) {
  const Scan scan = read_scan(info.scan);
  if (info.check) return print_check(info, scan);
  print_facts(describe(scan));
  if (!info.groups) return;
  const GroupingChoices& grouping = info.grouping;
  print_facts(describe_groups(subsample(scan, grouping.resolved_subsample()),
                              grouping.resolved_groups(info.seed)));
}

/// What chooses groups goes with --groups.
void require_groups_for(InfoChoices info) {
  GroupingChoices defaults;
  const std::vector<std::string> chosen = changed(fields(info.grouping), fields(defaults));
  if (!info.groups && !chosen.empty())
    throw UsageError(fmt::format("--{}: it goes with --groups", chosen.front()));
}

void run_info(const InfoChoices& info) {
  require_groups_for(info);
  if (!info.output.empty() && !info.check) throw UsageError("--output-dir: it goes with --check");
  if (info.engines) return print_engines();
  const auto& file = info.scan.file;
  if (file.empty()) throw UsageError("info: expected a FILE, or --engines");
  const bool model = is_hdf5(file) && Hdf5File::open(file).has("ptyche_model");
  const bool scan = !model && reader_of(file, Content::any).read_scan;
  if (info.groups && !scan)
    throw UsageError(fmt::format("info --groups: expected a scan, {} is none", file.string()));
  if (info.check && !scan)
    throw UsageError(fmt::format("info --check: expected a scan, {} is none", file.string()));
  if (scan) return print_scan(info);
  return model ? print_model(read_model(file)) : print_reconstruction(read_reconstruction(file));
}

}  // namespace

Command info_command() {
  const auto choices = std::make_shared<InfoChoices>();
  std::vector<Field> topics{
      {.name = "engines",
       .target = &choices->engines,
       .help = "what each engine of the physics covers, instead of a file"},
      {.name = "check",
       .target = &choices->check,
       .help =
           "of a scan what is wrong with it, and what reconstruct and solve would mend; the exit "
           "code is 1 where they would refuse it"},
      {.name = "output-dir",
       .target = &choices->output,
       .help = "with --check: folder for checks.png and checks.json",
       .short_name = "o"},
      {.name = "groups",
       .target = &choices->groups,
       .help = "of a scan also the groups that --gridsize and the like make, and their overlap"}};
  return {
      .name = "info",
      .summary = "what is in a file: shapes, counts, overlap, dose",
      .description =
          "For a scan it reads the file just as `reconstruct` would, with the same "
          "options, and says what it understood.",
      .arguments = {{.name = "FILE",
                     .target = &choices->scan.file,
                     .help = "scan, reconstruction.h5 or model.ptyche",
                     .required = false}},
      .options = joined({topics,
                         fields(choices->grouping),
                         {{.name = "seed", .target = &choices->seed, .help = "draws the groups"}},
                         whole_scan_options(choices->scan)}),
      .references = {},
      .run = [choices] { run_info(*choices); }};
}

}  // namespace ptyche
