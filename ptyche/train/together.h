// A training that several ranks do in step: all of them go through the same states, each computes
// the gradient of its share of every batch, and the gradients are added up.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "ptyche/core/ranks.h"
#include "ptyche/solve/counts_part.h"
#include "ptyche/train/train.h"

namespace ptyche {

/// One of the ranks; the default trains alone.
struct TrainingTogether {
  std::int64_t own = 0, all = 1;
  /// The sum of the arrays of all ranks, which all call it in the same order.
  std::function<at::Tensor(const at::Tensor&)> sum = {};

  bool several() const { return all > 1; }
};

/// The rank's groups of a batch, about as many as of every other rank; none of fewer groups than
/// ranks. Alone: the batch.
GroupBatch share_of(const GroupBatch& batch, const TrainingTogether& together);

/// A number that each rank has a part of. Alone: it.
double sum_of_all(const TrainingTogether& together, double own);

/// Adds up the gradients of `parameters` over the ranks, and arrays float64 that are no parameters'
/// (`more`, in place). A parameter of which no rank has a gradient is left without one.
void sum_gradients(const TrainingTogether& together, const std::vector<at::Tensor>& parameters,
                   std::vector<at::Tensor> more);

/// On rank 0, by all ranks: train (train.h), of scans whose counts lie with this rank, who gives
/// them to all others, for a batch may have any patterns. Where there is one rank it is train.
/// Throws InvalidInput for what is not a sum over the groups of a batch (mae_share, tv_weight,
/// realspace_mae, PtychoPINN's recipe), and RankFailure.
Model train_by_ranks(const std::vector<TrainingScan>& scans, const TrainOptions& options);

/// On every other rank, what rank 0 asks for by that.
RankMessage train_with_rank_0(CountsPart& part, const RankMessage& question);

/// The scan with its counts in this process, wherever they are.
Scan gathered(const Scan& scan);

}  // namespace ptyche
