#include "ptyche/train/label_loss.h"

#include "ptyche/core/error.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {
namespace {

constexpr double kLit = 0.01;  // of the brightest pixel's intensity

/// (N, N) float32 that sums to 1: equal weights of all lit pixels.
at::Tensor lit_weights(const at::Tensor& probe) {
  const at::Tensor power = probe.abs().square().sum(0);
  const at::Tensor lit = power.gt(kLit * power.max()).to(at::kFloat);
  return lit / lit.sum();
}

}  // namespace

GroupLoss label_loss(SupervisedNetwork& network, const at::Tensor& channels, const Scan& scan,
                     const at::Tensor& frames) {
  require(scan.truth().defined(),
          "{}: a supervised network needs the true object, which this scan does not have",
          scan.source());
  const at::Tensor corners =
      scan.positions().index_select(0, frames) - static_cast<double>(scan.pattern_size() / 2);
  const at::Tensor truth = extract_patches(scan.truth(), corners, scan.pattern_size());
  const at::Tensor maps = network.maps(channels);
  const at::Tensor error =
      (maps - at::stack({truth.abs(), truth.angle()}, 1)).abs() * lit_weights(scan.probe());
  const at::Tensor amplitude = maps.detach().select(1, 0);
  return {error.sum(at::kDouble), (amplitude.std() / amplitude.mean()).item<double>()};
}

}  // namespace ptyche
