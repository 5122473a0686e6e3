#include "ptyche/evaluate/half_sets.h"

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/evaluate/compare.h"

namespace ptyche {
namespace {

const char* name_of(Half half) { return half == Half::even ? "even" : "odd"; }

Reconstruction image_of(const Scan& scan, Half half, const ScanToImage& reconstruct) {
  const Scan part = half_of(scan, half);
  note("half set: the {} patterns of {} number", part.frames_with(FrameUse::used).size(0),
       name_of(half));
  return reconstruct(part);
}

}  // namespace

Scan half_of(const Scan& scan, Half half) {
  const at::Tensor number = at::arange(scan.frames(), at::kLong);
  const at::Tensor other = number.remainder(2).ne(half == Half::odd ? 1 : 0);
  const at::Tensor used = scan.frame_use().eq(static_cast<int>(FrameUse::used));
  const at::Tensor left = used.logical_and(other.logical_not());
  require(left.sum().item<std::int64_t>() >= 2,
          "half sets: expected at least 2 used patterns of {} number, found {}", name_of(half),
          left.sum().item<std::int64_t>());
  return scan.with_frame_use(
      scan.frame_use().masked_fill(used.logical_and(other), static_cast<int>(FrameUse::rejected)));
}

void require_halves(const Scan& scan) {
  for (const Half half : {Half::even, Half::odd}) half_of(scan, half);
}

HalfSets half_sets(const Scan& scan, const ScanToImage& reconstruct) {
  const Reconstruction even = image_of(scan, Half::even, reconstruct);
  const Reconstruction odd = image_of(scan, Half::odd, reconstruct);
  return {even, odd, with_context("half sets", [&] { return compare(odd, even).comparison; })};
}

}  // namespace ptyche
