// Random batches of groups for the loss, the same for every engine.
#pragma once

#include <vector>

#include "ptyche/engine/group_loss.h"
#include "tests/support/checks.h"

namespace ptyche {

/// A batch of groups with random patches, counts and probe.
struct LossCase {
  std::int64_t size = 32, modes = 1;
  std::vector<std::int64_t> group_sizes = {4};
  Interpolation interpolation = Interpolation::bilinear;
  at::ScalarType real = at::kDouble;
  LossKind kind = LossKind::poisson;
  bool half_merged = false, background = true, near_field = false;

  std::int64_t groups() const { return static_cast<std::int64_t>(group_sizes.size()); }
};

struct LossBatch {
  at::Tensor patches, merged, probe, background, positions, group, counts, mask;
};

/// Light falls off from the middle to a thousandth of its peak, as in a real probe.
inline at::Tensor probe_of(std::int64_t modes, std::int64_t size, at::ScalarType type) {
  const at::Tensor along = at::arange(size, at::kDouble) - static_cast<double>(size) / 2 + 0.5;
  const at::Tensor bell = (-(along / (0.27 * static_cast<double>(size))).square()).exp();
  const at::Tensor noise = random_tensor({modes, size, size}, at::kComplexDouble, 11) * 0.3 + 1;
  return (noise * bell.unsqueeze(1) * bell * 3).to(type);
}

inline LossBatch make_batch(const LossCase& c) {
  LossBatch batch;
  std::vector<std::int64_t> group, merged;
  for (std::size_t g = 0; g < c.group_sizes.size(); ++g)
    for (std::int64_t k = 0; k < c.group_sizes[g]; ++k) {
      if (!c.half_merged || k % 2 == 0) merged.push_back(static_cast<std::int64_t>(group.size()));
      group.push_back(static_cast<std::int64_t>(g));
    }
  const auto count = static_cast<std::int64_t>(group.size());
  const auto complex = at::toComplexType(c.real);
  batch.group = at::tensor(group, at::kLong);
  batch.merged = at::tensor(merged, at::kLong);
  batch.positions = random_tensor({count, 2}, at::kDouble, 1).mul(3.7);
  batch.patches =
      (random_tensor({batch.merged.numel(), c.size, c.size}, at::kComplexDouble, 2) * 0.3 + 1)
          .to(complex);
  batch.probe = probe_of(c.modes, c.size, complex);
  batch.background = (random_tensor({c.size, c.size}, at::kDouble, 3).square() + 0.2).to(c.real);
  batch.counts =
      random_tensor({count, c.size, c.size}, at::kDouble, 4).square().mul(4).round().to(c.real);
  batch.mask = random_tensor({c.size, c.size}, at::kDouble, 5).gt(-1.5);
  return batch;
}

/// Loss and its gradients by patches, probe, background and positions.
inline std::vector<at::Tensor> loss_and_gradients(const LossCase& c, const LossBatch& batch,
                                                  Engine engine) {
  const at::Tensor patches = batch.patches.detach().clone().requires_grad_(true);
  const at::Tensor probe = batch.probe.detach().clone().requires_grad_(true);
  const at::Tensor background = batch.background.detach().clone().requires_grad_(true);
  const at::Tensor positions = batch.positions.detach().clone().requires_grad_(true);
  const CanvasLayout layout = lay_out(positions, batch.group, c.groups(), c.size, c.interpolation);
  LossOptions options{.engine = engine, .kind = c.kind};
  if (c.near_field)
    options.propagation = NearField{.wavelength_m = 1e-10, .pixel_m = 1e-8, .distance_m = 5e-6};
  const GroupLoss result =
      group_loss(patches, batch.merged, probe, layout,
                 {batch.counts, batch.mask, c.background ? background : at::Tensor()}, options);
  (result.loss * 0.7).backward();
  std::vector<at::Tensor> all{result.loss.detach(), at::scalar_tensor(result.contrast, at::kDouble),
                              patches.grad(), probe.grad(), positions.grad()};
  if (c.background) all.push_back(background.grad());
  return all;
}

}  // namespace ptyche
