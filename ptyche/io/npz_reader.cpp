// PtychoPINN's NPZ files, and the same keys with counts.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/io/raster.h"
#include "ptyche/io/readers.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace {

constexpr double kClearlyBrighter = 1.2;  ///< times the other; less is chance

/// Some tools write only where the scan began: NAME_start.
at::Tensor read_coordinates(const NpzFile& file, const std::string& name) {
  const std::string found =
      file.has(name) || !file.has(name + "_start") ? file.first_of({name}) : name + "_start";
  const at::Tensor values = file.read(found).values.squeeze();
  require(values.dim() <= 1 && !values.is_complex(),
          "{}: expected (M), one number a pattern, found {}", name, describe(values));
  return values.reshape(-1).to(at::kDouble);
}

/// Share of the sum of images (first, second, third) over `axis` that lies in the middle half of
/// both directions: large where the sum is that of patterns, which are bright in the middle.
double central_share(const at::Tensor& images, std::int64_t axis) {
  const at::Tensor sum = images.sum({axis}, false, at::kDouble);
  const at::Tensor middle = sum.narrow(0, sum.size(0) / 4, (sum.size(0) + 1) / 2)
                                .narrow(1, sum.size(1) / 4, (sum.size(1) + 1) / 2);
  return (middle.sum() / sum.sum()).item<double>();
}

/// Where the first and the last axis are as long as there are positions: whether the last one
/// counts the patterns. Says what it found.
bool last_axis_counts(const at::Tensor& images, const std::string& name) {
  const double first = central_share(images, 0), last = central_share(images, 2);
  const bool is_last = last > kClearlyBrighter * first;
  if (!is_last && !(first > kClearlyBrighter * last)) {
    warn(
        "{}: the first and the last of the axes {} could count the patterns, and the mean pattern "
        "does not tell which; the first is taken",
        name, describe(images));
    return false;
  }
  note(
      "{}: the {} of the axes {} counts the patterns: the mean pattern has {:.0f} % of its sum in "
      "the middle then, and {:.0f} % otherwise",
      name, is_last ? "last" : "first", describe(images), 100 * std::max(first, last),
      100 * std::min(first, last));
  return is_last;
}

/// Which of the first and the last axis may count the patterns.
struct CountingAxis {
  std::array<bool, 2> square, as_many, about;

  CountingAxis(const std::vector<std::int64_t>& shape, std::int64_t positions)
      : square{shape[1] == shape[2], shape[0] == shape[1]},
        as_many{shape[0] == positions, shape[2] == positions},
        about{may_belong(positions, shape[0]), may_belong(positions, shape[2])} {}

  bool fits(std::size_t axis) const { return as_many[axis] || (square[axis] && about[axis]); }
};

/// Whether the last axis counts the patterns: the only one that fits, or one of square patterns, as
/// many as there are positions, where the other one is less. Nothing where shapes do not tell.
std::optional<bool> last_counts(const CountingAxis& axis) {
  if (axis.fits(0) != axis.fits(1)) return axis.fits(1);
  const bool first = axis.square[0] && axis.as_many[0], last = axis.square[1] && axis.as_many[1];
  if (first != last) return last;
  return std::nullopt;
}

/// (M, rows, cols) from that or (rows, cols, M).
at::Tensor frames_first(const at::Tensor& array, std::int64_t positions, const std::string& name) {
  const at::Tensor patterns = array.dim() == 4 && array.size(3) == 1 ? array.squeeze(3) : array;
  require(patterns.dim() == 3 && !patterns.is_complex() && patterns.scalar_type() != at::kBool,
          "{}: expected (M, N, N) or (N, N, M) real numbers, found {}", name, describe(array));
  const CountingAxis axis(patterns.sizes().vec(), positions);
  require(axis.fits(0) || axis.fits(1),
          "xcoords: expected as many values as {} {} has patterns, found {}", name, describe(array),
          positions);
  const std::optional<bool> told = last_counts(axis);
  const bool last = told ? *told : last_axis_counts(patterns, name);
  return last ? patterns.permute({2, 0, 1}) : patterns;
}

/// The patterns, to be read in parts, where their header alone tells which axis counts them.
std::unique_ptr<FrameStack> stack_of_frames(const NpzFile& file, const std::string& name,
                                            std::int64_t positions) {
  const std::vector<std::int64_t> shape = file.header(name).shape;
  if (shape.size() != 3) return nullptr;
  const std::optional<bool> last = last_counts({shape, positions});
  return last ? file.frames(name, *last) : nullptr;
}

