// A row of numbers out of a tensor.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace ptyche {

/// values (n) float64.
inline std::vector<double> to_vector(const at::Tensor& values) {
  const at::Tensor row = values.contiguous();
  const double* first = row.const_data_ptr<double>();
  return {first, first + row.numel()};
}

}  // namespace ptyche
