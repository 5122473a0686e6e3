// HDF5's types on disk against LibTorch's types in memory.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "ptyche/io/hdf5.h"

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

/// The type under which a tensor is written. Throws InvalidInput for types that HDF5 has no name
/// for.
Hdf5Id writing_of(at::ScalarType type);

/// Variable-length UTF-8 text, which h5py hands out as str.
Hdf5Id text_type();

/// The innermost message on the library's error stack: why the last call failed.
std::string hdf5_reason();

}  // namespace ptyche
