// What a supervised network is trained on: the true patches.
#pragma once

#include "ptyche/data/scan.h"
#include "ptyche/engine/group_loss.h"
#include "ptyche/nn/supervised_network.h"

namespace ptyche {

/// Mean absolute error of amplitude plus that of phase (rad), over the pixels that the probe lights
/// (a hundredth of its brightest one and more): what lies in the dark no pattern can tell.
///   channels  (k, 1, N, N), the network's input for `frames` (k) int64
/// `loss` is the sum over patches of that mean, `contrast` that of the predicted amplitudes. Throws
/// InvalidInput if the scan has no truth.
GroupLoss label_loss(SupervisedNetwork& network, const at::Tensor& channels, const Scan& scan,
                     const at::Tensor& frames);

}  // namespace ptyche
