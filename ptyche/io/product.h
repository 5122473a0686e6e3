// What is known of a result: reconstruction.h5, the ptychodus product plus a group /ptyche
// (docs/files.md), and scores.json.
//
// Pixel of a position: (x_m - center_x_m) / pixel_width_m + width / 2, true division: the object
// index under probe pixel (N/2, N/2). We choose center so that x_m is the scan's own position:
// metres, or object pixels where no length is known (pixel attributes 1, /ptyche attribute
// length_unit).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// Writes the product atomically; with scores, /ptyche/scores holds them as JSON text and as
/// attributes. Throws InvalidInput when the disk is full or the folder cannot be written to.
void write_reconstruction(const std::filesystem::path& file, const Reconstruction& image,
                          const Scores* scores = nullptr);

/// The product of a scan that nobody has solved and whose probe nobody has given, for programs that
/// want both: `image` is empty, its probe made of the mean pattern. The probe's attribute
/// `stands_in` is 1, by which our readers of scans pass it over. Throws as above.
void write_unsolved(const std::filesystem::path& file, const Reconstruction& image);

/// What a user names who names a result: of a folder that a verb has written into, the product in
/// it; any other path is itself.
std::filesystem::path result_file(const std::filesystem::path& named);

/// Reads a product (ours, or any with object, probe and positions). Of several object layers the
/// product is taken, of several coherent probe modes the first; where /ptyche is missing, coverage
/// is 1 everywhere, all patterns count as used and patches are bilinear. Throws InvalidInput naming
/// file, dataset, expected and found, also for an object or probe that is not finite and a probe
/// without light.
Reconstruction read_reconstruction(const std::filesystem::path& file);

/// What a product says of how its image was judged, and how long it took.
struct StoredScores {
  std::optional<Verdict> verdict;  ///< with its map, if there was one; without the evidence
  std::optional<Trust> trust;      ///< likewise
  double seconds = 0;
};
/// Nothing where there are no scores. Throws InvalidInput as read_reconstruction does.
StoredScores read_stored_scores(const std::filesystem::path& file);

/// One JSON object, numbers under the names of named_scores ("held_out.r_factor": 0.08, ...; null
/// for a number that is not finite), with a verdict its word and reasons under "verdict" and
/// "verdict_reasons", with a trust "trust_reason" (empty = no alarm), "remarks" (to_json of them)
/// and "meaning", an object with a sentence for each name.
std::string scores_json(const Scores& scores);

/// The same for numbers without scores. `more` is a JSON object whose members stand before
/// "meaning"; empty = none.
std::string scores_json(const std::vector<NamedScore>& scores, const std::string& more = "");

}  // namespace ptyche
