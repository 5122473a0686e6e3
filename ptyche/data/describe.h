// How an array is named in a message: its shape and type, in NumPy's words.
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace ptyche {

/// "(516, 64, 64) float32"; "nothing" for an undefined tensor.
std::string describe(const at::Tensor& tensor);

/// "uint8", "float32", "complex64", ...: NumPy's name of a tensor's type.
std::string type_name(at::ScalarType type);

}  // namespace ptyche
