#include "tests/support/golden.h"

#include <algorithm>
#include <cstdlib>

#include "ptyche/data/array.h"
#include "tests/support/shared.h"

namespace ptyche {
namespace {

std::vector<std::filesystem::path> files_of(const std::string& prefix) {
  const std::filesystem::path folder = golden_folder();
  if (folder.empty() || !std::filesystem::is_directory(folder)) return {};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".npz" && entry.path().stem().string().starts_with(prefix))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::filesystem::path golden_folder() {
  if (const char* named = std::getenv("PTYCHE_GOLDEN")) return named;
  const auto shared = shared_folder();
  return shared ? *shared / "golden" : std::filesystem::path();
}

at::Tensor GoldenFile::offsets(const std::string& name) const {
  return array(name).squeeze(1).transpose(1, 2).flip(2).contiguous();
}

void for_each_golden(const std::string& prefix,
                     const std::function<void(const GoldenFile&)>& check) {
  const auto files = files_of(prefix);
  if (golden_folder().empty())
    GTEST_SKIP() << "there are no golden numbers here (PTYCHE_SHARED, PTYCHE_GOLDEN)";
  if (files.empty())
    ADD_FAILURE() << "expected golden numbers " << prefix << "*.npz in '"
                  << golden_folder().string() << "', found none";
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    check(GoldenFile(file));
  }
}

testing::AssertionResult agrees(const at::Tensor& actual, const at::Tensor& golden, double rtol,
                                double atol) {
  if (actual.sizes() != golden.sizes())
    return testing::AssertionFailure() << "found " << to_string(describe(actual)) << ", golden is "
                                       << to_string(describe(golden));
  const bool complex = actual.is_complex() || golden.is_complex();
  const auto type = complex ? at::kComplexDouble : at::kDouble;
  const at::Tensor found = actual.detach().to(type), wanted = golden.to(type);
  const double largest = wanted.abs().max().item<double>();
  const at::Tensor excess = (found - wanted).abs() - rtol * wanted.abs() - atol * largest;
  const double worst = (found - wanted).abs().max().item<double>();
  if (excess.le(0).all().item<bool>()) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "largest difference " << worst << ", largest golden value " << largest << ", "
         << excess.gt(0).sum().item<std::int64_t>() << " of " << excess.numel() << " outside";
}

}  // namespace ptyche
