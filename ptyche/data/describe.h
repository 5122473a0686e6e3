// How an array is named in a message: its shape and type, in NumPy's words.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <string>

namespace ptyche {

/// "(516, 64, 64) float32"; "nothing" for an undefined tensor. Made into text where it is
/// formatted, so that a `require` that holds costs nothing.
struct Description {
  const at::Tensor& tensor;
};
inline Description describe(const at::Tensor& tensor) { return {tensor}; }
std::string to_string(const Description& description);

/// "uint8", "float32", "complex64", ...: NumPy's name of a tensor's type.
std::string type_name(at::ScalarType type);

}  // namespace ptyche

template <>
struct fmt::formatter<ptyche::Description> : fmt::formatter<std::string> {
  auto format(const ptyche::Description& description, format_context& context) const {
    return fmt::formatter<std::string>::format(to_string(description), context);
  }
};
