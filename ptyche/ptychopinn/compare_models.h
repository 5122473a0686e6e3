// Several images of one simulated scan against its truth, in PtychoPINN's table and one figure.
#pragma once

#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/ptychopinn/metrics.h"
#include "ptyche/ptychopinn/study.h"

namespace ptyche {

struct LabelledImage {
  std::string label;
  Reconstruction image;
};

struct ComparedModels {
  std::vector<LabelledMetrics> scores;  ///< one per image, in order
  /// The truth, then the images as they were brought onto it, all of one square part.
  std::vector<LabelledObject> objects;
};

/// Scores every image in the largest square that the scan lights in all of them, after one
/// alignment each (compare_in_window). Throws InvalidInput for a scan without a truth, a label that
/// comes twice, and where less than 16 x 16 pixels are lit in all.
ComparedModels compare_models(const Scan& scan, const std::vector<LabelledImage>& images);

/// comparison_metrics.csv: model,metric,amplitude,phase,value, as PtychoPINN writes it; numbers
/// that are not finite are left empty.
std::string metrics_table(const std::vector<LabelledMetrics>& models);

}  // namespace ptyche
