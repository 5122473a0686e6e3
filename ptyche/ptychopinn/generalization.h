// PtychoPINN's generalisation study: how good an image of a new scan gets with the number of
// patterns that a network has learned from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/scan.h"
#include "ptyche/ptychopinn/study.h"

namespace ptyche {

struct GeneralizationOptions {
  std::vector<std::int64_t> sizes{512, 1024, 2048, 4096};  ///< patterns to learn from
  std::int64_t trials = 5;                                 ///< of each size, each with its patterns
  std::vector<std::string> models{"pinn", "baseline"};
  std::int64_t neighbours = 7;  ///< K, that a group is drawn from
  StudyTraining training{.epochs = 50, .loss = LossKind::poisson};
  Key data = {};  ///< what the scans were made from, where that is no file
  std::filesystem::path output;
  bool resume = false;  ///< go on with the study in `output`
};
std::vector<Field> fields(GeneralizationOptions& options);

/// A score of amplitude, phase or, where that is empty, the whole image. NaN = not defined.
struct StudyScore {
  std::string metric, channel;
  double value = 0;
};

/// One network and its scores on the test.
struct GeneralizationTrial {
  std::string model;
  std::int64_t size = 0, trial = 0;  ///< trial counts from 1
  std::vector<StudyScore> scores = {};
};

/// Of one score the trials of a network and a size, less those that are not defined.
struct ScoreQuartiles {
  std::string model, metric, channel;
  std::int64_t size = 0, trials = 0;
  double median = 0, mean = 0, low = 0, high = 0;  ///< low, high: the quartiles
};

/// In the order of the trials. Quartiles are interpolated linearly between trials, as NumPy's.
std::vector<ScoreQuartiles> quartiles_of(const std::vector<GeneralizationTrial>& trials);

/// Trains a network for each model, size and trial on so many of `learn`'s patterns, drawn by the
/// trial's number, and scores its image of `test`, which needs a truth (compare_models). The probes
/// are the scans'. Leaves under `output`: runs/<model>/<size>/<trial>/{model.ptyche, history.csv,
/// scores.json}, results.csv (model, train_size, metric, channel, median, mean, p25, p75, trials)
/// and figures/<metric>[_<channel>].png, renewed after each network. With `resume`, networks that
/// an earlier run has scored are not trained again. Throws InvalidInput for options out of range, a
/// size above the patterns that there are, and naming options that are not the earlier run's;
/// Interrupted after Ctrl-C.
std::vector<GeneralizationTrial> run_generalization(const Scan& learn, const Scan& test,
                                                    const GeneralizationOptions& options);

}  // namespace ptyche
