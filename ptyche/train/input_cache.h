// Network inputs and counts by frame, kept in memory while they are small enough.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/scan.h"
#include "ptyche/model/model.h"

namespace ptyche {

/// The stem is frozen, so the channels of a pattern change only if its position does: they are
/// computed once where all used patterns' channels fit in kCacheBytes, else for every batch.
class InputCache {
 public:
  /// Both must outlive it; where positions have moved, a new one is due.
  InputCache(const Model& model, const Scan& scan, Engine engine = Engine::fused);

  at::Tensor channels(const at::Tensor& frames) const;  ///< (k, channels, N, N)
  at::Tensor counts(const at::Tensor& frames) const;    ///< (k, N, N) float32, FFT order

 private:
  const Model& model_;
  const Scan& scan_;
  Engine engine_;
  at::Tensor row_of_frame_;  // (n) int64, -1 = not used
  at::Tensor channels_, counts_;
};

/// Memory that the cache may take.
inline constexpr double kCacheBytes = 2e9;

}  // namespace ptyche
