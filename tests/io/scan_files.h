// Small scan files for the tests of this folder.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/numpy.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {

using Arrays = std::vector<std::pair<std::string, at::Tensor>>;

inline at::Tensor& array(Arrays& arrays, const std::string& name) {
  for (auto& [key, tensor] : arrays) {
    if (key == name) return tensor;
  }
  return arrays.emplace_back(name, at::Tensor()).second;
}

inline void remove(Arrays& arrays, const std::string& name) {
  std::erase_if(arrays, [&](const auto& entry) { return entry.first == name; });
}

/// A file with the dataset `data`, as h5py writes it: in chunks of these lengths (in one piece
/// where there are none), or packed by gzip.
inline std::filesystem::path write_chunked(const std::filesystem::path& path,
                                           const at::Tensor& values,
                                           const std::vector<hsize_t>& chunk, bool packed,
                                           hid_t type = H5T_NATIVE_INT16) {
  const Hdf5Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const std::vector<hsize_t> lengths(values.sizes().begin(), values.sizes().end());
  const int rank = static_cast<int>(lengths.size());
  const Hdf5Id space(H5Screate_simple(rank, lengths.data(), nullptr), H5Sclose);
  const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!chunk.empty()) H5Pset_chunk(properties.get(), rank, chunk.data());
  if (packed) H5Pset_shuffle(properties.get());
  if (packed) H5Pset_deflate(properties.get(), 4);
  const Hdf5Id data(
      H5Dcreate2(file.get(), "data", type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose);
  EXPECT_GE(H5Dwrite(data.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                     values.contiguous().const_data_ptr()),
            0);
  return path;
}

inline constexpr std::int64_t kFrames = 12, kSize = 8;

/// (12, 8, 8) float32 whole counts from 1 to 13, all different from frame to frame.
inline at::Tensor small_counts() {
  return at::arange(kFrames * kSize * kSize, at::kFloat)
      .remainder(13)
      .add(1)
      .reshape({kFrames, kSize, kSize});
}

/// A scan on a 4 x 3 grid with PtychoPINN's keys and whole counts.
inline Arrays small_arrays() {
  const at::Tensor index = at::arange(kFrames, at::kDouble);
  const at::Tensor row = at::floor(index / 3);
  return {{"diffraction", small_counts()},
          {"xcoords", 10 + 2.5 * (index - 3 * row)},
          {"ycoords", 20 + 1.5 * row},
          {"probeGuess", at::complex(at::ones({kSize, kSize}), at::zeros({kSize, kSize}))}};
}

inline Scan read_arrays(const Arrays& arrays, ReadOptions options = {}) {
  const TestFolder folder;
  options.file = folder / "scan.npz";
  write_npz(options.file, arrays);
  return read_scan(options);
}

inline void write_raw(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

/// A text of variable length, read by the library itself.
inline std::string text_dataset(const std::filesystem::path& path, const std::string& name) {
  const Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Hdf5Id dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
  char* text = nullptr;
  EXPECT_GE(H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &text), 0) << name;
  const std::string copy = text ? text : "";
  H5free_memory(text);
  return copy;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ptyche
