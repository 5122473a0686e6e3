// One step of training: groups in, network and probe moved along the gradient.
#pragma once

#include "ptyche/engine/loss.h"
#include "ptyche/train/together.h"
#include "ptyche/train/training_state.h"

namespace ptyche {

/// Memory that the caches of all scans may take.
inline constexpr double kCacheBytes = 2e9;

/// The stem is frozen, so the channels of a pattern change only if its position does: they are
/// computed once where all used patterns' channels fit into memory, else for every batch.
class InputCache {
 public:
  /// The scan must outlive it; where positions have moved, a new one is due. `bytes` is the memory
  /// that it may take.
  InputCache(const Model& model, const Scan& scan, Engine engine = Engine::fused,
             double bytes = kCacheBytes);

  double bytes() const;  ///< that it takes

  at::Tensor channels(const at::Tensor& frames) const;  ///< (k, channels, N, N)
  at::Tensor counts(const at::Tensor& frames) const;    ///< (k, N, N) float32, FFT order

 private:
  at::Tensor rows_of(const at::Tensor& frames) const;  ///< of the caches, where these are

  Model model_;  // its own: the state's moves when a training starts anew
  const Scan& scan_;
  Engine engine_;
  at::Tensor row_of_frame_;  // (n) int64, -1 = not used
  at::Tensor channels_, counts_;
};

struct StepResult {
  double loss = 0;             ///< as EpochRecord's
  double object_contrast = 0;  ///< standard deviation of the merged objects over their mean
};

/// A batch's groups of one scan, with what a step needs to know of it; all outlive the step.
struct StepPart {
  ScanState& of;
  const Scan& scan;
  const InputCache& inputs;
  const GroupBatch& batch;
};

/// Predicts the counts of every pattern of the batch from the merged patches of some, and moves
/// the network and the probes of the scans in it; every group counts alike, however bright its scan
/// is. Updates the state's sums, averages, batch and step. Of several ranks each does its share of
/// the groups (together.h). Throws InvalidInput when the loss is not finite.
StepResult train_step(TrainingState& state, const std::vector<StepPart>& parts,
                      const TrainOptions& options, const TrainingTogether& together = {});
/// The same of a training on one scan.
StepResult train_step(TrainingState& state, const Scan& scan, const InputCache& inputs,
                      const GroupBatch& batch, const TrainOptions& options);

/// The network along its gradient, which is clipped, and the means of its weights.
void move_network(TrainingState& state, const TrainOptions& options);

/// Whether probe, background and positions still wait for the network.
bool warming_up(const TrainingState& state, const TrainOptions& options);

/// Learning rate at `step` over its highest: a linear rise over the warm-up, times a half cosine
/// from 1 to 0 (Loshchilov & Hutter, ICLR 2017, eq. 5). 1 in PtychoPINN's recipe, where the
/// validation sets the rate.
double learning_rate_factor(std::int64_t step, std::int64_t total_steps,
                            const TrainOptions& options);

/// The loss of `groups` by the network as it is, per what EpochRecord::loss is of.
double loss_without_step(const TrainingState& state, const Scan& scan, const InputCache& inputs,
                         const Groups& groups, const TrainOptions& options);

/// What a network that learns through the physics may be asked for beside the patterns, over the
/// pixels that the probe lights (as supervised_loss), the sum over patches of these means:
///   tv_weight      |difference of neighbours| along rows plus that along columns
///   realspace_mae  |patch - truth|, complex
/// patches (k, N, N) complex of `frames` (k). An undefined tensor where both weights are 0. Throws
/// InvalidInput if the scan has no truth and one is asked for.
at::Tensor real_space_terms(const at::Tensor& patches, const Scan& scan, const at::Tensor& frames,
                            const TrainOptions& options);

/// Whether the positions move after the epoch that has just ended: every second one from the end of
/// the probe's warm-up on, if the options let them.
bool positions_move_after(const TrainingState& state, const TrainOptions& options);

/// A position_step of the used patterns of one scan along the slopes gathered since the last time,
/// which become 0; the common shift stays, and so does the grid as a whole unless the options free
/// it. A pattern is predicted `visits` times an epoch.
void move_positions(const TrainingState& state, ScanState& of, const Scan& scan,
                    const TrainOptions& options, double visits);

/// Mean absolute error of amplitude plus that of phase (rad), over the pixels that the probe lights
/// (a hundredth of its brightest one and more): what lies in the dark no pattern can tell.
///   maps  (k, 2, N, N), PatchNetwork::maps of the patterns `frames` (k) int64
/// `loss` is the sum over patches of that mean, `contrast` that of the predicted amplitudes. Throws
/// InvalidInput if the scan has no truth.
GroupLoss supervised_loss(const at::Tensor& maps, const Scan& scan, const at::Tensor& frames);

}  // namespace ptyche
