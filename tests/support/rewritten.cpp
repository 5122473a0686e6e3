#include "tests/support/rewritten.h"

#include <fstream>
#include <random>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/seal.h"

namespace ptyche {
namespace {

const std::map<std::string, std::vector<std::string>> kTexts = {
    {"/", {"name", "comments"}},
    {"ptyche",
     {"length_unit", "interpolation", "version", "commit", "source", "input_hash", "command",
      "options", "seed"}},
    {"ptyche_model", {"options", "version"}},
    {"training", {"key"}},
    {"chain", {"scan", "start", "options"}},
    {"automatic", {"scan", "start", "options"}},
    {"attempt", {"what", "refused"}}};
const std::map<std::string, std::vector<std::string>> kNumbers = {
    {"/", {"probe_energy_eV", "detector_object_distance_m", "exposure_time_s"}},
    {"object", {"pixel_width_m", "pixel_height_m", "center_x_m", "center_y_m"}},
    {"probe", {"pixel_width_m", "pixel_height_m"}},
    {"ptyche_model", {"format_version"}}};

using Datasets = std::map<std::string, at::Tensor>;

Datasets arrays_of(const Hdf5File& in) {
  Datasets all;
  for (const std::string& path : in.datasets()) try {
      if (path != "ptyche/scores") all[path] = in.read(path).values;
    } catch (const InvalidInput&) {  // a text, which is left out
    }
  return all;
}

void copy_attributes(const Hdf5File& in, Hdf5File& out) {
  for (const auto& [group, names] : kTexts)
    for (const std::string& name : names)
      if (group == "/" || in.has(group))
        if (const auto text = in.text(group, name)) {
          if (group != "/" && !out.has(group)) out.make_group(group);
          out.set(group, name, *text);
        }
  for (const auto& [group, names] : kNumbers)
    for (const std::string& name : names)
      if ((group == "/" || (in.has(group) && out.has(group))))
        if (const auto number = in.number(group, name)) out.set(group, name, *number);
}

}  // namespace

void rewrite(const std::filesystem::path& file, const Datasets& datasets) {
  write_atomically(file, [&](const std::filesystem::path& next) {
    const Hdf5File in = Hdf5File::open(file);
    Datasets all = arrays_of(in);
    for (const auto& [path, values] : datasets) all[path] = values;
    Hdf5File out = Hdf5File::create(next);
    for (const auto& [path, values] : all)
      if (values.defined()) out.write(path, values);
    copy_attributes(in, out);
    out.close();
  });
}

void rewrite_text(const std::filesystem::path& file, const std::string& group,
                  const std::string& attribute, const std::string& text) {
  write_atomically(file, [&](const std::filesystem::path& next) {
    const Hdf5File in = Hdf5File::open(file);
    Hdf5File out = Hdf5File::create(next);
    for (const auto& [path, values] : arrays_of(in)) out.write(path, values);
    copy_attributes(in, out);
    out.set(group, attribute, text);
    out.close();
  });
}

void remove_seal(const std::filesystem::path& file) {
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - kSealBytes);
}

void damage(const std::filesystem::path& file, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto size = std::filesystem::file_size(file);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  for (std::uint64_t left = 1 + random() % 16; left > 0; --left) {
    const auto place = static_cast<std::streamoff>(random() % size);
    bytes.seekg(place);
    const auto old = static_cast<unsigned char>(bytes.get());
    bytes.seekp(place);
    bytes.put(static_cast<char>(old ^ (1 + random() % 255)));
  }
}

}  // namespace ptyche
