// Recipes out of TOML.
#include <toml++/toml.h>

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/io/detector_frame.h"
#include "ptyche/io/recipe.h"
#include "ptyche/io/toml_keys.h"

namespace ptyche {

std::vector<std::pair<std::string, std::string>> recipe_texts();  // made at build time

namespace {

Place place_in(const toml::node& node);

/// The keys of a recipe; some are places.
class Keys : public TomlKeys {
 public:
  explicit Keys(const toml::table& table) : TomlKeys(table, "a recipe") {}
  void place(const char* key, Place& to) {
    take(key, [&](const toml::node& node) { to = place_in(node); });
  }
};

/// A name, a list of names, or { name, file, unit, factor, in_pixels }.
Place place_in(const toml::node& node) {
  Place place;
  const auto* table = node.as_table();
  if (table == nullptr) {
    place.names = texts_in(node);
    return place;
  }
  Keys keys(*table);
  keys.texts("name", place.names);
  keys.texts("file", place.files);
  keys.text("unit", place.unit);
  keys.take("factor", [&](const toml::node& value) { place.factor = number_in_toml(value); });
  keys.flag("in_pixels", place.in_pixels);
  keys.take("item", [&](const toml::node& value) { place.item = whole_in_toml(value); });
  keys.nothing_else();
  return place;
}

Domain domain_named(const std::string& word) {
  if (word == "counts") return Domain::counts;
  require(word == "amplitude", "expected counts or amplitude, found {}", word);
  return Domain::amplitude;
}

bool corner_named(const std::string& word) {
  require(word == "corner" || word == "middle", "expected corner or middle, found {}", word);
  return word == "corner";
}

Recognition recognition_in(const toml::table& table) {
  Recognition recognition;
  Keys keys(table);
  keys.text("kind", recognition.kind);
  keys.texts("all", recognition.all);
  keys.texts("any", recognition.any);
  keys.texts("none", recognition.none);
  keys.text("text_name", recognition.text_name);
  keys.text("text_value", recognition.text_value);
  keys.place("beside", recognition.beside);
  keys.nothing_else();
  return recognition;
}

ScanRecipe scan_in(const toml::table& table) {
  ScanRecipe scan;
  Keys keys(table);
  keys.place("patterns", scan.patterns);
  keys.text("axes", scan.axes);
  keys.take("domain", [&](const toml::node& node) { scan.domain = domain_named(text_in(node)); });
  keys.take("zero_frequency",
            [&](const toml::node& node) { scan.zero_at_corner = corner_named(text_in(node)); });
  keys.flag("clip_negative", scan.clip_negative);
  keys.whole("orientation", scan.orientation);
  keys.place("x", scan.x);
  keys.place("y", scan.y);
  keys.place("vectors", scan.vectors);
  keys.text("vector_order", scan.vector_order);
  keys.number("x_sign", scan.x_sign);
  keys.number("y_sign", scan.y_sign);
  keys.place("x_angle", scan.x_angle);
  keys.place("pattern_index", scan.pattern_index);
  keys.place("position_index", scan.position_index);
  keys.place("energy", scan.energy);
  keys.place("wavelength", scan.wavelength);
  keys.place("distance", scan.distance);
  keys.place("detector_pixel", scan.detector_pixel);
  keys.place("detector_pixel_y", scan.detector_pixel_y);
  keys.place("object_pixel", scan.object_pixel);
  keys.place("reciprocal_pixel", scan.reciprocal_pixel);
  keys.place("reciprocal_pixel_y", scan.reciprocal_pixel_y);
  keys.place("exposure", scan.exposure);
  keys.place("semi_angle", scan.semi_angle);
  keys.place("center_row", scan.centre_row);
  keys.place("center_col", scan.centre_col);
  keys.place("mask", scan.mask);
  keys.whole("mask_good", scan.mask_good);
  keys.place("dark", scan.dark);
  keys.place("flat", scan.flat);
  keys.place("monitor", scan.monitor);
  keys.place("probe", scan.probe);
  keys.text("probe_axes", scan.probe_axes);
  keys.place("probe_stands_in", scan.probe_stands_in);
  keys.text("missing", scan.missing);
  keys.nothing_else();
  turn_numbered(scan.orientation);
  require(scan.patterns.given(), "scan: expected a key patterns, found none");
  return scan;
}

ObjectRecipe object_in(const toml::table& table) {
  ObjectRecipe object;
  Keys keys(table);
  keys.place("object", object.object);
  keys.place("amplitude", object.amplitude);
  keys.place("phase", object.phase);
  keys.text("axes", object.axes);
  keys.place("probe", object.probe);
  keys.text("probe_axes", object.probe_axes);
  keys.place("x", object.x);
  keys.place("y", object.y);
  keys.place("vectors", object.vectors);
  keys.text("vector_order", object.vector_order);
  keys.place("center_x", object.centre_x);
  keys.place("center_y", object.centre_y);
  keys.place("corner_x", object.corner_x);
  keys.place("corner_y", object.corner_y);
  keys.whole("orientation", object.orientation);
  keys.place("object_pixel", object.object_pixel);
  keys.place("energy", object.energy);
  keys.place("wavelength", object.wavelength);
  keys.place("distance", object.distance);
  keys.nothing_else();
  return object;
}

const toml::table& table_in(const toml::node& node) {
  const auto* table = node.as_table();
  require(table != nullptr, "expected a table");
  return *table;
}

Recipe recipe_in(const toml::table& table) {
  Recipe recipe;
  Keys keys(table);
  keys.text("name", recipe.name);
  keys.text("about", recipe.about);
  keys.text("source", recipe.source);
  keys.take("recognise",
            [&](const toml::node& node) { recipe.recognition = recognition_in(table_in(node)); });
  keys.take("scan", [&](const toml::node& node) { recipe.scan = scan_in(table_in(node)); });
  keys.take("result", [&](const toml::node& node) { recipe.object = object_in(table_in(node)); });
  keys.nothing_else();
  require(recipe.scan || recipe.object, "expected a table [scan] or [result], found none");
  return recipe;
}

}  // namespace

Recipe parse_recipe(const std::string& toml, const std::string& name) {
  Recipe recipe;
  with_toml(toml, name, [&](const toml::table& table) { recipe = recipe_in(table); });
  if (recipe.name.empty()) recipe.name = name;
  return recipe;
}

const std::vector<Recipe>& shipped_recipes() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> recipes;
    for (const auto& [name, text] : recipe_texts()) recipes.push_back(parse_recipe(text, name));
    return recipes;
  }();
  return all;
}

}  // namespace ptyche
