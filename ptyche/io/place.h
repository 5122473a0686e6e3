// Where a number or an array lies: in which file, under which name, in which unit.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/io/units.h"
#include "ptyche/storage/arrays.h"

namespace ptyche {

struct Place {
  std::vector<std::string> names;  ///< of arrays, see ArrayFile; the first that is there counts
  /// Files beside the scan's: names in which {dir}, {stem} and {ext} stand for parts of the scan
  /// file's name, {stem:A:B} for the stem with A replaced by B, and '*' for any text. Empty = the
  /// scan's file.
  std::vector<std::string> files;
  std::optional<double> factor;  ///< brings the values to the measure's own unit
  std::string unit;              ///< where factor and file do not say; empty = the measure's own
  bool in_pixels = false;        ///< positions: the values are object pixels
  std::optional<std::int64_t> item;  ///< of the last axis; nothing = all

  bool given() const { return !names.empty() || !files.empty(); }
};

/// From an option: [FILE:]NAME[*FACTOR], FACTOR a number or px (object pixels). A text that is a
/// file's name is that file's only array ("frames").
Place place_from_text(const std::string& text);

/// "FILE:/x,FILE:/y" -> two places; one where there is no comma.
std::vector<Place> places_from_text(const std::string& text);

/// A scan's file and those that places put beside it, each opened once.
class Sources {
 public:
  explicit Sources(std::filesystem::path scan_file) : scan_(std::move(scan_file)) {}

  /// One that a place has found: its file and its name there.
  struct Found {
    ArrayFile* file = nullptr;
    std::string name;
  };
  /// Nothing where the file or all the names are missing.
  std::optional<Found> find(const Place& place);

  /// Throws InvalidInput that begins with `role` and names what was looked for and what is there.
  Found required(const Place& place, const std::string& role);

  /// The values in the measure's own unit, float64, and the file's own where there is no unit to
  /// apply (`factor` 1, counts). An undefined tensor where there is none.
  at::Tensor values(const Place& place, Measure measure);
  /// The first of the values; nothing where there is none or it is not finite.
  std::optional<double> number(const Place& place, Measure measure);

  ArrayFile& open(const std::filesystem::path& file);
  ArrayFile& own() { return open(scan_); }
  const std::filesystem::path& scan_file() const { return scan_; }
  /// Those beside the scan's that were opened.
  std::vector<std::filesystem::path> others() const;

 private:
  std::vector<std::filesystem::path> files_of(const Place& place) const;
  std::filesystem::path scan_;
  std::map<std::string, std::unique_ptr<ArrayFile>> opened_;
};

/// What the found values are multiplied with: the place's factor, else the file's unit, else the
/// place's unit, else of lengths the one that the name ends with ("x_um").
double unit_factor(const Sources::Found& found, const Place& place, Measure measure);

}  // namespace ptyche
