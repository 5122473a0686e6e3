// NumPy's formats: .npy, versions 1 to 3 (numpy.lib.format documents it), and .npz, a zip of .npy
// files.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/storage/file_array.h"
#include "ptyche/storage/frame_stack.h"

struct zip;  // libzip's archive

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

/// The frames of a .npy file (n, rows, cols), (R, C, rows, cols) or, with `last_axis`, (rows, cols,
/// n); nullptr for an array of another kind, of bool or in Fortran's order.
std::unique_ptr<FrameStack> npy_frames(const std::filesystem::path& file, bool last_axis = false);

/// A version 1 header for the tensor; its data follow in C order, little endian.
std::string npy_header(const at::Tensor& tensor);

/// An opened .npz file. Every error is an InvalidInput: a damaged archive never crashes and never
/// makes the program allocate more than the archive could hold.
class NpzFile {
 public:
  /// Throws InvalidInput when the file is not a zip, is truncated or cannot be read.
  explicit NpzFile(const std::filesystem::path& file);

  /// Names of the arrays, without ".npy", in file order.
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const;

  /// One array. Throws InvalidInput beginning with the array's name.
  FileArray read(const std::string& name) const;

  /// Of one array what its header says. Throws as `read` does.
  NpyHeader header(const std::string& name) const;

  /// An array's bytes as they are, header and all: for text out of arrays of Python objects, which
  /// are never unpickled. Throws InvalidInput where they are more than `most`.
  std::string bytes(const std::string& name, std::int64_t most) const;

  /// One array as npy_frames.
  std::unique_ptr<FrameStack> frames(const std::string& name, bool last_axis = false) const;

  /// The first of `names` that is there. Throws InvalidInput that lists the names looked for and
  /// those that are there.
  std::string first_of(const std::vector<std::string>& names) const;

 private:
  struct Closer {
    void operator()(zip* archive) const;
  };
  std::filesystem::path path_;
  std::unique_ptr<zip, Closer> archive_;
  std::vector<std::string> names_;
};

/// Writes named arrays, deflated, atomically; `numpy.load` reads them.
void write_npz(const std::filesystem::path& file,
               const std::vector<std::pair<std::string, at::Tensor>>& arrays);

}  // namespace ptyche
