// The training loop: patterns -> patches -> one object per group -> predicted counts -> Poisson
// loss.
#pragma once

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/model/model.h"
#include "ptyche/train/train_options.h"

namespace ptyche {

/// Trains a new model on the scan's used patterns. Shows a progress bar; after Ctrl-C writes the
/// checkpoint and throws Interrupted; resumed, it ends where the uninterrupted run ends, bit for
/// bit at float32 on one thread count. Removes the checkpoint at the end. Throws InvalidInput for
/// options out of range or a checkpoint of another run, and when the loss stops being finite.
Model train(const Scan& scan, const Groups& groups, const TrainOptions& options);

}  // namespace ptyche
