// NumPy's .npy format, versions 1 to 3 (numpy.lib.format documents it).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ptyche/io/file_array.h"

namespace ptyche {

/// Copies the next `count` bytes to `to`; throws InvalidInput when there are fewer.
using ByteSource = std::function<void(char* to, std::int64_t count)>;

/// What a .npy header says.
struct NpyHeader {
  char kind = 'f';  ///< b, i, u, f or c, NumPy's letters
  std::int64_t item_bytes = 4;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  ///< as NumPy sees it; empty for a single number
  std::int64_t header_bytes = 0;    ///< where the data begin
};

/// Reads the header from the start of a .npy stream. Throws InvalidInput for another magic,
/// version, a header above 10000 bytes (NumPy's own limit) and types that are not numbers, naming
/// the type.
NpyHeader read_npy_header(const ByteSource& source);

/// Reads a whole .npy stream of `total_bytes`. Throws InvalidInput when the header and the size
/// contradict each other; nothing large is allocated before that is known. Fortran order gives a
/// tensor with NumPy's shape and its strides.
FileArray read_npy(const ByteSource& source, std::int64_t total_bytes);

/// The same for a file on disk.
FileArray read_npy_file(const std::filesystem::path& file);

/// A version 1 header for the tensor; its data follow in C order, little endian.
std::string npy_header(const at::Tensor& tensor);

}  // namespace ptyche
