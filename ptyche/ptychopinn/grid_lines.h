// PtychoPINN's grid-lines study in one call: simulate, train, infer, stitch, score, draw.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/ptychopinn/grid_data.h"
#include "ptyche/ptychopinn/metrics.h"
#include "ptyche/ptychopinn/study.h"
#include "ptyche/train/train.h"

namespace ptyche {

struct GridLinesOptions {
  GridDataOptions train;         ///< its grid is the test's too, but for the outer offset
  std::int64_t test_images = 2;  ///< drawings that no network has seen; the first is scored
  std::int64_t test_outer_offset_px = kUnseenOuterOffset_px;
  GridProbeOptions probe;
  std::vector<std::string> models = known_models();
  std::int64_t epochs = 60;
  std::int64_t batch = 16;  ///< of PtychoPINN's networks: groups, or labelled patterns
  LossKind loss = LossKind::amplitude_absolute;
  double mae_share = 0;  ///< as TrainOptions has it
  /// How PtychoPINN's networks are built: as its study has them, without a border.
  NetworkOptions ptychopinn{.object_big = false, .probe_big = false};
  Engine engine = Engine::fused;
  Precision precision = Precision::automatic;
  std::uint64_t seed = 1;
  std::filesystem::path output;
  bool resume = false;  ///< go on with the study in `output`
};
std::vector<Field> fields(GridLinesOptions& options);

/// What came of one model; `seconds` without reading and writing.
struct GridLinesRow {
  LabelledMetrics scores;
  double train_seconds = 0, infer_seconds = 0;  ///< infer: all test patterns, without stitching
  std::int64_t patterns = 0;                    ///< of the test
};

/// Runs the study. Leaves under `output`: datasets/N<N>/gs<G>/{train,test}.npz (patterns as
/// amplitudes, positions, probe, object, groups), runs/<label>/{model.ptyche, history.csv},
/// recons/<label>/recon.npz (YY_pred, amp, phase; label gt: the truth), visuals/compare_amp_phase
/// .png, and metrics.json. The known truth gives the probe, which is kept fixed. With `resume`,
/// networks that an earlier run has trained and scored are read, and one that it was training goes
/// on from its checkpoint. Throws InvalidInput for options out of range, and naming those that are
/// not the earlier run's; Interrupted after Ctrl-C.
std::vector<GridLinesRow> run_grid_lines(const GridLinesOptions& options);

}  // namespace ptyche
