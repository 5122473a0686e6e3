#include "ptyche/io/raster.h"

#include <charconv>
#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

constexpr std::int64_t kLongestLine = 1'000'000;

std::int64_t length_from(const std::string& word, const std::string& text) {
  std::int64_t length = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), length);
  require(error == std::errc() && end == word.data() + word.size() && length >= 1 &&
              length <= kLongestLine,
          "expected ROWSxCOLUMNS like 16x32, found {}", text);
  return length;
}

}  // namespace

Raster raster_of_shape(const std::string& text) {
  const std::vector<std::string> words = split(text, 'x');
  require(words.size() == 2, "expected ROWSxCOLUMNS like 16x32, found {}", text);
  Raster raster;
  raster.rows = length_from(words[0], text);
  raster.cols = length_from(words[1], text);
  return raster;
}

at::Tensor rotated_places(const at::Tensor& row, const at::Tensor& col, double rotation_deg) {
  const double angle = rotation_deg * std::numbers::pi / 180;
  const at::Tensor rows = row * std::cos(angle) + col * std::sin(angle);
  const at::Tensor cols = col * std::cos(angle) - row * std::sin(angle);
  return at::stack({rows.reshape(-1), cols.reshape(-1)}, 1);
}

at::Tensor raster_positions(const Raster& raster) {
  const auto line = [](std::int64_t length, double step) {
    return (at::arange(length, at::kDouble) - static_cast<double>(length - 1) / 2) * step;
  };
  const at::Tensor row = line(raster.rows, raster.step_row_m).unsqueeze(1);
  const at::Tensor col = line(raster.cols, raster.step_col_m).unsqueeze(0);
  return rotated_places(row, col, raster.rotation_deg);
}

bool may_belong(std::int64_t positions, std::int64_t patterns) {
  constexpr std::int64_t kMost = 10;
  if (positions <= patterns) return 2 * positions >= patterns;
  return positions <= kMost * patterns && positions % patterns != 0;
}

std::int64_t exposures_of(std::int64_t positions, std::int64_t patterns) {
  const bool several = positions >= 2 && patterns > positions && patterns % positions == 0;
  return several ? patterns / positions : 0;
}

namespace {

bool may_have(std::int64_t positions, std::int64_t patterns) {
  return may_belong(positions, patterns) || exposures_of(positions, patterns) > 0;
}

}  // namespace

at::Tensor positions_of(const at::Tensor& y, const at::Tensor& x, std::int64_t n,
                        const std::string& name) {
  require(!x.is_complex() && !y.is_complex(), "{}: expected real numbers, found complex ones",
          name);
  at::Tensor rows = y.to(at::kDouble).reshape(-1), cols = x.to(at::kDouble).reshape(-1);
  if (rows.size(0) * cols.size(0) == n && rows.size(0) != n) {
    const std::int64_t lines = rows.size(0), points = cols.size(0);
    rows = rows.unsqueeze(1).expand({lines, points}).reshape(-1);
    cols = cols.unsqueeze(0).expand({lines, points}).reshape(-1);
  }
  require(rows.size(0) == cols.size(0) && may_have(rows.size(0), n),
          "{}: expected {} positions like patterns, or the axes of a raster of as many, found y {} "
          "and x {}",
          name, n, describe(y), describe(x));
  return at::stack({rows, cols}, 1).contiguous();
}

at::Tensor vectors_of(const at::Tensor& array, std::int64_t n, const std::string& name) {
  require(!array.is_complex() && array.dim() >= 2,
          "{}: expected ({}, 3) or (3, {}), one translation a pattern, found {}", name, n, n,
          describe(array));
  const auto few = [](std::int64_t length) { return length == 2 || length == 3; };
  at::Tensor values = array.to(at::kDouble);
  const bool first = few(values.size(0)) && values.numel() == n * values.size(0);
  const bool list = values.dim() == 2 && few(values.size(1)) && may_have(values.size(0), n);
  const bool last =
      (few(values.size(-1)) && values.numel() == n * values.size(-1)) || (list && !first);
  require(last || first, "{}: expected ({}, 3) or (3, {}), one translation a pattern, found {}",
          name, n, n, describe(array));
  values = last ? values.reshape({-1, values.size(-1)})
                : values.reshape({values.size(0), n}).transpose(0, 1);
  return values.contiguous();
}

}  // namespace ptyche
