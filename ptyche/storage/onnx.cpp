#include "ptyche/storage/onnx.h"

#include <fmt/format.h>

#include <cstring>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

// Protocol buffers' encoding: every field is its number and kind, then a number of 7 bits a byte
// (kind 0), a length and that many bytes (kind 2), or four bytes (kind 5).
// https://protobuf.dev/programming-guides/encoding

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string tag(std::uint64_t number, std::uint64_t kind) { return varint(number << 3 | kind); }

std::string field(std::uint64_t number, std::int64_t value) {
  return tag(number, 0) + varint(static_cast<std::uint64_t>(value));
}

std::string field(std::uint64_t number, const std::string& bytes) {
  return tag(number, 2) + varint(bytes.size()) + bytes;
}

std::string field(std::uint64_t number, float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return tag(number, 5) + bytes;
}

/// TensorProto.DataType.
std::int64_t number_of(at::ScalarType type) {
  if (type == at::kFloat) return 1;
  if (type == at::kLong) return 7;
  require(type == at::kBool, "ONNX: expected numbers of float32, int64 or bool, found {}",
          at::toString(type));
  return 9;
}

std::string tensor(const std::string& name, const at::Tensor& values) {
  const at::Tensor plain = values.detach().contiguous();
  std::string bytes;
  for (const std::int64_t length : plain.sizes()) bytes += field(1, length);
  bytes += field(2, number_of(plain.scalar_type())) + field(8, name);
  return bytes +
         field(9, std::string(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()));
}

std::string length_field(const OnnxLength& length) {
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
          return field(1, field(2, value));
        else
          return field(1, field(1, value));
      },
      length);
}

/// ValueInfoProto.
std::string described(const std::string& name, at::ScalarType type,
                      const std::vector<OnnxLength>& shape, const std::string& help) {
  std::string lengths;
  for (const OnnxLength& length : shape) lengths += length_field(length);
  const std::string array = field(1, number_of(type)) + field(2, lengths);
  return field(1, name) + field(2, field(1, array)) + field(3, help);
}

/// AttributeProto: its value, then its kind.
std::string attribute(const OnnxAttribute& given) {
  std::string bytes = field(1, given.name);
  if (const auto* number = std::get_if<std::int64_t>(&given.value))
    bytes += field(3, *number) + field(20, std::int64_t{2});
  else if (const auto* real = std::get_if<float>(&given.value))
    bytes += field(2, *real) + field(20, std::int64_t{1});
  else if (const auto* text = std::get_if<std::string>(&given.value))
    bytes += field(4, *text) + field(20, std::int64_t{3});
  else {
    for (const std::int64_t each : std::get<std::vector<std::int64_t>>(given.value))
      bytes += field(8, each);
    bytes += field(20, std::int64_t{7});
  }
  return bytes;
}

}  // namespace

std::string OnnxGraph::input(const std::string& name, at::ScalarType type,
                             const std::vector<OnnxLength>& shape, const std::string& help,
                             const at::Tensor& initial) {
  inputs_ += field(11, described(name, type, shape, help));
  return initial.defined() ? weights(name, initial) : name;
}

std::string OnnxGraph::weights(const std::string& name, const at::Tensor& values) {
  tensors_ += field(5, tensor(name, values));
  return name;
}

std::string OnnxGraph::constant(const at::Tensor& values) {
  return weights(fmt::format("constant_{}", names_++), values);
}

std::string OnnxGraph::add(const std::string& operation, const std::vector<std::string>& inputs,
                           const std::vector<OnnxAttribute>& attributes) {
  const std::string name = fmt::format("{}_{}", operation, names_++);
  std::string bytes;
  for (const std::string& input : inputs) bytes += field(1, input);
  bytes += field(2, name) + field(3, name) + field(4, operation);
  for (const OnnxAttribute& given : attributes) bytes += field(5, attribute(given));
  nodes_ += field(1, bytes);
  return name;
}

void OnnxGraph::output(const std::string& name, const std::string& value,
                       const std::vector<OnnxLength>& shape, const std::string& help) {
  nodes_ += field(
      1, field(1, value) + field(2, name) + field(3, name) + field(4, std::string("Identity")));
  outputs_ += field(12, described(name, at::kFloat, shape, help));
}

std::string OnnxGraph::file(const std::string& help,
                            const std::vector<std::pair<std::string, std::string>>& facts) const {
  constexpr std::int64_t kVersionOfTheFormat = 7;  // the first with operator set 13
  const std::string graph =
      nodes_ + field(2, std::string("ptyche")) + tensors_ + inputs_ + outputs_;
  std::string bytes = field(1, kVersionOfTheFormat) + field(2, std::string("ptyche")) +
                      field(3, version()) + field(6, help) + field(7, graph) +
                      field(8, field(1, std::string()) + field(2, kOperatorSet));
  for (const auto& [key, value] : facts) bytes += field(14, field(1, key) + field(2, value));
  return bytes;
}

}  // namespace ptyche
