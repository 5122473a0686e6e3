// The pictures that PtychoPINN's scripts leave beside an image, under the names by which other
// scripts look for them.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/core/output_folder.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct PictureOptions {
  bool image = false;       ///< reconstructed_amplitude.png and reconstructed_phase.png
  bool comparison = false;  ///< comparison_plot.png: the image beside the scan's truth
  /// Ends of the phase's colours, rad; what is not given is the 1st or 99th percentile.
  std::optional<double> phase_low_rad = {}, phase_high_rad = {};
};

/// --ptychopinn-pictures, --phase-vmin and --phase-vmax.
std::vector<Field> fields(PictureOptions& options);

/// The names of all that write_ptychopinn_pictures may write.
RunFiles picture_files();

/// Throws InvalidInput unless phase_low_rad is below phase_high_rad, where both are given.
void require_phase_range(const PictureOptions& options);

/// Writes the pictures that are asked for into `folder`. One that cannot be drawn, and a comparison
/// without a truth, is a warning.
void write_ptychopinn_pictures(const std::filesystem::path& folder, const Reconstruction& image,
                               const Scan& scan, const PictureOptions& options);

}  // namespace ptyche
