#include "ptyche/io/choose_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/io/raster.h"
#include "ptyche/io/recipe.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> files_with(const fs::path& folder, const std::string& pattern) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fits_pattern(entry.path().filename().string(), pattern)) files.push_back(entry.path());
  return files;
}

constexpr const char* kNoPositions =
    "no positions: give --positions FILE:X,FILE:Y (columns of a table, paths of an HDF5 file; "
    "*1e-6 where they are in micrometres) or, for a raster, --scan-shape ROWSxCOLUMNS and "
    "--scan-step";

constexpr std::int64_t kLargestRecipe = 1 << 20;

/// The scan's reader by what the options point to.
Reader direct_reader(const ReadOptions& options) {
  Recipe recipe;
  recipe.name = "--patterns";
  recipe.scan.emplace();
  recipe.scan->patterns = place_from_text(options.patterns);
  return reader_by(recipe);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Reader named_reader(const std::string& name, const std::vector<Reader>& formats) {
  if (fs::path(name).extension() == ".toml")
    return reader_by(parse_recipe(read_bytes(name, kLargestRecipe), name));
  std::vector<std::string> known;
  for (const Reader& format : formats) {
    if (!format.read_scan) continue;
    if (lower(format.name) == lower(name)) return format;
    known.push_back(format.name);
  }
  throw InvalidInput(
      fmt::format("--format: expected a recipe's file (.toml) or one of {}, found {}{}",
                  list_of(known, 60), name, did_you_mean(name, known)));
}

using Columns = std::array<std::string, 2>;  // of x and of y

/// Columns whose names differ by an x and a y in one place ("x_um", "y_um"); nothing where several
/// do.
std::optional<Columns> columns_by_name(const std::vector<std::string>& names) {
  std::vector<Columns> pairs;
  for (const std::string& name : names)
    for (std::size_t at = 0; at < name.size(); ++at) {
      if (name[at] != 'x' && name[at] != 'X') continue;
      std::string other = name;
      ++other[at];
      if (std::ranges::find(names, other) != names.end()) pairs.push_back({name, other});
    }
  return pairs.size() == 1 ? std::optional(pairs.front()) : std::nullopt;
}

/// Whether values are 0, 1, 2 ... or 1, 2, 3 ...
bool count_rows(const at::Tensor& values) {
  const double first = values[0].item<double>();
  return (first == 0 || first == 1) &&
         values.equal(at::arange(values.size(0), values.options()) + first);
}

/// Those of a table of which only the file was named: by their names, the two that there are, or
/// the two behind one that counts the rows. Throws InvalidInput that lists the columns.
Columns columns_of(const ArrayFile& table, const std::string& file) {
  const std::vector<std::string> names = table.names();
  if (const auto found = columns_by_name(names)) return *found;
  if (names.size() == 2) return {names[0], names[1]};
  if (names.size() == 3 && count_rows(table.read(names[0]).values)) return {names[1], names[2]};
  throw InvalidInput(
      fmt::format("--positions: expected columns x and y of {} ({}:X,{}:Y), found {}", file, file,
                  file, list_of(names)));
}

/// A table alone is its two columns.
std::vector<Place> places_of(const ReadOptions& options, Sources& sources) {
  std::vector<Place> places = places_from_text(options.positions);
  if (places.size() != 1 || places[0].files.size() != 1 || !places[0].names.empty()) return places;
  const std::string file = places[0].files[0];
  const Sources::Found found = sources.required(places[0], "--positions");
  if (found.file->read(found.name).values.dim() != 1 || found.file->names().size() < 2)
    return places;
  const Columns columns = columns_of(*found.file, file);
  note("{}: x is its column {}, y {}", file, columns[0], columns[1]);
  places.push_back(places[0]);
  for (std::size_t i = 0; i < columns.size(); ++i) places[i].names = {columns[i]};
  return places;
}

at::Tensor positions_from(const ReadOptions& options, RawScan& raw) {
  Sources sources(scan_file_in(options.file));
  const std::vector<Place> places = places_of(options, sources);
  raw.positions_in_metres = !places.front().in_pixels;
  raw.positions_name = options.positions;
  const Measure measure = raw.positions_in_metres ? Measure::length : Measure::number;
  for (const Place& place : places) sources.required(place, "--positions");
  const at::Tensor x = sources.values(places.front(), measure);
  if (places.size() == 1) return vectors_of(x, raw.frames(), "--positions").narrow(1, 0, 2).flip(1);
  return positions_of(sources.values(places[1], measure), x, raw.frames(), "--positions");
}

/// 0 for "auto": the raster is turned once the scan can be looked at.
double rotation_of(const std::string& text) {
  if (text == "auto") return 0;
  char* end = nullptr;
  const double degrees = std::strtod(text.c_str(), &end);
  require(!text.empty() && *end == 0 && std::abs(degrees) <= 360,
          "--scan-rotation: expected auto or degrees from -360 to 360, found {}", text);
  return degrees;
}

Raster raster_from(const ReadOptions& options, const RawScan& raw) {
  Raster raster;
  if (!options.scan_shape.empty())
    raster = with_context("--scan-shape", [&] { return raster_of_shape(options.scan_shape); });
  else if (raw.raster.size() == 2)
    raster.rows = raw.raster[0], raster.cols = raw.raster[1];
  raster.step_row_m = raster.step_col_m = options.scan_step_m;
  raster.rotation_deg = rotation_of(options.scan_rotation);
  return raster;
}

/// Leaves out the patterns at the end of each row that were recorded on the way back, and their
/// columns of the raster.
void drop_flyback(RawScan& raw, Raster& raster, std::int64_t flyback) {
  const std::int64_t frames = raw.frames();
  const std::int64_t line =
      raster.rows * raster.cols == frames ? raster.cols : raster.cols + flyback;
  require(raster.rows * line == frames && flyback < line,
          "--flyback: expected {} or {} x {} patterns, found {}", raster.rows * raster.cols,
          raster.rows, raster.cols + flyback, frames);
  const at::Tensor numbers = at::arange(frames, at::kLong).view({raster.rows, line});
  raster.cols = line - flyback;
  raw.keep(numbers.narrow(1, 0, raster.cols).reshape(-1));
  note("{} patterns at the end of each of {} rows are left out: a raster of {} x {}", flyback,
       raster.rows, raster.rows, raster.cols);
}

at::Tensor positions_of_raster(const ReadOptions& options, RawScan& raw) {
  Raster raster = raster_from(options, raw);
  require(raster.rows > 0,
          "--scan-step: expected --scan-shape ROWSxCOLUMNS with it: the file does not say how many "
          "rows its {} patterns have",
          raw.frames());
  require(options.scan_step_m > 0,
          "expected --scan-step, the way from one pattern to the next, with a raster of {} x {}",
          raster.rows, raster.cols);
  if (options.flyback > 0) drop_flyback(raw, raster, options.flyback);
  const std::int64_t points = raster.rows * raster.cols;
  const std::int64_t each = exposures_of(points, raw.frames());
  require(may_belong(points, raw.frames()) || points * options.exposures == raw.frames(),
          "--scan-shape: expected as many points as there are patterns, {}, found {} x {}{}",
          raw.frames(), raster.rows, raster.cols,
          each > 0 ? fmt::format("; --exposures {} sums the {} patterns of each", each, each) : "");
  raw.positions_in_metres = true;
  raw.positions_name = fmt::format("raster of {} x {}", raster.rows, raster.cols);
  return raster_positions(raster);
}

/// Written positions about their middle, as raster_positions turns those of a shape.
void turn_written_positions(const ReadOptions& options, RawScan& raw) {
  const double degrees = rotation_of(options.scan_rotation);
  if (!raw.positions.defined() || degrees == 0) return;
  const at::Tensor finite = raw.positions.isfinite();
  const at::Tensor middle = at::where(finite, raw.positions, 0).sum(0) / finite.sum(0).clamp_min(1);
  const at::Tensor away = raw.positions - middle;
  raw.positions = rotated_places(away.select(1, 0), away.select(1, 1), degrees) + middle;
  raw.forget_truth("it has the orientation of the file's positions");
}

/// Beside written positions: what the patterns are more than these are the last of each row.
void drop_flyback(RawScan& raw, std::int64_t flyback) {
  const std::int64_t frames = raw.frames(), positions = raw.positions.size(0);
  const std::int64_t rows = (frames - positions) / flyback;
  require(
      rows > 0 && rows * flyback == frames - positions && positions % rows == 0,
      "--flyback {}: expected {} positions and {} patterns more at the end of each row, found {} "
      "patterns",
      flyback, positions, flyback, frames);
  const at::Tensor of_all = raw.positions, true_positions = raw.true_positions;
  const at::Tensor numbers = at::arange(frames, at::kLong).view({rows, -1});
  raw.keep(numbers.narrow(1, 0, positions / rows).reshape(-1));
  raw.positions = of_all;
  raw.true_positions = true_positions;
  note("{} patterns at the end of each of {} rows are left out", flyback, rows);
}

}  // namespace

