// What a user can say about how a file is to be understood.
#include <charconv>
#include <cmath>

#include "ptyche/core/files.h"
#include "ptyche/io/read_scan.h"

namespace ptyche {
namespace {

double number_from(const std::string& word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  require(error == std::errc() && end == word.data() + word.size() && std::isfinite(number),
          "expected row,col, found {}", word);
  return number;
}

/// "row,col"; empty for nothing.
TextTarget centre_target(std::optional<DetectorCentre>& centre) {
  const auto get = [&centre] {
    return centre ? fmt::format("{},{}", centre->row, centre->col) : std::string();
  };
  const auto set = [&centre](const std::string& text) {
    centre.reset();
    if (text.empty()) return;
    const std::vector<std::string> words = split(text, ',');
    require(words.size() == 2, "expected row,col, found {} numbers", words.size());
    centre = DetectorCentre{number_from(words[0]), number_from(words[1])};
  };
  return {.get = get, .set = set, .numbers = true};
}

}  // namespace

std::vector<Field> fields(ReadOptions& options) {
  std::vector<Field> all{
      {.name = "format",
       .target = &options.format,
       .help = "format of the file: a name or a recipe's file (.toml); empty = by its content "
               "(docs/formats.md)"},
      {.name = "patterns",
       .target = &options.patterns,
       .help = "place of the patterns, instead of a format: [FILE:]NAME, a path of an HDF5 file or "
               "an array's name"},
      {.name = "positions",
       .target = &options.positions,
       .help = "place of the positions: [FILE:]X,[FILE:]Y in metres; *1e-6 behind a name brings "
               "micrometres to them, *px says object pixels"},
      {.name = "scan-shape",
       .target = &options.scan_shape,
       .help = "rows x columns of a raster without written positions, such as 16x32"},
      {.name = "scan-step",
       .target = &options.scan_step_m,
       .unit = "m",
       .help = "step from one point of that raster to the next",
       .range = {0},
       .sizes = {"scans have steps of", {5e-12, 2e-4}, {1e-12, 2e-2}}},
      {.name = "flyback",
       .target = &options.flyback,
       .help =
           "patterns at the end of each row, recorded while the beam flew back, for which there "
           "are no positions: left out. A raster's shape may count them or not",
       .range = {0, 1e6},
       .aliases = {"skip-columns"}},
      {.name = "scan-rotation",
       .target = &options.scan_rotation,
       .help = "angle in degrees from the detector's columns to the raster's, towards the rows; of "
               "written positions, too; auto: found from the patterns (what all agree on of the "
               "phase, where light is deflected), for a transposed detector too"},
      {.name = "voltage",
       .target = &options.voltage_v,
       .unit = "V",
       .help = "electrons: acceleration voltage, instead of an energy",
       .range = {0},
       .sizes = {"electron microscopes have", {1e3, 3e6}, {500, 1e7}}},
      {.name = "semi-angle",
       .target = &options.semi_angle_rad,
       .unit = "rad",
       .help = "electrons: convergence semi-angle; with the bright disk's radius it gives the "
               "detector's pixel where nothing else does",
       .range = {0, 0.5},
       .sizes = {"electron beams have semi-angles of", {1e-4, 0.2}, {5e-5, 0.5}}},
      {.name = "orientation",
       .target = &options.orientation,
       .help = "flips of the patterns, a sum: 4 = transposed, 2 = rows reversed, 1 = columns "
               "reversed, as PtyPy counts; -1 = as the file says",
       .range = {-1, 7}},
      {.name = "domain",
       .target = &options.domain,
       .help = "meaning of the file's patterns, counts or amplitudes, where it does not say",
       .choices = {"auto", "counts", "amplitude"}},
      {.name = "mask",
       .target = &options.mask,
       .help =
           "file, none (every pixel counts), or [FILE:]NAME of (rows, cols): true = counted; of "
           "whole numbers the light tells which"},
      {.name = "mask-counts",
       .target = &options.mask_counts,
       .help = "values of the mask that count, whatever the light says: zero (false; codes of bad "
               "pixels) or nonzero (true)",
       .choices = {"auto", "zero", "nonzero"}},
      {.name = "scan-index",
       .target = &options.scan_index,
       .help = "number of the scan, where the file's array scan_index tells several apart; -1 = "
               "there is one",
       .range = {-1, 1e9}},
      {.name = "frames",
       .target = &options.frames,
       .help = "patterns that are used: FIRST:END[:STEP] from 0 on, END not among them, or several "
               "ranges (0:70,71:144); of other positions than patterns those that have one"},
      {.name = "exposures",
       .target = &options.exposures,
       .help =
           "patterns that were taken at each position, one after the other: their sums are used",
       .range = {1, 1e6}},
      {.name = "crop",
       .target = &options.crop,
       .unit = "px",
       .help = "side of the square of detector pixels around the zero frequency that is used, "
               "padded where the detector ends before; 0 = all",
       .range = {0, 1e6},
       .aliases = {"N", "size"}},
      {.name = "bin",
       .target = &options.bin,
       .help = "sums of B x B detector pixels, after --crop; a sum with a masked pixel is masked",
       .range = {1, 64}},
      {.name = "center",
       .target = centre_target(options.centre),
       .unit = "px",
       .help = "row,col of the zero frequency, where it is not at (N/2, N/2)"},
      {.name = "energy",
       .target = &options.energy_ev,
       .unit = "eV",
       .help = "photon energy; 0 = from the file",
       .range = {0},
       .sizes = kPhotonEnergies},
      {.name = "distance",
       .target = &options.distance_m,
       .unit = "m",
       .help = "sample to detector; 0 = from the file",
       .range = {0},
       .sizes = kDistances},
      {.name = "detector-pixel",
       .target = &options.detector_pixel_m,
       .unit = "m",
       .help = "detector pixel pitch; 0 = from the file",
       .range = {0},
       .sizes = kDetectorPixels},
      {.name = "near-field",
       .target = &options.near_field,
       .help = "near-field geometry: the sample's shadow at the detector, not its far field (by "
               "solvers only)"},
      {.name = "source-distance",
       .target = &options.source_distance_m,
       .unit = "m",
       .help = "near field: focus to sample; 0 = from the file, or parallel light",
       .range = {0},
       .sizes = kSourceDistances},
      {.name = "flip-x", .target = &options.flip_x, .help = "mirrored columns of the positions"},
      {.name = "flip-y", .target = &options.flip_y, .help = "mirrored rows of the positions"},
      {.name = "swap-xy",
       .target = &options.swap_xy,
       .help = "exchanged rows and columns of the positions"},
      {.name = "photons",
       .target = &options.photons,
       .unit = "photons",
       .help = "photons per pattern through an empty sample; 0 = from the mean counts",
       .range = {0}},
      {.name = "mean-counts",
       .target = &options.nphotons,
       .unit = "photons",
       .help = "mean counts per pattern for amplitudes without a scale; 0 = by their noise, with a "
               "warning",
       .range = {0},
       .aliases = {"nphotons"}},
      {.name = "hold-out",
       .target = &options.hold_out,
       .help = "share of patterns kept out of everything, to score the image on; auto = a "
               "twentieth, at least 8, but none where there are fewer than 80; 0 = none",
       .range = {0, 0.5}},
      {.name = "hold-out-file",
       .target = &options.hold_out_file,
       .help = "JSON file with heldout_indices, instead of --hold-out"},
      {.name = "unseen-half",
       .target = &options.unseen_half,
       .help = "half of the scan that is kept from training, then inferred in single passes of the "
               "network",
       .choices = {"none", "upper", "lower"}},
      {.name = "hold-out-seed", .target = &options.seed, .internal = true}};
  return remembering(
      std::move(all), options.typed,
      {"flyback", "scan-rotation", "bin", "near-field", "flip-x", "flip-y", "swap-xy"});
}

}  // namespace ptyche
