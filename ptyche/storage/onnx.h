// ONNX files: a graph of operators and its numbers, as other programs run it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ptyche {

/// A number that an operator is given beside its inputs.
struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>> value;
};

/// Length of an axis: a number, or a name for one that is known when the graph is run.
using OnnxLength = std::variant<std::int64_t, std::string>;

/// A graph that grows operator by operator, each value called by the name that `add`, `input` or
/// `constant` gave it. Operator set 13 (https://onnx.ai/onnx/operators), which every runtime of the
/// last years has; the names of the fields of the file are those of onnx.proto. Numbers are
/// float32, int64 or bool.
class OnnxGraph {
 public:
  static constexpr std::int64_t kOperatorSet = 13;

  /// `initial`: the value where the caller gives none; undefined = it must be given.
  std::string input(const std::string& name, at::ScalarType type,
                    const std::vector<OnnxLength>& shape, const std::string& help,
                    const at::Tensor& initial = {});
  std::string constant(const at::Tensor& values);
  /// The same under a name of its own, as a weight has.
  std::string weights(const std::string& name, const at::Tensor& values);
  /// One operator with one output.
  std::string add(const std::string& operation, const std::vector<std::string>& inputs,
                  const std::vector<OnnxAttribute>& attributes = {});
  void output(const std::string& name, const std::string& value,
              const std::vector<OnnxLength>& shape, const std::string& help);

  /// The file's bytes. `facts`: what stands in its metadata.
  std::string file(const std::string& help,
                   const std::vector<std::pair<std::string, std::string>>& facts) const;

 private:
  std::string inputs_, outputs_, nodes_, tensors_;  ///< fields of GraphProto
  std::int64_t names_ = 0;
};

}  // namespace ptyche
