#include "ptyche/storage/layout.h"

#include <fmt/ranges.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> lengths;
  for (const std::int64_t length : shape)
    lengths.push_back(length == kAnyLength ? "n" : std::to_string(length));
  return fmt::format("({})", fmt::join(lengths, ", "));
}

bool has_shape(const at::Tensor& values, const std::vector<std::int64_t>& shape) {
  if (values.dim() != static_cast<std::int64_t>(shape.size())) return false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != kAnyLength && values.size(static_cast<std::int64_t>(axis)) != shape[axis])
      return false;
  return true;
}

/// The least and the largest number, NaN where one is.
std::pair<double, double> range_of_numbers(const at::Tensor& values) {
  const at::Tensor numbers = values.is_complex() ? at::view_as_real(values) : values;
  const auto [least, most] = at::aminmax(numbers.detach());
  return {least.to(at::kDouble).item<double>(), most.to(at::kDouble).item<double>()};
}

}  // namespace

DatasetLayout like(const at::Tensor& example, const std::string& path, double least, double most) {
  return {path, example.scalar_type(), example.sizes().vec(), least, most, example.device()};
}

void require_layout(const at::Tensor& values, const DatasetLayout& layout) {
  require(
      values.defined() && values.scalar_type() == layout.type && has_shape(values, layout.shape),
      "{}: expected {} {}, found {}", layout.path, shape_text(layout.shape), type_name(layout.type),
      describe(values));
  if (values.numel() == 0 || layout.type == at::kBool) return;
  const auto [least, most] = range_of_numbers(values);
  require(least >= layout.least && most <= layout.most,
          "{}: expected numbers from {:.6g} to {:.6g}, found {:.6g} to {:.6g}", layout.path,
          layout.least, layout.most, least, most);
}

at::Tensor read(const Hdf5File& file, const DatasetLayout& layout) {
  at::Tensor values = file.read(layout.path).values;
  require_layout(values, layout);
  return values.to(layout.device);
}

at::Tensor read_if_there(const Hdf5File& file, const DatasetLayout& layout) {
  return file.has(layout.path) ? read(file, layout) : at::Tensor();
}

void write(Hdf5File& file, const DatasetLayout& layout, const at::Tensor& values) {
  require_layout(values, layout);
  file.write(layout.path, values);
}

std::int64_t whole_number(double value, const std::string& name, std::int64_t least,
                          std::int64_t most) {
  require(value >= static_cast<double>(least) && value <= static_cast<double>(most) &&
              value == std::round(value),
          "{}: expected a whole number from {} to {}, found {}", name, least, most, value);
  return static_cast<std::int64_t>(value);
}

}  // namespace ptyche
