#include "ptyche/physics/poisson_loss.h"

#include "ptyche/core/error.h"

namespace ptyche {

at::Tensor poisson_loss(const at::Tensor& intensity, const at::Tensor& counts,
                        const at::Tensor& mask, const PoissonLossOptions& options) {
  require_loss_shapes("poisson_loss", intensity, counts, mask);
  require(options.floor > 0, "poisson_loss: expected a floor above 0, found {}", options.floor);
  const at::Tensor raised = counts + options.floor, ratio = (intensity + options.floor) / raised;
  return reduce_terms(intensity - counts - raised * ratio.log(), mask, options.reduction);
}

}  // namespace ptyche
