// The scale that PtychoPINN gives its probe. Ptyche's own contract, by which the probe carries the
// photons, is calibrate_probe in ptyche/data/probe_power.h; this one is for parity only.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// P / (probe_scale * mean |mask P|): one real factor for all modes, the mean over every pixel and
/// mode, those under the mask counting as 0. Counts play no part.
///   probe        (N, N) or (modes, N, N), real or complex
///   mask         (N, N) bool or real; it shapes the mean and is not applied to the result
///   probe_scale  > 0; PtychoPINN: 4 or 10
/// Throws InvalidInput naming both shapes where they differ, and for a probe that is dark under the
/// mask.
at::Tensor calibrate_probe_to_mean(const at::Tensor& probe, const at::Tensor& mask,
                                   double probe_scale);

}  // namespace ptyche
