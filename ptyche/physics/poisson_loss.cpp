#include "ptyche/physics/poisson_loss.h"

#include "ptyche/core/error.h"

namespace ptyche {

at::Tensor poisson_loss(const at::Tensor& intensity, const at::Tensor& counts,
                        const at::Tensor& mask) {
  require(intensity.sizes() == counts.sizes(),
          "poisson_loss: expected intensity and counts of one shape, found {} and {}",
          fmt::join(intensity.sizes(), " x "), fmt::join(counts.sizes(), " x "));
  const at::Tensor ratio = (intensity + kPoissonFloor) / (counts + kPoissonFloor);
  return ((intensity - counts - counts * ratio.log()) * mask).sum();
}

}  // namespace ptyche
