// From a file of any known format to a checked, calibrated Scan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
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
  std::string format;      ///< a format's name or a recipe's file (.toml); empty = recognised
  std::string patterns;    ///< [FILE:]NAME[*FACTOR] instead of a format, see place.h
  std::string positions;   ///< one such place for x and y, or two with a comma between
  std::string scan_shape;  ///< "16x32": rows and columns of a raster
  double scan_step_m = 0;  ///< between neighbours of that raster
  std::string scan_rotation = "0";   ///< degrees, of the raster against the detector; or "auto"
  std::int64_t orientation = -1;     ///< turns the patterns, PtyPy's number; -1 = as the file says
  std::string domain = "auto";       ///< auto | counts | amplitude
  std::string mask = "file";         ///< file | none | [FILE:]NAME of (rows, cols), see place.h
  std::string mask_counts = "auto";  ///< which of its values count: auto | zero | nonzero
  std::int64_t scan_index = -1;      ///< of several scans in one NPZ file; -1 = there is one
  std::string frames;                ///< FIRST:END[:STEP], ...; empty = all
  std::int64_t exposures = 1;        ///< patterns of each position that are summed
  std::int64_t crop = 0;             ///< keep the central crop x crop detector pixels; 0 = all
  std::int64_t bin = 1;              ///< sums of bin x bin detector pixels
  std::int64_t flyback = 0;          ///< patterns at the end of each row of a raster to leave out
  std::optional<DetectorCentre> centre;  ///< zero frequency, where it is not at (N/2, N/2)
  double energy_ev = 0, distance_m = 0, detector_pixel_m = 0;  ///< 0 = from the file
  double voltage_v = 0;       ///< electrons: gives the energy; 0 = X-rays, or as in the file
  double semi_angle_rad = 0;  ///< of their beam; measures the detector where its pixel is unknown
  bool near_field = false;    ///< the detector sees the sample's shadow, not its far field
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
  std::set<std::string> typed = {};  ///< names of the options that the user typed, see Field
};
std::vector<Field> fields(ReadOptions& options);

/// How many of so many usable patterns are held out where nobody says: a twentieth, at least
/// kFewestHeldOut; none of fewer than kEnoughToHoldOut.
std::int64_t automatic_hold_out(std::int64_t usable);
inline constexpr std::int64_t kFewestHeldOut = 8, kEnoughToHoldOut = 80;

struct RawScan;
struct Reader;
struct ReadingTogether;

/// Names of the formats that read_scan knows, for help and messages: "NPZ or CXI".
std::string scan_formats();

/// Reads a file of any format of readers.h, told by content; applies the options; rejects
/// dark and saturated frames with a warning that lists them; holds out; calibrates the probe's
/// power on the used frames. Warns of a scan whose patterns do not overlap. Prints what it had to
/// guess and why. Throws InvalidInput naming file, dataset, expected and found.
Scan read_scan(const ReadOptions& options);

/// The same for other formats than readers().
Scan read_scan(const ReadOptions& options, const std::vector<Reader>& formats);

/// What one of several processes has after they have read a scan together.
struct ScanOfProcess {
  ScanFields fields;  ///< of the whole scan, but for `counts` (k, N, N), those of its own patterns
  at::Tensor owner;   ///< (n) int64, whose each pattern is; undefined = one process has read all
};

/// The same by several processes that call it with the same options (together.h), each of which
/// reads its own patterns; the first one alone where the format must be read whole: it asks the
/// others for nothing then. Source and hash are in the first one's fields. Throws PartsDiffer,
/// too.
ScanOfProcess read_scan_together(const ReadOptions& options, const ReadingTogether& together,
                                 const std::vector<Reader>& formats);

/// What the arrays that scan_of is given are: a whole scan, or some patterns of one, of which none
/// is rejected or held out.
enum class ScanShare { whole, part };

/// The same as read_scan of a file with these arrays; `options.file` is what messages call them.
Scan scan_of(RawScan raw, const ReadOptions& options, ScanShare share = ScanShare::whole);

/// The numbers of the scans that the file holds (NPZ with an array scan_index), ascending; empty
/// where it does not number them. Reads no pattern where the format allows it.
std::vector<std::int64_t> scan_numbers(const ReadOptions& options);

/// What headers and a few patterns say of a scan.
struct ScanSample {
  Scan scan;                ///< of the few
  at::Tensor positions;     ///< of all, (n, 2) as Scan's
  std::string fingerprint;  ///< 16 hex digits of the file's size and of pieces all over it
  double seconds = 0;       ///< that reading took

  bool whole() const { return scan.frames() == positions.size(0); }
};

/// Reads headers, positions and some of the patterns (sampled_patterns), in little memory; none is
/// rejected or held out. Throws as read_scan does.
ScanSample read_scan_sample(const ReadOptions& options);

}  // namespace ptyche
