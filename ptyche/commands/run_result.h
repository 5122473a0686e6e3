// What a run that makes an image leaves behind: the image with the record of how it was made, its
// scores, pictures and report, and a summary of five lines.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/core/messages.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/scores.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/model/model.h"
#include "ptyche/report/report.h"

namespace ptyche {

/// Made when a run begins; it hears what is said of the scan from then on.
class RunRecord {
 public:
  RunRecord(std::string options_json, std::uint64_t seed);

  /// Writes down in the image who made it, when, from what command, and what was done so far.
  void stamp(Reconstruction& image, const std::vector<Attempt>& attempts) const;

  /// The same of an image by a network: the losses of its training come before those that the image
  /// has, the training before `attempts`.
  void stamp(Reconstruction& image, const Model& model, std::vector<Attempt> attempts) const;

 private:
  std::string options_json_;
  std::uint64_t seed_;
  HeardRemarks heard_;
};

/// Runs `reconstruct` on the even and on the odd patterns, writes half_even.h5, half_odd.h5 and
/// half_sets.csv (the correlation's curve) and gives how far the two images agree.
Comparison write_half_sets(const std::filesystem::path& folder, const Scan& scan,
                           const ScanToImage& reconstruct);

/// One line each on stdout: name, value, what trivial predictors get, meaning.
void print_scores(const std::vector<NamedScore>& scores);

/// reconstruction.h5 first, then its scores, scores.json, pictures and report.html; `scores` (its
/// seconds, half sets, verdict and trust) gets what can be measured of `image`. Says the verdict
/// with its reasons, what was read, made and fitted, and where the report is; all scores with
/// --verbose.
void write_image(const std::filesystem::path& folder, const Reconstruction& image, const Scan& scan,
                 Scores scores, const std::vector<ExtraImage>& extras);

}  // namespace ptyche
