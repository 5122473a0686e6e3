#include "ptyche/physics/amplitude_loss.h"

#include "ptyche/core/error.h"

namespace ptyche {

at::Tensor amplitude_loss(const at::Tensor& intensity, const at::Tensor& counts,
                          const at::Tensor& mask, const AmplitudeLossOptions& options) {
  require_loss_shapes("amplitude_loss", intensity, counts, mask);
  require(options.floor >= 0, "amplitude_loss: expected a floor of at least 0, found {}",
          options.floor);
  const at::Tensor difference =
      (intensity + options.floor).sqrt() - (counts + options.floor).sqrt();
  const bool square = options.norm == AmplitudeNorm::square;
  return reduce_terms(square ? difference.square() : difference.abs(), mask, options.reduction);
}

}  // namespace ptyche
