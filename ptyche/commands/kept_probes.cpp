#include "ptyche/commands/kept_probes.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <system_error>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/result.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/prepare/probe_library.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {
namespace {

struct ProbesOptions {
  std::string action = "list", name;
  std::filesystem::path file;
  double energy_ev = 0, distance_m = 0, detector_pixel_m = 0;
};

std::string line_of(const KeptProbe& kept) {
  return fmt::format("{:<24} {:>4} px {:>10.6g} eV {:>8.4g} m {:>9.4g} nm {:>2} mode{} from {}\n",
                     kept.name, kept.pattern_size(), kept.geometry.energy_ev,
                     kept.geometry.distance_m, kept.geometry.object_pixel_m * 1e9,
                     kept.probe.size(0), kept.probe.size(0) == 1 ? " " : "s", kept.source);
}

void list_probes() {
  const auto folder = probe_library();
  const std::vector<std::string> names = kept_probe_names();
  if (names.empty()) show("no probe is kept{}\n", folder ? " in " + folder->string() : "");
  for (const std::string& name : names) {
    try {
      show("{}", line_of(read_kept_probe(name)));
    } catch (const InvalidInput& error) {
      show("{:<24} damaged: {}\n", name, error.what());
    }
  }
}

void show_probe(const std::string& name) {
  const KeptProbe kept = read_kept_probe(name);
  const auto line = [](const char* what, const std::string& value) {
    show("{:<14} {}\n", what, value);
  };
  line("probe", kept.name);
  line("file", kept_probe_file(name).string());
  line("size", fmt::format("{0} x {0} px, modes: {1}", kept.pattern_size(), kept.probe.size(0)));
  line("energy", fmt::format("{:.9g} eV", kept.geometry.energy_ev));
  line("distance", fmt::format("{:.6g} m", kept.geometry.distance_m));
  line("object pixel", fmt::format("{:.6g} nm", kept.geometry.object_pixel_m * 1e9));
  line("photons", fmt::format("{:.4g} per pattern", probe_power(kept.probe)));
  line("from", fmt::format("{} ({})", kept.source, kept.when));
}

void remove_probe(const std::string& name) {
  const std::filesystem::path file = kept_probe_file(name);
  require(std::filesystem::is_regular_file(std::filesystem::symlink_status(file)),
          "probe {}: expected a kept one, found none at {}", name, file.string());
  std::error_code error;
  require(std::filesystem::remove(file, error) && !error, "{}: it cannot be removed: {}",
          file.string(), error.message());
  show("{} is removed\n", name);
}

/// Of a result; a model and an array know none.
Geometry geometry_in(const std::filesystem::path& file) {
  const bool model = is_hdf5(file) && Hdf5File::open(file).has("ptyche_model");
  if (!is_hdf5(file) || model) return {};
  return read_result(file).image.geometry;
}

void add_probe(const ProbesOptions& options) {
  require_free_name(options.name);
  Reconstruction image;
  image.provenance.source = options.file.string();
  image.probe = read_any_probe(options.file).unsqueeze(0);
  const bool given =
      options.energy_ev > 0 && options.distance_m > 0 && options.detector_pixel_m > 0;
  if (!given) image.geometry = geometry_in(options.file);
  if (options.energy_ev > 0) image.geometry.energy_ev = options.energy_ev;
  if (options.distance_m > 0) image.geometry.distance_m = options.distance_m;
  if (options.detector_pixel_m > 0) {
    image.geometry.detector_pixel_m = options.detector_pixel_m;
    image.geometry.object_pixel_m = 0;  // follows from the others
  }
  keep_in_library(kept_from(options.name, image));
  show("{}", line_of(read_kept_probe(options.name)));
}

void run_probes(const ProbesOptions& options) {
  const bool named = options.action != "list", from_file = options.action == "add";
  if (named == options.name.empty() || from_file == options.file.empty())
    throw UsageError(
        "expected list, show NAME, remove NAME or add NAME FILE, found other arguments");
  if (options.action == "list") return list_probes();
  if (options.action == "show") return show_probe(options.name);
  if (options.action == "remove") return remove_probe(options.name);
  if (options.action == "add") return add_probe(options);
  throw UsageError(
      fmt::format("probes: expected list, show, remove or add, found '{}'", options.action));
}

}  // namespace

Field keep_probe_option(std::string& name) {
  return {.name = "keep-probe",
          .target = &name,
          .help =
              "name under which the image's probe is kept for scans of the same instrument: see "
              "probes, and --probe library",
          .affects_result = false};
}

void require_can_keep(const std::string& name) {
  if (!name.empty()) with_context("--keep-probe", [&] { require_free_name(name); });
}

void keep_probe_of(const std::string& name, const Reconstruction& image,
                   const std::optional<Verdict>& verdict) {
  if (name.empty()) return;
  if (verdict && verdict->word == VerdictWord::failed)
    return warn("--keep-probe: the probe of an image that failed is not kept");
  try {
    keep_in_library(kept_from(name, image));
    note("its probe is kept as {}", name);
  } catch (const std::exception& error) {
    warn("--keep-probe: {}; `ptyche probes add` takes it from the result", error.what());
  }
}

Command probes_command() {
  const auto options = std::make_shared<ProbesOptions>();
  return {
      .name = "probes",
      .summary = "probes kept for later scans of the same instrument",
      .description =
          "list (the bare command), show NAME, remove NAME, add NAME FILE. They are kept by "
          "--keep-probe of reconstruct, solve and infer, or added from a result, a model or an "
          ".npy file, and tried only where --probe library asks for it, on scans with as many "
          "pixels, the same energy, distance and object pixel. The folder: PTYCHE_PROBES, else "
          "ptyche/probes in XDG_DATA_HOME or ~/.local/share.",
      .arguments = {{"ACTION", &options->action, "list, show, remove or add", false},
                    {"NAME", &options->name, "of a probe", false},
                    {"FILE", &options->file, "of add: a result, a model or an .npy file", false}},
      .options = {{.name = "energy",
                   .target = &options->energy_ev,
                   .unit = "eV",
                   .help = "of add: the light's; 0 = the file's",
                   .range = {0},
                   .sizes = kPhotonEnergies},
                  {.name = "distance",
                   .target = &options->distance_m,
                   .unit = "m",
                   .help = "of add: sample to detector; 0 = the file's",
                   .range = {0},
                   .sizes = kDistances},
                  {.name = "detector-pixel",
                   .target = &options->detector_pixel_m,
                   .unit = "m",
                   .help = "of add: its pitch; 0 = the file's object pixel counts",
                   .range = {0},
                   .sizes = kDetectorPixels}},
      .references = {},
      .run = [options] { run_probes(*options); }};
}

}  // namespace ptyche
