// PtychoPINN's dose-response study: two doses times two losses, four networks on the same drawing.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"
#include "ptyche/ptychopinn/metrics.h"
#include "ptyche/report/figure.h"
#include "ptyche/train/train.h"

namespace ptyche {

struct DoseResponseOptions {
  std::int64_t pattern_size = 64, gridsize = 2;
  std::int64_t train_patterns = 2000, test_patterns = 128;
  std::int64_t object_size = 128;  ///< px; patterns lie `buffer_px` and more from its edges
  std::int64_t buffer_px = 15;
  std::int64_t groups = 0;                       ///< to train on; 0 = one around every pattern
  std::int64_t neighbours = 7;                   ///< K, that a group is drawn from
  double high_photons = 1e9, low_photons = 1e4;  ///< mean counts of a pattern
  std::int64_t epochs = 50, batch = 16;          ///< batch: groups in a step
  NetworkOptions network;                        ///< kOurNetwork or kPtychoPinnNetwork
  Engine engine = Engine::fused;
  Precision precision = Precision::automatic;
  std::uint64_t seed = 1;  ///< of drawings, positions, noise and networks
  std::filesystem::path output;
  bool resume = false;  ///< go on with the study in `output`
};
std::vector<Field> fields(DoseResponseOptions& options);

/// One network: its dose, its loss, and its image of a drawing that it has not seen.
struct DoseArm {
  std::string label;  ///< high_nll, high_mae, low_nll, low_mae
  double photons = 0;
  LossKind loss = LossKind::poisson;
  MetricsBesideFlat scores = {};  ///< against the truth
  std::vector<EpochRecord> history = {};
  at::Tensor image = {};  ///< (rows, cols) complex64, the part where the test's positions lie
};

/// Two rows of dose_comparison.png: the first pattern of each scan, on detector pixels and in one
/// range of colours, and the truth beside the images of the arms, each over its mean amplitude.
std::vector<Figure> dose_figures(const std::vector<Scan>& scans,
                                 const std::vector<std::string>& titles, const at::Tensor& truth,
                                 const std::vector<DoseArm>& arms);

/// Runs all four arms. Leaves under `output`: runs/<label>/{model.ptyche, history.csv},
/// training_history.json, metrics.json and reports/dose_comparison.png (a pattern of each dose and
/// the four images). What is done is written after each arm; with `resume`, arms that are done are
/// read, and the one that was begun goes on from its checkpoint. Throws InvalidInput for options
/// out of range, Interrupted after Ctrl-C.
std::vector<DoseArm> run_dose_response(const DoseResponseOptions& options);

}  // namespace ptyche
