// A file format as data: how it is recognised, where patterns, positions, lengths and results lie,
// in which unit, sign and order. The shipped ones are the TOML files in recipes/; users write their
// own (docs/your-scan.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/io/place.h"
#include "ptyche/io/readers.h"

namespace ptyche {

/// How a file is told to be of the format.
struct Recognition {
  std::string kind = "HDF5";           ///< as kind_of_file says
  std::vector<std::string> all, none;  ///< names that are all there, or not at all
  std::vector<std::string> any;        ///< one of these is there
  std::string text_name, text_value;   ///< a text that begins so; empty = not asked
  Place beside;                        ///< something that is there, mostly in another file
};

/// The scan: what is not given is not in such files. Lengths come out in metres, energies in eV.
struct ScanRecipe {
  Place patterns;
  /// What the axes of the patterns are: n pattern, R and C row and column of the raster, r and c
  /// row and column of the detector. Empty: nrc, or RCrc of four.
  std::string axes;
  Domain domain = Domain::unknown;
  bool zero_at_corner = false;
  bool clip_negative = false;    ///< noise of a detector that does not count
  std::int64_t orientation = 0;  ///< PtyPy's number, see turn_numbered
  Place x, y;                    ///< along the columns and along the rows
  Place vectors;                 ///< or both in one array
  std::string vector_order = "xy";
  double x_sign = 1, y_sign = 1;  ///< +1: x grows with the column, y with the row
  Place x_angle;  ///< of the stage against the beam's normal: x is shorter by its cosine
  /// Numbers of the patterns and of the positions, which are joined by them; of several positions
  /// with one number the mean counts.
  Place pattern_index, position_index;
  Place energy, wavelength, distance, detector_pixel, object_pixel, exposure;
  Place semi_angle;                            ///< of a converging electron beam
  Place reciprocal_pixel;                      ///< detector pixel as 1/length
  Place detector_pixel_y, reciprocal_pixel_y;  ///< along a column, where that stands apart
  Place centre_row, centre_col;
  Place mask;
  std::int64_t mask_good = 0;  ///< the value of a counted pixel: 0 (others bad) or 1
  Place dark, flat, monitor;
  Place probe;
  std::string probe_axes;  ///< m mode, r row, c column; empty: as it is
  Place probe_stands_in;   ///< not 0: the probe is one that nobody has given, and is passed over
  std::string missing;     ///< where no positions are found: what a user can give
};

/// The result.
struct ObjectRecipe {
  Place object;
  Place amplitude, phase;  ///< or these two
  std::string axes;        ///< l layer, m mode, r row, c column; empty: rc, or lrc
  Place probe;
  std::string probe_axes;
  Place x, y, vectors;  ///< positions, in pixels of the object's array or in metres
  std::string vector_order = "xy";
  Place centre_x, centre_y;      ///< of the object's array, in the frame of positions in metres
  Place corner_x, corner_y;      ///< or where its first pixel is
  std::int64_t orientation = 0;  ///< brings the object to ours
  Place object_pixel, energy, wavelength, distance;
};

struct Recipe {
  std::string name;
  std::string about;   ///< who writes such files
  std::string source;  ///< where the facts are from
  Recognition recognition;
  std::optional<ScanRecipe> scan;
  std::optional<ObjectRecipe> object;
};

/// Reads a recipe. `name` stands in messages. Throws InvalidInput with line and key for what is not
/// TOML, an unknown key or a value of another kind.
Recipe parse_recipe(const std::string& toml, const std::string& name);

/// Those that are built in, in the order of their files' names.
const std::vector<Recipe>& shipped_recipes();

/// Whether the file is of the recipe's format.
bool recognises(const Recipe& recipe, const std::filesystem::path& file);

/// The scan in `file`. Positions are left undefined where the file has none: then
/// RawScan::missing_positions says what would give them. Throws InvalidInput naming what is
/// missing.
RawScan read_scan_by(const ScanRecipe& recipe, const std::filesystem::path& file);

/// The result in `file`; without positions it has none (0, 2); a file with a probe alone has no
/// object.
Reconstruction read_object_by(const ObjectRecipe& recipe, const std::filesystem::path& file);

/// The recipe as a line of the table of formats.
Reader reader_by(const Recipe& recipe);

}  // namespace ptyche
