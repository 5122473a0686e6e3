#include "ptyche/data/reconstruction.h"

#include "ptyche/core/error.h"

namespace ptyche {

std::string to_string(Interpolation interpolation) {
  return interpolation == Interpolation::bilinear ? "bilinear" : "probe_fourier";
}

Interpolation interpolation_from(const std::string& name) {
  if (name == "bilinear") return Interpolation::bilinear;
  if (name == "probe_fourier") return Interpolation::probe_fourier;
  throw InvalidInput(
      fmt::format("interpolation: expected bilinear or probe_fourier, found {}", name));
}

at::Tensor Reconstruction::projection() const {
  return slices() == 1 ? object.select(0, 0) : object.prod(0);
}

at::Tensor as_written(const at::Tensor& array) {
  return array.defined() && array.size(0) == 1 ? array.select(0, 0) : array;
}

}  // namespace ptyche
