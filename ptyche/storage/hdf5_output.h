// The way of HDF5 files that we write to the disk.
#pragma once

#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// Properties for H5Fcreate: what is written goes to the file at once and is held nowhere. `fault`
/// is made 0, gets the errno of the first write that fails, and must outlive the file. The library
/// is not told of it: HDF5 1.10 crashes as it closes a file of which it could not write all.
Hdf5Id writing_access(int& fault);

}  // namespace ptyche
