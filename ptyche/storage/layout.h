// What a dataset of our own files must be: one description by which it is written and by which it
// is read, so that what is used has been looked at first.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// Solvers and scores square everything; the squares of larger numbers are infinite as float32.
inline constexpr double kLargestNumber = 1e19;
inline constexpr std::int64_t kAnyLength = -1;

/// path   in the file
/// type   of the numbers, as LibTorch names it
/// shape  lengths of the axes; kAnyLength = any
/// least, most  range of all numbers (of a complex one's parts); NaN is in no range
/// device  where what is read is to be
struct DatasetLayout {
  std::string path;
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> shape;
  double least = -kLargestNumber, most = kLargestNumber;
  at::Device device = at::kCPU;
};

/// The layout of an array like `example`, on its device, anywhere in the range.
DatasetLayout like(const at::Tensor& example, const std::string& path,
                   double least = -kLargestNumber, double most = kLargestNumber);

/// Throws InvalidInput "PATH: expected float32 (2, 64, 64), found ..." unless `values` are as the
/// layout says.
void require_layout(const at::Tensor& values, const DatasetLayout& layout);

/// The dataset, checked. Throws InvalidInput as require_layout does, and where it is not there.
at::Tensor read(const Hdf5File& file, const DatasetLayout& layout);
/// The same; undefined where it is not there.
at::Tensor read_if_there(const Hdf5File& file, const DatasetLayout& layout);

/// Checks and writes. Throws InvalidInput as require_layout does: what could not be read again is
/// not written.
void write(Hdf5File& file, const DatasetLayout& layout, const at::Tensor& values);

/// A number that counts something, out of a table of float64. Throws InvalidInput naming it unless
/// it is whole and least..most.
std::int64_t whole_number(double value, const std::string& name, std::int64_t least,
                          std::int64_t most);

}  // namespace ptyche
