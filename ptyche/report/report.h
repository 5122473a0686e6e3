// What a person opens: figures and one self-contained page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// A further image to show in the report (the unseen half, an image before refinement).
struct ExtraImage {
  std::string title, caption;
  Reconstruction image;
};

/// Writes amplitude.png, phase.png, probe.png, the Fourier ring correlations that were measured
/// (half_sets.png, truth_frc.png) and report.html (one self-contained page: pictures, loss curve,
/// scores with their meaning, options, provenance) into `folder`. A part that cannot be
/// drawn is a warning, never an error; whether the page was. Throws InvalidInput, after all the
/// others were tried, for a file that could not be written (a full disk).
bool write_report(const std::filesystem::path& folder, const Reconstruction& image,
                  const Scores& scores, const std::vector<ExtraImage>& extras = {});

}  // namespace ptyche