/// (M) int64, which scan each pattern is of; undefined = not in the file.
at::Tensor read_scan_index(const NpzFile& file, std::int64_t frames) {
  if (!file.has("scan_index")) return {};
  const at::Tensor index = file.read("scan_index").values.squeeze();
  if (index.dim() == 0) return index.to(at::kLong).expand({frames});
  require(index.dim() == 1 && index.size(0) == frames,
          "scan_index: expected ({}), one number a pattern, found {}", frames, describe(index));
  return index.to(at::kLong);
}

/// objectGuess, unless it says nothing (PtychoPINN's tools fill it with ones).
at::Tensor read_truth(const NpzFile& file) {
  if (!file.has("objectGuess")) return {};
  const at::Tensor object = file.read("objectGuess").values.squeeze();
  require(object.dim() == 2 && object.numel() > 0, "objectGuess: expected (rows, cols), found {}",
          describe(object));
  const at::Tensor truth = object.to(at::kComplexFloat).contiguous();
  const double spread = at::abs(truth - truth.mean()).max().item<double>();
  if (!(spread > 1e-6 * at::abs(truth).max().item<double>())) return {};
  note("objectGuess is taken as the truth, for scores only");
  return truth;
}

at::Tensor read_mask(const NpzFile& file) {
  if (!file.has("mask")) return {};
  const at::Tensor mask = file.read("mask").values;
  require(mask.dim() == 2 && !mask.is_complex(), "mask: expected (N, N), true = counted, found {}",
          describe(mask));
  return mask;
}

/// The number behind "nphotons" in the JSON text that PtychoPINN keeps in `_metadata`; 0 where
/// there is none. The array is a pickle: its text is looked through and nothing of it is carried
/// out.
double nphotons_of_metadata(const NpzFile& file) {
  constexpr std::int64_t kMostBytes = 1 << 20;
  if (!file.has("_metadata")) return 0;
  std::string text = file.bytes("_metadata", kMostBytes);
  std::erase(text, '\0');  // NumPy's text has four bytes a letter
  constexpr std::string_view kKey = "\"nphotons\"";
  const std::size_t key = text.find(kKey);
  if (key == std::string::npos) return 0;
  const std::size_t number = text.find_first_not_of(" :", key + kKey.size());
  if (number == std::string::npos) return 0;
  double value = 0;
  std::from_chars(text.data() + number, text.data() + text.size(), value);
  return std::isfinite(value) && value > 0 ? value : 0;
}

/// PtychoPINN's NPZ (`diff3d` or `diffraction`, `xcoords`, `ycoords`, `probeGuess`, `objectGuess`,
/// `scan_index`) and the same keys with counts (`mask`). x is the column, y the row. The axis of
/// the patterns that is as long as xcoords counts them; where both ends fit, the one over which the
/// mean is bright in the middle, with a note, or a warning where that does not tell. objectGuess is
/// a truth unless it is constant.
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
  raw.take(stack_of_frames(file, raw.patterns_name, x.size(0)), [&] {
    FileArray patterns = file.read(raw.patterns_name);
    patterns.values = frames_first(patterns.values, x.size(0), raw.patterns_name);
    return patterns;
  });
  if (file.has("probeGuess")) {
    raw.probe = as_probe(file.read("probeGuess").values, "probeGuess");
  }
  raw.scan_index = read_scan_index(file, raw.frames());
  raw.mask = read_mask(file);
  raw.truth = read_truth(file);
  raw.nphotons = nphotons_of_metadata(file);
  return raw;
}

Reconstruction read_npz_object(const std::filesystem::path& path) {
  const NpzFile file(path);
  const std::string name = file.first_of({"object", "objectGuess", "truth", "YY_pred"});
  Reconstruction image = as_object(file.read(name).values, name);
  image.provenance.source = path.string();
  return image;
}

}  // namespace

Reader npz_reader() {
  return {.name = "NPZ",
          .signature = "a zip archive",
          .recognises = [](const FileSample& sample) { return sample.start.starts_with("PK"); },
          .read_scan = read_npz_scan,
          .read_object = read_npz_object};
}

}  // namespace ptyche
