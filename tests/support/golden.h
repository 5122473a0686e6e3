// Numbers that came out of PtychoPINN when it was run.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ptyche/storage/numpy.h"

namespace ptyche {

/// PtychoPINN's losses have no floor; this one is too small to see.
constexpr double kNoFloor = 1e-30;

/// One file of arrays.
class GoldenFile {
 public:
  explicit GoldenFile(const std::filesystem::path& file) : npz_(file) {}

  at::Tensor array(const std::string& name) const { return npz_.read(name).values.contiguous(); }
  double number(const std::string& name) const { return array(name).item().toDouble(); }
  std::int64_t integer(const std::string& name) const { return array(name).item().toLong(); }
  bool has(const std::string& name) const { return npz_.has(name); }
  const std::vector<std::string>& names() const { return npz_.names(); }

  /// Offsets (B, 1, 2, C) [x, y] as (B, C, 2) (row, col).
  at::Tensor offsets(const std::string& name) const;

 private:
  NpzFile npz_;
};

/// $PTYCHE_GOLDEN, else the shared folder's golden/; empty where there is no shared folder.
std::filesystem::path golden_folder();

/// Runs `check` on every file `PREFIX*.npz` of the golden folder. Skips the test and says so where
/// there is no such folder; fails it where the folder has no such file.
void for_each_golden(const std::string& prefix,
                     const std::function<void(const GoldenFile&)>& check);

/// Whether |actual - golden| <= rtol |golden| + atol max |golden| everywhere.
testing::AssertionResult agrees(const at::Tensor& actual, const at::Tensor& golden,
                                double rtol = 1e-5, double atol = 1e-5);

}  // namespace ptyche
