// A network for every scan: trained on scans of a universe, each seen once, with known truth.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/model/model.h"
#include "ptyche/simulate/universe.h"
#include "ptyche/train/train_options.h"

namespace ptyche {

/// Steps of an epoch: what a line of the history is the mean of.
inline constexpr std::int64_t kUniverseSteps = 100;

/// What the patches of some patterns of one scan are worth, over what the stem's are: below 1 the
/// network is better than no network. Differentiable.
///   image   error of the merged image: every patch is brought to the truth's phase, all are merged
///           with the weights |P|^2, and the squares of the difference summed with these weights
///   fit     sum of (sqrt(I) - sqrt(n))^2 between what the merged image predicts and the counts
///           without noise
/// Both the logarithm of the ratio, scalars: faint and strong, dark and bright scans count alike.
struct GainOverStem {
  at::Tensor image, fit;
};

/// What a network is shown of a universe's scan, and what is needed to judge what it says.
struct ShownScan {
  UniverseScan drawn;
  at::Tensor channels;  ///< (n, channels, N, N)
};
ShownScan show(const Model& model, const Universe& universe, std::uint64_t seed,
               std::uint64_t number);

/// The gain of `patches` (n, N, N) of all patterns of the scan.
GainOverStem gain_over_stem(const at::Tensor& patches, const ShownScan& shown, const Model& model,
                            Engine engine);

/// An untrained network for scans of a universe: channels for probe and dose beside the stem's.
Model new_model_of(const Universe& universe, const TrainOptions& options);

/// Trains a network on options.epochs times kUniverseSteps steps of options.groups_per_batch scans,
/// scan number k in step k / groups_per_batch; scans are simulated by a thread of its own, ahead.
/// The history's loss is the mean ratio of the fit to that of the stem, its validation loss that of
/// the image of 16 scans that are not trained on. Checkpoints, Ctrl-C and resuming as in train.
/// Throws InvalidInput for options out of range, a checkpoint of another run, and when the loss
/// stops being finite.
Model train_on_universe(const Universe& universe, const TrainOptions& options);

}  // namespace ptyche
