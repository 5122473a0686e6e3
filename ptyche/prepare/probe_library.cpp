#include "ptyche/prepare/probe_library.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

constexpr const char* kGroup = "ptyche_probe";
constexpr const char* kEnding = ".h5";
constexpr double kSameEnergy = 1e-3, kSameLength = 1e-2;  // relative

DatasetLayout layout_of(std::int64_t size) {
  return {std::string(kGroup) + "/probe", at::kComplexFloat, {kAnyLength, size, size}};
}

/// Of the environment; empty where it is not set.
std::filesystem::path folder_named(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

bool is_name(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !name.empty() && name.size() <= 100 && plain(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name, [&](char c) {
           return plain(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
         });
}

bool near(double a, double b, double relative) {
  return a > 0 && b > 0 && std::abs(a - b) <= relative * std::max(a, b);
}

double number_of(const Hdf5File& file, const char* name) {
  const double value = file.number(kGroup, name).value_or(0);
  require(value > 0 && std::isfinite(value), "{}: expected a number above 0 in {}, found {}",
          kGroup, name, value);
  return value;
}

KeptProbe read_from(const Hdf5File& file, const std::string& name) {
  KeptProbe kept{.name = name, .probe = read(file, layout_of(kAnyLength)), .geometry = {}};
  require(kept.probe.size(0) >= 1 && kept.probe.size(1) == kept.probe.size(2) &&
              probe_power(kept.probe) > 0,
          "{}/probe: expected (modes, N, N) with light, found none", kGroup);
  kept.geometry.energy_ev = number_of(file, "energy_ev");
  kept.geometry.distance_m = number_of(file, "distance_m");
  kept.geometry.object_pixel_m = number_of(file, "object_pixel_m");
  kept.source = file.text(kGroup, "source").value_or("");
  kept.when = file.text(kGroup, "when").value_or("");
  return kept;
}

}  // namespace

std::optional<std::filesystem::path> probe_library() {
  if (const auto named = folder_named("PTYCHE_PROBES"); !named.empty()) return named;
  const std::filesystem::path own = std::filesystem::path("ptyche") / "probes";
  if (const auto data = folder_named("XDG_DATA_HOME"); data.is_absolute()) return data / own;
  const std::filesystem::path home = folder_named("HOME");
  if (home.empty()) return std::nullopt;
  return home / ".local" / "share" / own;
}

std::filesystem::path kept_probe_file(const std::string& name) {
  require(is_name(name),
          "probe '{}': expected a name of at most 100 letters, digits, '.', '_' and '-', the first "
          "a letter or a digit",
          name);
  const auto folder = probe_library();
  require(folder.has_value(),
          "probe {}: expected a folder for kept probes, found none; "
          "PTYCHE_PROBES names one where there is no HOME",
          name);
  return *folder / (name + kEnding);
}

void require_free_name(const std::string& name) {
  const std::filesystem::path file = kept_probe_file(name);
  require(!std::filesystem::exists(std::filesystem::symlink_status(file)),
          "probe {0}: expected a name that is not taken, found {1}; `ptyche probes remove {0}` "
          "frees it",
          name, file.string());
}

void keep_in_library(const KeptProbe& kept) {
  require_free_name(kept.name);
  const Geometry& geometry = kept.geometry;
  require(!geometry.near_field, "probe {}: expected one of the far field, found a near field",
          kept.name);
  require(probe_power(kept.probe) > 0, "probe {}: expected light, found none", kept.name);
  require(geometry.energy_ev > 0 && geometry.distance_m > 0 && geometry.object_pixel_m > 0,
          "probe {}: expected energy, distance and pixel above 0, by which scans that it fits are "
          "known, found {} eV, {} m and an object pixel of {} m",
          kept.name, geometry.energy_ev, geometry.distance_m, geometry.object_pixel_m);
  const std::filesystem::path file = kept_probe_file(kept.name);
  require_writable_folder(file.parent_path());
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    out.make_group(kGroup);
    out.set(kGroup, "energy_ev", geometry.energy_ev);
    out.set(kGroup, "distance_m", geometry.distance_m);
    out.set(kGroup, "object_pixel_m", geometry.object_pixel_m);
    out.set(kGroup, "source", kept.source);
    out.set(kGroup, "when", kept.when);
    out.set(kGroup, "version", version());
    write(out, layout_of(kept.pattern_size()), kept.probe);
    out.close();
  });
}

KeptProbe kept_from(const std::string& name, const Reconstruction& image) {
  KeptProbe kept{.name = name, .probe = image.main_probe(), .geometry = image.geometry};
  kept.source = image.provenance.source;
  kept.when = image.provenance.date;
  if (kept.geometry.object_pixel_m <= 0)
    kept.geometry.object_pixel_m = far_field_object_pixel_m(kept.geometry, kept.pattern_size());
  return kept;
}

KeptProbe read_kept_probe(const std::string& name) {
  const std::filesystem::path file = kept_probe_file(name);
  return with_file(file, [&] { return read_from(Hdf5File::open(file), name); });
}

std::vector<std::string> kept_probe_names() {
  std::vector<std::string> names;
  const auto folder = probe_library();
  std::error_code none;
  if (!folder) return names;
  for (const auto& entry : std::filesystem::directory_iterator(*folder, none))
    if (entry.path().extension() == kEnding && is_name(entry.path().stem().string()))
      names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

bool fits(const KeptProbe& kept, const Scan& scan) {
  const Geometry &one = kept.geometry, &other = scan.geometry();
  return !other.near_field && kept.pattern_size() == scan.pattern_size() &&
         near(one.energy_ev, other.energy_ev, kSameEnergy) &&
         near(one.distance_m, other.distance_m, kSameLength) &&
         near(one.object_pixel_m, other.object_pixel_m, kSameLength);
}

std::vector<KeptProbe> kept_probes_for(const Scan& scan) {
  std::vector<KeptProbe> fitting;
  for (const std::string& name : kept_probe_names()) {
    try {
      KeptProbe kept = read_kept_probe(name);
      if (fits(kept, scan)) fitting.push_back(std::move(kept));
    } catch (const InvalidInput& error) {
      warn("a kept probe is passed over: {}", error.what());
    }
  }
  return fitting;
}

}  // namespace ptyche
