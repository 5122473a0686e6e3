// Universes out of TOML, and as one line.
#include <algorithm>
#include <cmath>

#include "ptyche/core/files.h"
#include "ptyche/io/toml_keys.h"
#include "ptyche/simulate/universe.h"

namespace ptyche {
namespace {

std::vector<std::string> probe_kinds() { return {"lens", "zone-plate", "disk", "gaussian"}; }

std::vector<std::string> object_kinds() {
  return {"dead-leaves", "photograph", "random-field", "lines", "bars", "siemens-star", "crystal"};
}

/// Two numbers in order within `allowed`, or one for both.
Range range_in(const toml::node& node, const Range& allowed) {
  Range range;
  if (const auto* list = node.as_array()) {
    require(list->size() == 2, "expected two numbers, the least and the most, found {}",
            list->size());
    range = {number_in_toml(*list->get(0)), number_in_toml(*list->get(1))};
  } else {
    range.low = range.high = number_in_toml(node);
  }
  require(range.low <= range.high, "expected the least first, found [{}, {}]", range.low,
          range.high);
  require(range.low >= allowed.low && range.high <= allowed.high,
          "expected {} to {}, found {} to {}", allowed.low, allowed.high, range.low, range.high);
  return range;
}

/// { name = how often, ... }
Kinds kinds_in(const toml::node& node, const std::vector<std::string>& known) {
  const auto* table = node.as_table();
  require(table != nullptr, "expected a table of kinds and how often each is drawn");
  Kinds kinds;
  double sum = 0;
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    require(std::ranges::find(known, name) != known.end(), "expected kinds out of {}, found '{}'{}",
            fmt::join(known, ", "), name, did_you_mean(name, known));
    kinds.emplace_back(name, number_in_toml(value));
    require(kinds.back().second >= 0 && std::isfinite(kinds.back().second),
            "{}: expected a number of at least 0, found {}", name, kinds.back().second);
    sum += kinds.back().second;
  }
  require(sum > 0, "{}", "expected a kind that is drawn more than 0 times, found none");
  return kinds;
}

/// One range of a universe with its name and what is sensible.
struct NamedRange {
  const char* key;
  Range Universe::*range;
  Range allowed;
};

std::vector<NamedRange> scan_ranges() {
  return {{"photons", &Universe::photons, {1, 1e10}},
          {"overlap", &Universe::overlap, {0, 0.95}},
          {"jitter", &Universe::jitter, {0, 0.5}},
          {"background", &Universe::background, {0, 10}}};
}

std::vector<NamedRange> probe_ranges() {
  return {{"diameter", &Universe::probe_diameter, {2, 48}},
          {"aperture", &Universe::aperture, {0.02, 0.5}},
          {"stop", &Universe::stop, {0, 0.9}},
          {"aberration", &Universe::aberration, {0, 10}},
          {"curvature", &Universe::curvature, {-1, 1}},
          {"structure", &Universe::structure, {0, 1}},
          {"second_mode", &Universe::second_mode, {0, 1}},
          {"wrong_defocus", &Universe::wrong_defocus, {0, 1}},
          {"wrong_probe", &Universe::wrong_probe, {0, 1}}};
}

std::vector<NamedRange> object_ranges() {
  return {{"leaf", &Universe::leaf, {0.5, 100}},
          {"absorption", &Universe::absorption, {0, 1}},
          {"phase", &Universe::phase, {1e-3, 6.28}}};
}

void take_ranges(TomlKeys& keys, const std::vector<NamedRange>& ranges, Universe& universe) {
  for (const NamedRange& each : ranges)
    keys.take(each.key,
              [&](const toml::node& node) { universe.*each.range = range_in(node, each.allowed); });
}

void take_whole(TomlKeys& keys, const char* key, std::int64_t& to, std::int64_t least,
                std::int64_t most) {
  keys.take(key, [&](const toml::node& node) {
    to = whole_in_toml(node);
    require(to >= least && to <= most, "expected {} to {}, found {}", least, most, to);
  });
}

/// [probe] or [object]: ranges, kinds and what else it has.
void take_table(TomlKeys& keys, const char* key, const std::vector<NamedRange>& ranges,
                Kinds& kinds, const std::vector<std::string>& known, Universe& universe,
                const std::function<void(TomlKeys&)>& rest) {
  keys.take(key, [&](const toml::node& node) {
    const auto* table = node.as_table();
    require(table != nullptr, "expected a table");
    TomlKeys own(*table, fmt::format("a universe's [{}]", key));
    take_ranges(own, ranges, universe);
    own.take("kinds", [&](const toml::node& value) { kinds = kinds_in(value, known); });
    rest(own);
    own.nothing_else();
  });
}

void take_share(TomlKeys& keys, const char* key, double& to) {
  keys.take(key, [&](const toml::node& node) {
    to = number_in_toml(node);
    require(to >= 0 && to <= 1, "expected 0 to 1, found {}", to);
  });
}

Universe universe_in(const toml::table& table) {
  Universe universe;
  TomlKeys keys(table, "a universe");
  take_whole(keys, "pattern_size", universe.pattern_size, 16, 1024);
  require(universe.pattern_size % 2 == 0, "pattern_size: expected an even number, found {}",
          universe.pattern_size);
  take_whole(keys, "patterns", universe.patterns, 4, 64);
  take_ranges(keys, scan_ranges(), universe);
  take_table(keys, "probe", probe_ranges(), universe.probe_kinds, probe_kinds(), universe,
             [](TomlKeys&) {});
  take_table(keys, "object", object_ranges(), universe.object_kinds, object_kinds(), universe,
             [&](TomlKeys& own) { take_share(own, "independent", universe.independent); });
  keys.nothing_else();
  return universe;
}

}  // namespace

Universe parse_universe(const std::string& toml, const std::string& name) {
  Universe universe;
  with_toml(toml, name, [&](const toml::table& table) { universe = universe_in(table); });
  return universe;
}

Universe read_universe(const std::filesystem::path& file) {
  return parse_universe(read_bytes(file), file.string());
}

std::string to_text(const Universe& universe) {
  std::string text =
      fmt::format("pattern_size {} patterns {}", universe.pattern_size, universe.patterns);
  for (const auto& ranges : {scan_ranges(), probe_ranges(), object_ranges()})
    for (const NamedRange& each : ranges) {
      const Range& range = universe.*each.range;
      text += fmt::format(" {} [{:.17g}, {:.17g}]", each.key, range.low, range.high);
    }
  for (const Kinds& kinds : {universe.probe_kinds, universe.object_kinds})
    for (const auto& [name, weight] : kinds) text += fmt::format(" {} {:.17g}", name, weight);
  return text + fmt::format(" independent {:.17g}", universe.independent);
}

}  // namespace ptyche
