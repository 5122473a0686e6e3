// A dataset of images in an HDF5 file, read in parts: in one piece, in chunks, or virtual.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ptyche/storage/frame_stack.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// Throws InvalidInput where it cannot be opened.
Hdf5Id open_hdf5_dataset(hid_t file, const std::string& path);

std::vector<std::int64_t> hdf5_shape(hid_t space);

/// Throws InvalidInput for an array of `declared` bytes that the file cannot hold: a small file may
/// declare one that fills the memory.
void require_stored(hid_t dataset, std::int64_t declared);

/// nullptr for an array that is no stack of images of real numbers. Throws InvalidInput for damage.
std::unique_ptr<FrameStack> hdf5_frames(hid_t file, const std::string& path);

/// The name of the file (else of the dataset) that mapping `index` of a virtual dataset names.
std::string virtual_name(hid_t properties, std::size_t index, bool of_file);

/// Names of the files that a virtual dataset names; none for another one.
std::vector<std::string> virtual_files(hid_t dataset);

/// The name under which an object's file was opened.
std::string file_name_of(hid_t object);

}  // namespace ptyche
