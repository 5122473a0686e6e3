// The training loop: patterns -> patches -> one object per group -> predicted counts -> Poisson
// loss.
#pragma once

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/model/model.h"
#include "ptyche/train/train_options.h"

namespace ptyche {

struct TrainingTogether;

/// A scan to be trained on, and its groups, which hold patterns of this scan alone.
struct TrainingScan {
  Scan scan;
  Groups groups;
  double weight = 1;  ///< passes over its patterns in an epoch, above 0 to kLargestWeight
};
inline constexpr double kLargestWeight = 1000;

/// Trains a model on the scans' used patterns: one network for all, and for every scan a probe, a
/// background and an input constant of its own. Shows a progress bar; after Ctrl-C writes the
/// checkpoint and throws Interrupted; resumed, it ends where the uninterrupted run ends, bit for
/// bit at float32 on one thread count. Removes the checkpoint at the end. Throws InvalidInput for
/// options out of range, no scan, a weight that is not above 0, several scans in PtychoPINN's
/// recipe, a checkpoint of another run, and when the loss stops being finite.
Model train(const std::vector<TrainingScan>& scans, const TrainOptions& options);
/// The same in step with others (together.h): the first of them alone shows and keeps anything.
Model train(const std::vector<TrainingScan>& scans, const TrainOptions& options,
            const TrainingTogether& together);
Model train(const Scan& scan, const Groups& groups, const TrainOptions& options);

}  // namespace ptyche
