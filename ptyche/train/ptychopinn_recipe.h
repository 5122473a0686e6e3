// How PtychoPINN trains: its merge, its scale of the probe, its learning rate. What it does wrong
// is left out: the groups of a batch never share a canvas, and what lies beyond the squares by
// which patches are merged is no part of the object (there it divides by the floor of 0.001 alone).
#pragma once

#include <vector>

#include "ptyche/engine/loss.h"
#include "ptyche/train/train_options.h"

namespace ptyche {

/// PtychoPINN's defaults: its network, 50 epochs of batches of 16 groups, Adam at 1e-3 without
/// warm-up, clipping or means of the weights, the file's probe, kept, at probe_scale 4.
TrainOptions with_ptychopinn_recipe(TrainOptions options);

/// Throws InvalidInput for what goes with PtychoPINN's recipe alone or not with it: another network
/// than PtychoPINN's two, positions that are moved.
void require_recipe(const TrainOptions& options);

/// `probe` (modes, N, N) times sqrt(photons per pattern) / (N / 2) over probe_scale times the mean
/// of |probe|: PtychoPINN's normalised probe in the unit sqrt(photon). Under it the object of most
/// scans has an amplitude below 1, as its sigmoid has.
///   input_scale  Model::input_scale, (N / 2) / sqrt(photons per pattern)
at::Tensor ptychopinn_probe(const at::Tensor& probe, double input_scale, double probe_scale);

/// Merges the patches of each group by the squares in their middle, N/2 a side and of equal weight,
/// bilinear between pixels, with 0.001 added to the sum of the weights; then group_loss's misfit of
/// all patterns of the layout. Arguments as of group_loss.
GroupLoss square_merged_loss(const at::Tensor& patches, const at::Tensor& merged,
                             const at::Tensor& probe, const CanvasLayout& layout,
                             const Measured& measured, const LossOptions& options);

/// The groups that are learned from, and the last twentieth (none of fewer than 20), by which the
/// learning rate is set. Both are the whole where the recipe is not PtychoPINN's.
struct SplitGroups {
  Groups learned, validated;
};
SplitGroups split_for_validation(const Groups& groups, const TrainOptions& options);

/// Factor on the learning rate after these epochs: half for every two in a row whose validation
/// loss is not at least 1e-4 below the lowest before, at least 0.1 (Keras' ReduceLROnPlateau as
/// PtychoPINN sets it). 1 without validation.
double plateau_factor(const std::vector<EpochRecord>& history);

/// Whether the loss of the last three epochs is not below the lowest before, where PtychoPINN
/// stops.
bool stands_still(const std::vector<EpochRecord>& history);

}  // namespace ptyche
