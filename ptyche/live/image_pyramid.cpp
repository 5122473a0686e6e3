#include "ptyche/live/image_pyramid.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "ptyche/data/array.h"

namespace ptyche {
namespace {

constexpr std::size_t kMostTiles = 100;  // 26 MB of an image
constexpr std::size_t kMostImages = 4;

/// Phases less a plane, between -pi and pi. row, col: of the first pixel; step: between two.
at::Tensor phase_of(const at::Tensor& object, const PhasePlane& plane, std::int64_t row,
                    std::int64_t col, double step) {
  const at::Tensor rows = (at::arange(object.size(0), at::kDouble) + static_cast<double>(row)) *
                          (step * plane.slope_row);
  const at::Tensor cols = (at::arange(object.size(1), at::kDouble) + static_cast<double>(col)) *
                          (step * plane.slope_col);
  const at::Tensor angles = (plane.constant + rows.unsqueeze(1) + cols.unsqueeze(0)).to(at::kFloat);
  return (object * at::polar(at::ones_like(angles), -angles)).angle();
}

/// The ramp of an image that has `origin` in the frame in which `image` lies, as that one counts.
PhasePlane counted_from(const PhasePlane& ramp, const Reconstruction& origin,
                        const Reconstruction& image) {
  PhasePlane moved = ramp;
  moved.constant += ramp.slope_row * static_cast<double>(image.origin_row - origin.origin_row) +
                    ramp.slope_col * static_cast<double>(image.origin_col - origin.origin_col);
  return moved;
}

PhasePlane sum(const PhasePlane& a, const PhasePlane& b) {
  return {a.constant + b.constant, a.slope_row + b.slope_row, a.slope_col + b.slope_col};
}

/// Means of 2 x 2 values; undefined stays undefined.
at::Tensor halved(const at::Tensor& values) {
  return values.defined() ? at::avg_pool2d(values.unsqueeze(0).unsqueeze(0), 2)[0][0]
                          : at::Tensor();
}

}  // namespace

SharedTile tile_of(const at::Tensor& values) {
  const at::Tensor plain = values.to(at::kFloat).contiguous();
  return std::make_shared<const Tile>(
      Tile{plain.size(0), plain.size(1),
           std::string(static_cast<const char*>(plain.data_ptr()), plain.nbytes())});
}

ImagePyramid::ImagePyramid(SharedImage image) : image_(std::move(image)) {
  levels_.push_back({image_->image.projection(), image_->image.coverage, image_->trust});
}

/// Nothing where it would be smaller than a pixel.
ImagePyramid::Level ImagePyramid::level(std::int64_t number) {
  while (static_cast<std::int64_t>(levels_.size()) <= number) {
    const auto& [object, coverage, trust] = levels_.back();
    if (std::min(object.size(0), object.size(1)) < 2) return {};
    const at::Tensor parts = at::view_as_real(object.contiguous()).permute({2, 0, 1}).unsqueeze(0);
    const at::Tensor half = at::avg_pool2d(parts, 2)[0].permute({1, 2, 0}).contiguous();
    levels_.push_back({at::view_as_complex(half), halved(coverage), halved(trust)});
  }
  return levels_[static_cast<std::size_t>(number)];
}

/// What is taken from the phase. Both sides of a comparison lose the same ramp, the other image's.
PhasePlane ImagePyramid::plane(const TileRequest& request) {
  PhasePlane plane;
  const Reconstruction& image = image_->image;
  if (request.beside && !to_beside_) to_beside_ = plane_between(request.beside->image, image);
  if (request.beside) plane = *to_beside_;
  if (!request.without_ramp) return plane;
  const Reconstruction& whose = request.beside ? request.beside->image : image;
  std::optional<PhasePlane>& ramp = request.beside ? ramp_of_beside_ : ramp_;
  if (!ramp) ramp = ramp_of(whose.projection(), whose.coverage);
  return sum(plane, counted_from(*ramp, whose, image));
}

SharedTile ImagePyramid::made(const TileRequest& request) {
  const auto [object, coverage, trust] = level(request.level);
  const std::int64_t top = request.row * kViewTile, left = request.col * kViewTile;
  if (!object.defined() || top >= object.size(0) || left >= object.size(1)) return nullptr;
  const Window window{top, std::min(top + kViewTile, object.size(0)), left,
                      std::min(left + kViewTile, object.size(1))};
  const at::Tensor piece = cut(object, window);
  switch (request.what) {
    case TileRequest::What::coverage:
      return tile_of(cut(coverage, window));
    case TileRequest::What::trust:
      return trust.defined() ? tile_of(cut(trust, window)) : nullptr;
    case TileRequest::What::amplitude:
      return tile_of(piece.abs());
    default:
      if (!request.without_ramp && !request.beside) return tile_of(piece.angle());
      return tile_of(phase_of(piece, plane(request), top, left,
                              static_cast<double>(std::int64_t{1} << request.level)));
  }
}

SharedTile ImagePyramid::tile(const TileRequest& request) {
  const at::NoGradGuard no_grad;
  if (request.beside != beside_ && request.beside) {  // seen beside another image than before
    std::erase_if(tiles_, [](const auto& each) { return std::get<5>(each.first); });
    to_beside_.reset();
    ramp_of_beside_.reset();
    beside_ = request.beside;
  }
  const Key key{request.what, request.level,        request.row,
                request.col,  request.without_ramp, request.beside != nullptr};
  if (const auto found = tiles_.find(key); found != tiles_.end()) return found->second;
  if (tiles_.size() >= kMostTiles) tiles_.clear();
  return tiles_[key] = made(request);
}

SharedTile ImagePyramids::tile(const SharedImage& image, const TileRequest& request) {
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find(kept_, image, &ImagePyramid::image);
  if (found == kept_.end()) {
    if (kept_.size() >= kMostImages) kept_.erase(kept_.begin());
    kept_.emplace_back(image);
    found = kept_.end() - 1;
  }
  return found->tile(request);
}

}  // namespace ptyche
