// A network for every scan: trained on scans of a universe, each seen once, with known truth.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/model/model.h"
#include "ptyche/physics/canvas.h"
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

/// Of patches: squares of their image's difference from the truth over those of the truth, and the
/// misfit per photon. Scalars.
struct PatchErrors {
  at::Tensor image, fit;
};

/// What a network is shown of a universe's scan, and what is needed to judge what it says.
struct ShownScan {
  UniverseScan drawn;
  at::Tensor channels;  ///< (n, channels, N, N)
  CanvasLayout layout;  ///< where the patterns lie
  at::Tensor weights;   ///< (n, N, N) float32, of each patch
  at::Tensor truth;     ///< (n, N, N) complex64, under each patch's whole pixel
  at::Tensor light;     ///< (1, rows, cols) float32, sum of the weights
  PatchErrors stem;     ///< of the stem's patches
};
ShownScan show(const Model& model, const Universe& universe, std::uint64_t seed,
               std::uint64_t number);

/// The same in the memory of a device.
ShownScan to_device(const ShownScan& shown, at::Device device);

/// The gain of `patches` (n, N, N) of all patterns of the scan, on its device.
GainOverStem gain_over_stem(const at::Tensor& patches, const ShownScan& shown, Engine engine);

/// An untrained network for scans of a universe: channels for probe and dose beside the stem's.
Model new_model_of(const Universe& universe, const TrainOptions& options);

/// Trains a network on options.epochs times kUniverseSteps steps of options.groups_per_batch scans,
/// scan number k in step k / groups_per_batch; scans are simulated ahead by threads of their own:
/// by one where the CPU trains, else by all cores but one. The history's loss is the mean ratio of
/// the fit to that of the stem, its validation loss that of the image of 16 scans that are not
/// trained on. Checkpoints, Ctrl-C and resuming as in train. Throws InvalidInput for options out of
/// range, a checkpoint of another run, and when the loss stops being finite.
Model train_on_universe(const Universe& universe, const TrainOptions& options);

}  // namespace ptyche
