// NumPy's .npz format: a zip of .npy files.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/io/file_array.h"

struct zip;  // libzip's archive

namespace ptyche {

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

  /// The first of `names` that is there. Throws InvalidInput that lists the names looked for and
  /// those that are there.
  std::string first_of(const std::vector<std::string>& names) const;

 private:
  struct Closer {
    void operator()(zip* archive) const;
  };
  std::unique_ptr<zip, Closer> archive_;
  std::vector<std::string> names_;
};

/// Writes named arrays, deflated, atomically; `numpy.load` reads them.
void write_npz(const std::filesystem::path& file,
               const std::vector<std::pair<std::string, at::Tensor>>& arrays);

}  // namespace ptyche
