#include "ptyche/physics/measure.h"

namespace ptyche {

at::Tensor measure(const at::Tensor& waves, const at::Tensor& background) {
  const at::Tensor parts = at::view_as_real(waves);
  const at::Tensor intensity = parts.square().sum(at::IntArrayRef{1, 4});
  return background.defined() ? intensity + background : intensity;
}

}  // namespace ptyche
