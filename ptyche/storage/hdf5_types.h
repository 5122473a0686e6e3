// HDF5's types on disk against LibTorch's types in memory, and the library's errors as ours.
#pragma once

#include <ATen/ATen.h>
#include <hdf5.h>

#include <string>

#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// How a dataset is read: the tensor type, the type for H5Dread, and what the file's type was.
struct Hdf5Reading {
  at::ScalarType type;
  Hdf5Id memory;
  bool unsigned_bits = false;  ///< see from_unsigned_bits
  double ceiling = 0;          ///< see FileArray
};

/// Throws InvalidInput for texts, references and compounds other than a complex number.
Hdf5Reading reading_of(hid_t file_type);

/// The type under which a tensor is written: complex numbers as compounds {r, i}, bool as an
/// enumeration {FALSE, TRUE}, as h5py has them.
Hdf5Id writing_of(at::ScalarType type);

/// Variable-length UTF-8 text, which h5py hands out as str.
Hdf5Id text_type();

/// Throws InvalidInput of `what` and the library's innermost reason, where the last call failed.
void require_success(bool ok, const std::string& what);

}  // namespace ptyche
