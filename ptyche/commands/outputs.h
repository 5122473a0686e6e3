// The files that a verb leaves in its output folder, in the order in which they become true.
#pragma once

#include <filesystem>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/model/model.h"
#include "ptyche/report/report.h"

namespace ptyche {

/// model.ptyche and history.csv.
void write_training(const std::filesystem::path& folder, const Model& model);

/// reconstruction.h5 first, then its scores, scores.json, pictures and report.html; `scores` gets
/// what can be measured of `image`. Prints the scores to stdout.
void write_image(const std::filesystem::path& folder, const Reconstruction& image, const Scan& scan,
                 Scores scores, const std::vector<ExtraImage>& extras);

}  // namespace ptyche
