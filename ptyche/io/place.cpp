#include "ptyche/io/place.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/quantity.h"
#include "ptyche/data/array.h"
#include "ptyche/io/units.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

std::optional<double> factor_from(const std::string& text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (text.empty() || error != std::errc() || end != last || !std::isfinite(value) || value == 0)
    return std::nullopt;
  return value;
}

std::optional<double> length_from(const std::string& unit) {
  if (unit.empty()) return std::nullopt;
  try {
    return in_own_unit(unit, Measure::length);
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

/// Takes "*FACTOR" or "*UNIT" off the end of the text. A '*' of a name is followed by neither.
void take_factor(std::string& text, Place& place) {
  const std::size_t star = text.rfind('*');
  if (star == std::string::npos) return;
  const std::string factor = text.substr(star + 1);
  if (factor == "px") {
    place.in_pixels = true;
  } else {
    place.factor = factor_from(factor);
    if (!place.factor) place.factor = length_from(factor);
    if (!place.factor) return;
  }
  text.erase(star);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  if (!from.empty() && at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// The value of "{stem:A:B}" and its like.
std::string token_value(const std::string& token, const fs::path& scan) {
  const std::vector<std::string> parts = split(token, ':');
  std::string value;
  if (parts[0] == "dir")
    value = scan.parent_path().empty() ? "." : scan.parent_path().string();
  else if (parts[0] == "stem")
    value = scan.stem().string();
  else if (parts[0] == "ext")
    value = scan.extension().string();
  else
    throw InvalidInput("expected {dir}, {stem} or {ext} in a file's name, found {" + token + "}");
  return parts.size() == 3 ? replaced(value, parts[1], parts[2]) : value;
}

fs::path beside(const std::string& pattern, const fs::path& scan) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::size_t end = pattern[at] == '{' ? pattern.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      text += pattern[at];
      continue;
    }
    text += token_value(pattern.substr(at + 1, end - at - 1), scan);
    at = end;
  }
  return text;
}

/// The first file, in order, that fits a name with '*'.
std::optional<fs::path> existing(const fs::path& file) {
  const std::string pattern = file.filename().string();
  std::error_code unknown;  // a loop of links, a name too long: nothing that could be read
  if (pattern.find('*') == std::string::npos)
    return fs::exists(file, unknown) ? std::optional(file) : std::nullopt;
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  std::vector<std::string> names;
  if (fs::is_directory(folder, unknown))
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file(unknown) && fits_pattern(entry.path().filename().string(), pattern))
        names.push_back(entry.path().filename().string());
  if (names.empty()) return std::nullopt;
  return folder / *std::min_element(names.begin(), names.end(), by_number);
}

}  // namespace

Place place_from_text(const std::string& option) {
  Place place;
  std::string text = option;
  take_factor(text, place);
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) {
    place.files = {text.substr(0, colon)};
    place.names = {text.substr(colon + 1)};
  } else if (std::error_code unknown; fs::exists(text, unknown)) {
    place.files = {text};
  } else {
    place.names = {text};
  }
  require(!text.empty(), "expected [FILE:]NAME[*FACTOR], found {}", option);
  return place;
}

std::vector<Place> places_from_text(const std::string& text) {
  std::vector<Place> places;
  for (const std::string& part : split(text, ',')) places.push_back(place_from_text(part));
  require(places.size() <= 2, "expected X,Y or one array of both, found {} parts", places.size());
  return places;
}

std::vector<fs::path> Sources::files_of(const Place& place) const {
  if (place.files.empty()) return {scan_};
  std::vector<fs::path> files;
  for (const std::string& pattern : place.files)
    if (const auto file = existing(beside(pattern, scan_))) files.push_back(*file);
  return files;
}

ArrayFile& Sources::open(const fs::path& file) {
  auto& opened = opened_[file.string()];
  if (!opened) opened = open_arrays(file);
  return *opened;
}

std::vector<fs::path> Sources::others() const {
  std::vector<fs::path> files;
  for (const auto& [name, file] : opened_)
    if (name != scan_.string()) files.emplace_back(name);
  return files;
}

std::optional<Sources::Found> Sources::find(const Place& place) {
  if (!place.given()) return std::nullopt;
  for (const fs::path& path : files_of(place)) {
    ArrayFile& file = open(path);
    if (place.names.empty() && !file.names().empty()) return Found{&file, file.names().front()};
    for (const std::string& name : place.names)
      if (file.has(name) && !file.text(name)) return Found{&file, name};  // "None" is no number
  }
  return std::nullopt;
}

Sources::Found Sources::required(const Place& place, const std::string& role) {
  if (const auto found = find(place)) return *found;
  const std::vector<fs::path> files = files_of(place);
  require(!files.empty(), "{}: expected a file {}, found none", role,
          [&] { return beside(place.files.front(), scan_).string(); });
  throw InvalidInput(fmt::format("{}: expected {} in {}, found {}", role, list_of(place.names),
                                 files.front().string(), list_of(open(files.front()).names())));
}

double unit_factor(const Sources::Found& found, const Place& place, Measure measure) {
  if (place.factor) return *place.factor;
  if (measure == Measure::number) return 1;  // "counts", "sqrt(photon)"
  std::string unit = found.file->unit(found.name);
  if (unit.empty()) unit = place.unit;
  if (unit.empty() && measure == Measure::length)
    unit = length_unit_of_name(found.name.substr(found.name.find_last_of('/') + 1));
  return with_context(found.name, [&] { return in_own_unit(unit, measure); });
}

at::Tensor Sources::values(const Place& place, Measure measure) {
  const auto found = find(place);
  if (!found) return {};
  at::Tensor values = found->file->read(found->name).values;
  if (place.item) {
    require(values.dim() >= 1 && *place.item >= 0 && *place.item < values.size(-1),
            "{}: expected more than {} values, found {}", found->name, *place.item,
            describe(values));
    values = values.select(-1, *place.item);
  }
  const double factor = unit_factor(*found, place, measure);
  return factor == 1 ? values : values.to(at::kDouble) * factor;
}

std::optional<double> Sources::number(const Place& place, Measure measure) {
  const at::Tensor all = values(place, measure);
  if (!all.defined() || all.numel() == 0 || all.is_complex()) return std::nullopt;
  const double value = all.reshape(-1)[0].to(at::kDouble).item<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace ptyche
