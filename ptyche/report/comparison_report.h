// What a person opens after a comparison: figures and one self-contained page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/data/named_score.h"
#include "ptyche/evaluate/compare.h"

namespace ptyche {

/// Writes amplitude.png, phase.png (both images side by side), amplitude_difference.png,
/// phase_difference.png, frc.png and report.html into `folder`. `image` and `reference` say which
/// files were compared, e.g. "A: x.h5". A part that cannot be drawn is a warning, never an error.
void write_comparison_report(const std::filesystem::path& folder, const ComparedImages& compared,
                             const std::vector<NamedScore>& scores, const std::string& image,
                             const std::string& reference);

}  // namespace ptyche