fs::path scan_file_in(const fs::path& path) {
  std::error_code unknown;  // a loop of links, a name too long: no folder, and named later
  if (!fs::is_directory(path, unknown)) return path;
  for (const char* name : {"diffraction.h5", "diffraction.cxi", "diffraction.npz"})
    if (fs::exists(path / name)) return path / name;
  for (const char* pattern : {"*.ptyd", "*.cxi", "*_master.h5", "*_dp.hdf5", "*_dp.h5"})
    if (const auto files = files_with(path, pattern); files.size() == 1) return files.front();
  return path;
}

bool names_a_reader(const ReadOptions& options) {
  return !options.format.empty() || !options.patterns.empty();
}

Reader chosen_reader(const ReadOptions& options, const std::vector<Reader>& formats) {
  require(options.format.empty() || options.patterns.empty(),
          "--format and --patterns: expected one of them, found both");
  if (!options.patterns.empty()) return direct_reader(options);
  if (!options.format.empty()) return named_reader(options.format, formats);
  return reader_of(options.file, Content::scan, formats);
}

void settle_places(RawScan& raw, const ReadOptions& options) {
  const bool raster = !options.scan_shape.empty() || options.scan_step_m > 0;
  require(options.positions.empty() || !raster,
          "--positions and --scan-shape: expected one of them, found both");
  if (!options.positions.empty()) raw.positions = positions_from(options, raw);
  if (raster)
    raw.positions = positions_of_raster(options, raw);
  else
    turn_written_positions(options, raw);
  if (raw.positions.defined() && !raster && options.flyback > 0) drop_flyback(raw, options.flyback);
  if (raw.positions.defined()) return;
  std::string text = raw.missing_positions;
  if (!text.empty()) text += ": ";
  if (raw.raster.size() == 2)
    text += fmt::format("a raster of {} x {} patterns; --scan-step gives the way between two: ",
                        raw.raster[0], raw.raster[1]);
  throw InvalidInput(text + kNoPositions);
}

}  // namespace ptyche
