// What is in a file, and what it will take to reconstruct it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

#include "ptyche/commands/describe_scan.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/verbs.h"
#include "ptyche/core/error.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/io/product.h"
#include "ptyche/model/model_file.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/engine.h"

namespace ptyche {
namespace {

enum class Content { scan, reconstruction, model };

/// HDF5 files may be any of the three; everything else can only be a scan.
Content content_of(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (extension != ".h5" && extension != ".hdf5" && extension != ".ptyche") return Content::scan;
  const Hdf5File opened = Hdf5File::open(file);
  if (opened.has("ptyche_model")) return Content::model;
  return opened.has("object") ? Content::reconstruction : Content::scan;
}

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
  ReadChoices scan;
  bool engines = false;
};

void run_info(const InfoChoices& info) {
  if (info.engines) return print_engines();
  const ReadChoices& choices = info.scan;
  const auto& file = choices.read.file;
  if (file.empty()) throw UsageError("info: expected a FILE, or --engines");
  switch (content_of(file)) {
    case Content::model:
      return print_model(read_model(file));
    case Content::reconstruction:
      return print_reconstruction(read_reconstruction(file));
    case Content::scan:
      for (const Fact& fact : describe(read_scan(choices.resolved())))
        print_line(fact.name, fact.value);
  }
}

}  // namespace

Command info_command() {
  const auto choices = std::make_shared<InfoChoices>();
  std::vector<Option> engines{
      {.name = "engines",
       .target = &choices->engines,
       .unit = "",
       .help = "what each engine of the physics covers, instead of a file"}};
  return {.name = "info",
          .summary = "what is in a file: shapes, counts, overlap, dose",
          .description =
              "For a scan it reads the file just as `reconstruct` would, with the same "
              "options, and says what it understood.",
          .arguments = {{.name = "FILE",
                         .target = &choices->scan.read.file,
                         .help = "scan, reconstruction.h5 or model.ptyche",
                         .required = false}},
          .options = joined({engines, read_option_list(choices->scan)}),
          .references = {},
          .run = [choices] { run_info(*choices); }};
}

}  // namespace ptyche
