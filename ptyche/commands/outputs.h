// The files that a verb leaves in its output folder.
#pragma once

#include <filesystem>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/model/model.h"
#include "ptyche/report/report.h"

namespace ptyche {

/// Runs `reconstruct` on the even and on the odd patterns, writes half_even.h5, half_odd.h5 and
/// half_sets.csv (the correlation's curve) and gives how far the two images agree.
Comparison write_half_sets(const std::filesystem::path& folder, const Scan& scan,
                           const ScanToImage& reconstruct);

/// What made the image: the model's seed, the command, its options; the losses of training come
/// before those that the image has.
void fill_provenance(Reconstruction& image, const Model& model, const std::string& command,
                     const std::string& options_json);

/// One line each on stdout: name, value, what trivial predictors get, meaning.
void print_scores(const std::vector<NamedScore>& scores);

/// reconstruction.h5 first, then its scores, scores.json, pictures and report.html; `scores` (its
/// seconds and half sets) gets what can be measured of `image`. Prints the scores to stdout.
void write_image(const std::filesystem::path& folder, const Reconstruction& image, const Scan& scan,
                 Scores scores, const std::vector<ExtraImage>& extras);

}  // namespace ptyche
