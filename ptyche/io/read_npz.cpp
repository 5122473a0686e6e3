#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/data/describe.h"
#include "ptyche/io/npz.h"
#include "ptyche/io/raw_scan.h"

namespace ptyche {
namespace {

at::Tensor read_coordinates(const NpzFile& file, const std::string& name) {
  const std::string found = file.first_of({name});
  const at::Tensor values = file.read(found).values.squeeze();
  require(values.dim() <= 1 && !values.is_complex(),
          "{}: expected (M), one number a pattern, found {}", name, describe(values));
  return values.reshape(-1).to(at::kDouble);
}

/// (M, N, N) from (M, N, N) or (N, N, M), told apart by the axis that is as long as `frames`.
at::Tensor frames_first(const at::Tensor& array, std::int64_t frames, const std::string& name) {
  const at::Tensor patterns = array.dim() == 4 && array.size(3) == 1 ? array.squeeze(3) : array;
  require(patterns.dim() == 3 && !patterns.is_complex() && patterns.scalar_type() != at::kBool,
          "{}: expected (M, N, N) or (N, N, M) real numbers, found {}", name, describe(array));
  const std::int64_t a = patterns.size(0), b = patterns.size(1), c = patterns.size(2);
  if (a == frames && b == c) return patterns;
  if (c == frames && a == b) return patterns.permute({2, 0, 1});
  require(a == frames || c == frames,
          "xcoords: expected as many values as {} {} has patterns, found {}", name, describe(array),
          frames);
  throw InvalidInput(fmt::format("{}: expected square patterns, ({}, N, N), found {}", name, frames,
                                 describe(array)));
}

/// objectGuess, unless it says nothing (PtychoPINN's tools fill it with ones).
at::Tensor read_truth(const NpzFile& file) {
  if (!file.has("objectGuess")) return {};
  const at::Tensor object = file.read("objectGuess").values.squeeze();
  require(object.dim() == 2, "objectGuess: expected (rows, cols), found {}", describe(object));
  const at::Tensor truth = object.to(at::kComplexFloat).contiguous();
  const double spread = at::abs(truth - truth.mean()).max().item<double>();
  if (!(spread > 1e-6 * at::abs(truth).max().item<double>())) return {};
  note("objectGuess is taken as the truth, for scores only");
  return truth;
}

at::Tensor read_mask(const NpzFile& file) {
  if (!file.has("mask")) return {};
  const at::Tensor mask = file.read("mask").values;
  require(mask.dim() == 2 && mask.scalar_type() == at::kBool,
          "mask: expected (N, N) bool, true = counted, found {}", describe(mask));
  return mask;
}

}  // namespace

RawScan read_npz_scan(const std::filesystem::path& path) {
  const NpzFile file(path);
  RawScan raw;
  raw.patterns_name = file.first_of({"diffraction", "diff3d"});
  raw.positions_name = "xcoords, ycoords";
  raw.probe_name = "probeGuess";
  const at::Tensor x = read_coordinates(file, "xcoords");
  const at::Tensor y = read_coordinates(file, "ycoords");
  require(x.size(0) == y.size(0), "ycoords: expected {} values like xcoords, found {}", x.size(0),
          y.size(0));
  raw.positions = at::stack({y, x}, 1);
  const FileArray patterns = file.read(raw.patterns_name);
  raw.patterns = frames_first(patterns.values, x.size(0), raw.patterns_name);
  raw.ceiling = patterns.ceiling;
  if (file.has("probeGuess")) {
    raw.probe = as_probe(file.read("probeGuess").values, "probeGuess");
  }
  raw.mask = read_mask(file);
  raw.truth = read_truth(file);
  return raw;
}

}  // namespace ptyche
