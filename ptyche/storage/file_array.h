// Arrays as they come out of files, before anybody has decided what they mean; pictures as arrays.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ptyche {

struct FileArray {
  /// Any type that the file can hold; unsigned types that LibTorch lacks become the narrowest
  /// signed type that holds the values.
  at::Tensor values;
  /// Largest value of the file's integer type, which a detector writes where it is saturated or
  /// blind; 0 = not an integer type.
  double ceiling = 0;
};

/// Values that were read bit for bit into a signed tensor although the file's type is unsigned: the
/// same tensor where all fit, else a wider one. Throws InvalidInput above 2^63 - 1.
at::Tensor from_unsigned_bits(const at::Tensor& bits);

/// Largest value of an integer type of `bytes` bytes.
double integer_ceiling(std::int64_t bytes, bool is_signed);

/// Product of the lengths times `item_bytes`. Throws InvalidInput for a negative length or a size
/// that is beyond this machine's memory (a damaged header, mostly): nothing is allocated before
/// this.
std::int64_t checked_bytes(const std::vector<std::int64_t>& shape, std::int64_t item_bytes);

/// "a, b, c", at most `most` names, then how many more there are.
std::string list_of(const std::vector<std::string>& names, std::size_t most = 20);

/// A picture's brightness (rows, cols) float64: of a PNG of any kind its grey value, 0 black to 1
/// white, as the file has it (no gamma is undone, transparency is ignored); of a .npy file its real
/// numbers. Throws InvalidInput that begins with the file's name for other formats, damaged files
/// and numbers that are not finite.
at::Tensor read_image(const std::filesystem::path& file);

}  // namespace ptyche
