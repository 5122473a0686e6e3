#include "ptyche/data/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ptyche {

std::string type_name(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return "bool";
    case at::kByte:
      return "uint8";
    case at::kChar:
      return "int8";
    case at::kShort:
      return "int16";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kComplexFloat:
      return "complex64";
    case at::kComplexDouble:
      return "complex128";
    default:
      return at::toString(type);
  }
}

std::string to_string(const Description& description) {
  const at::Tensor& tensor = description.tensor;
  if (!tensor.defined()) return "nothing";
  return fmt::format("({}) {}", fmt::join(tensor.sizes(), ", "), type_name(tensor.scalar_type()));
}

}  // namespace ptyche
