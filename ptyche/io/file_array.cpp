#include "ptyche/io/file_array.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

double physical_memory_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

at::Tensor from_unsigned_bits(const at::Tensor& bits) {
  if (bits.numel() == 0 || bits.min().item<std::int64_t>() >= 0) return bits;
  require(bits.scalar_type() != at::kLong, "expected values below 2^63, found larger ones");
  const bool two_bytes = bits.scalar_type() == at::kShort;
  return bits.to(two_bytes ? at::kInt : at::kLong).bitwise_and_(two_bytes ? 0xffffL : 0xffffffffL);
}

double integer_ceiling(std::int64_t bytes, bool is_signed) {
  return std::ldexp(1.0, static_cast<int>(8 * bytes - (is_signed ? 1 : 0))) - 1;
}

std::int64_t checked_bytes(const std::vector<std::int64_t>& shape, std::int64_t item_bytes) {
  double bytes = static_cast<double>(item_bytes);
  bool empty = false;
  for (const std::int64_t length : shape) {
    require(length >= 0, "shape: expected lengths >= 0, found ({})", fmt::join(shape, ", "));
    // A length of 0 must not hide absurd ones beside it: their strides would overflow.
    bytes *= static_cast<double>(std::max<std::int64_t>(length, 1));
    empty = empty || length == 0;
  }
  require(
      bytes <= physical_memory_bytes(),
      "shape: expected at most {:.3g} GB, this machine's memory, found ({}), which needs {:.3g} GB",
      physical_memory_bytes() / 1e9, fmt::join(shape, ", "), bytes / 1e9);
  return empty ? 0 : static_cast<std::int64_t>(bytes);
}

std::string list_of(const std::vector<std::string>& names, std::size_t most) {
  if (names.empty()) return "nothing";
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most));
  const std::string shown = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  return names.size() <= most ? shown : fmt::format("{} and {} more", shown, names.size() - most);
}

}  // namespace ptyche
