#include "ptyche/evaluate/expected_patterns.h"

#include <algorithm>

#include "ptyche/engine/prediction.h"

namespace ptyche {
namespace {

constexpr std::int64_t kBatchPixels = std::int64_t{1} << 20;
constexpr double kFarthestMove =
    32;  // px, of a position in a file of another program from the given one

/// Even, so that half a pixel rounds the same way with the margin and without.
std::int64_t margin_of(std::int64_t pattern_size) { return pattern_size + 2; }

/// An object in a frame of 1 + 0i, wide enough for every patch that differs from empty space.
at::Tensor with_empty_space_around(const at::Tensor& object, std::int64_t margin) {
  at::Tensor padded =
      at::ones({object.size(0) + 2 * margin, object.size(1) + 2 * margin}, object.options());
  padded.narrow(0, margin, object.size(0)).narrow(1, margin, object.size(1)).copy_(object);
  return padded;
}

}  // namespace

const at::Tensor& refined_positions(const Reconstruction& image, const Scan& scan) {
  if (!image.positions.defined() || image.positions.sizes() != scan.positions().sizes())
    return scan.positions();
  const bool own = !scan.input_hash().empty() && image.provenance.input_hash == scan.input_hash();
  const auto near = [&] {
    return (image.positions - scan.positions()).abs().max().item<double>() < kFarthestMove;
  };
  return own || near() ? image.positions : scan.positions();
}

std::vector<at::Tensor> in_batches(const at::Tensor& frames, std::int64_t pattern_size) {
  const std::int64_t pixels = std::max<std::int64_t>(pattern_size * pattern_size, 1);
  return frames.split(std::max<std::int64_t>(kBatchPixels / pixels, 1));
}

ExpectedPatterns::ExpectedPatterns(const Reconstruction& image, const Scan& scan)
    : scan_(scan),
      padded_(with_empty_space_around(image.projection(), margin_of(image.pattern_size()))),
      probe_(image.main_probe().to(image.object.scalar_type())),
      positions_(refined_positions(image, scan)),
      origin_(at::tensor({image.origin_row, image.origin_col}, at::kDouble)),
      size_(at::tensor({image.rows(), image.cols()}, at::kDouble)),
      interpolation_(image.interpolation),
      propagation_(propagation_of(image.geometry)) {
  if (image.background.defined()) background_ = to_fft_order(image.background).to(real_type());
  if (image.intensities.defined() && image.intensities.size(0) == scan.frames())
    intensities_ = image.intensities.to(at::kDouble);
}

/// Positions as indices of the padded object. Farther out than the margin all patches are the same
/// empty space, so those positions are brought in by whole pixels.
at::Tensor ExpectedPatterns::indices_of(const at::Tensor& frames) const {
  const auto half = static_cast<double>(probe_.size(-1) / 2);
  const at::Tensor index = positions_.index_select(0, frames) - origin_, whole = index.floor();
  const at::Tensor near = at::minimum(whole.clamp_min(-half - 1), size_ + half);
  return near + (index - whole) + static_cast<double>(margin_of(probe_.size(-1)));
}

/// Of frames (k), whose patterns without them are `expected` (k, N, N): (k, 1, 1).
at::Tensor ExpectedPatterns::factors_of(const at::Tensor& frames,
                                        const at::Tensor& expected) const {
  const at::Tensor known = intensities_.index_select(0, frames);
  const at::Tensor mask = mask_in_fft_order(scan_);
  const auto total = [&](const at::Tensor& patterns) {
    return patterns.masked_fill(mask.logical_not(), 0).sum({1, 2}, false, at::kDouble);
  };
  const at::Tensor ratio =
      total(counts_in_fft_order(scan_, frames)) / total(expected).clamp_min(1e-9);
  return at::where(known.isfinite(), known, ratio).to(real_type()).view({-1, 1, 1});
}

namespace {

/// The part of an object that patches at `centres` (k, 2) touch, and their places in it.
struct SeenPart {
  at::Tensor object, centres;
};

/// What is computed of the object is computed of that part alone: in a large scan a batch of
/// neighbours sees little of it. It begins at even pixels, as margin_of.
SeenPart seen_part(const at::Tensor& object, const at::Tensor& centres, std::int64_t size) {
  const at::Tensor whole = centres.floor().to(at::kLong);
  const at::Tensor low = (whole.amin(0) - (size / 2 + 1)).clamp_min(0).div(2, "floor") * 2;
  const at::Tensor high = whole.amax(0) + (size / 2 + 2);
  at::Tensor part = object;
  for (const std::int64_t axis : {0, 1}) {
    const auto first = low[axis].item<std::int64_t>();
    const std::int64_t last = std::min(high[axis].item<std::int64_t>(), object.size(axis));
    part = part.narrow(axis, first, last - first);
  }
  return {part.contiguous(), centres - low};
}

}  // namespace

at::Tensor ExpectedPatterns::of(const at::Tensor& frames) const {
  if (frames.size(0) == 0) return at::empty({0, probe_.size(-1), probe_.size(-1)}, real_type());
  const SeenPart part = seen_part(padded_, indices_of(frames), probe_.size(-1));
  const at::Tensor expected = expected_intensity(part.object, probe_, part.centres, interpolation_,
                                                 background_, propagation_);
  return intensities_.defined() ? expected * factors_of(frames, expected) : expected;
}

}  // namespace ptyche
