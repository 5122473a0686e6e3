// Inference where several ranks hold the counts: each shows its own patterns to the network.
#pragma once

#include <ATen/ATen.h>

#include <functional>

#include "ptyche/core/ranks.h"
#include "ptyche/infer/infer.h"
#include "ptyche/solve/counts_part.h"

namespace ptyche {

/// The patches (k, N, N) complex64 of `frames` (k) int64 of a scan whose counts ranks share, each
/// of its own ones, as patches_by_batches would give them. Throws RankFailure, and Interrupted
/// after Ctrl-C.
///   model  with what it knows of the scan (model_for, at_dose_of); of one pattern at a time
at::Tensor patches_by_ranks(const Model& model, const Scan& scan, const at::Tensor& frames,
                            const InferOptions& options);

/// A rank's answer to that.
RankMessage answer_inference(CountsPart& part, const RankMessage& question);

/// Calls take(patches) with the patches of `frames`, options.batch of them at a time.
void each_patches(const Model& model, const Scan& scan, const at::Tensor& frames,
                  const InferOptions& options,
                  const std::function<void(const at::Tensor& patches)>& take);

/// All of them.
at::Tensor patches_by_batches(const Model& model, const Scan& scan, const at::Tensor& frames,
                              const InferOptions& options);

}  // namespace ptyche
