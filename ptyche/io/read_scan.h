// From a file of any known format to a checked, calibrated Scan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct DetectorCentre {
  double row = 0, col = 0;  ///< detector pixel of the zero frequency
};

/// All that a user can say about how a file is to be understood; each default is "as in the file".
struct ReadOptions {
  std::filesystem::path file;
  std::string domain = "auto";           ///< auto | counts | amplitude
  std::string mask = "file";             ///< file | none | path of an .npy/.npz with (N, N) bool
  std::int64_t scan_index = -1;          ///< of several scans in one NPZ file; -1 = there is one
  std::int64_t crop = 0;                 ///< keep the central crop x crop detector pixels; 0 = all
  std::optional<DetectorCentre> centre;  ///< zero frequency, where it is not at (N/2, N/2)
  double energy_ev = 0, distance_m = 0, detector_pixel_m = 0;  ///< 0 = from the file
  bool near_field = false;       ///< the detector sees the sample's shadow, not its far field
  double source_distance_m = 0;  ///< near field: focus to sample; 0 = from the file
  bool flip_x = false, flip_y = false, swap_xy = false;  ///< applied to the positions
  double photons = 0;   ///< photons per pattern through an empty sample; 0 = from the mean counts
  double nphotons = 0;  ///< mean counts per pattern for amplitudes without an absolute scale
  /// Fraction of patterns held out, 0..0.5; nothing = automatic_hold_out.
  std::optional<double> hold_out = 0.0;
  std::string hold_out_file;  ///< JSON with "heldout_indices"; excludes a fraction
  std::string unseen_half =
      "none";              ///< none | upper | lower: half kept from training (by row median)
  std::uint64_t seed = 1;  ///< draws the hold-out
};
std::vector<Field> fields(ReadOptions& options);

/// How many of so many usable patterns are held out where nobody says: a twentieth, at least
/// kFewestHeldOut; none of fewer than kEnoughToHoldOut.
std::int64_t automatic_hold_out(std::int64_t usable);
inline constexpr std::int64_t kFewestHeldOut = 8, kEnoughToHoldOut = 80;

struct Reader;

/// Names of the formats that read_scan knows, for help and messages: "NPZ or CXI".
std::string scan_formats();

/// Reads a file of any format of readers.h, told by content; applies the options; rejects
/// dark and saturated frames with a warning that lists them; holds out; calibrates the probe's
/// power on the used frames. Warns of a scan whose patterns do not overlap. Prints what it had to
/// guess and why. Throws InvalidInput naming file, dataset, expected and found.
Scan read_scan(const ReadOptions& options);

/// The same for other formats than readers().
Scan read_scan(const ReadOptions& options, const std::vector<Reader>& formats);

}  // namespace ptyche
