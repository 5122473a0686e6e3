#include "ptyche/physics/reduction.h"

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {

void require_loss_shapes(const std::string& loss, const at::Tensor& intensity,
                         const at::Tensor& counts, const at::Tensor& mask) {
  require(intensity.sizes() == counts.sizes() && intensity.dim() >= 2,
          "{}: expected intensity and counts of one shape, found {} and {}", loss,
          fmt::join(intensity.sizes(), " x "), fmt::join(counts.sizes(), " x "));
  const auto pattern = intensity.sizes().slice(intensity.dim() - 2);
  require(mask.scalar_type() == at::kBool &&
              (mask.sizes() == pattern || mask.sizes() == intensity.sizes()),
          "{}: expected a bool mask ({}) for intensity {}, found {}", loss,
          fmt::join(pattern, ", "), describe(intensity), describe(mask));
}

at::Tensor reduce_terms(const at::Tensor& terms, const at::Tensor& mask, Reduction reduction) {
  const at::Tensor counted = terms * mask;
  if (reduction == Reduction::none) return counted;
  if (reduction == Reduction::sum) return counted.sum();
  const auto pixels = mask.sum().item<std::int64_t>() * terms.numel() / mask.numel();
  return counted.sum() / static_cast<double>(std::max<std::int64_t>(pixels, 1));
}

}  // namespace ptyche
