#include "ptyche/live/growing_canvas.h"

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {
namespace {

std::int64_t tile_of(std::int64_t pixel) {
  constexpr std::int64_t kTile = GrowingCanvas::kTile;
  return pixel >= 0 ? pixel / kTile : -((-pixel + kTile - 1) / kTile);
}

}  // namespace

GrowingCanvas::Tile& GrowingCanvas::tile_at(std::int64_t row, std::int64_t col) {
  const auto [place, is_new] = tiles_.try_emplace({row, col});
  if (is_new) {
    require(tiles_.size() <= kMostTiles, "the scan spreads over more than {} tiles of {} x {} px",
            kMostTiles, kTile, kTile);
    for (Sums& sums : place->second.sums) {
      sums.object.resize(kTile * kTile);
      sums.weight.resize(kTile * kTile);
    }
  }
  return place->second;
}

/// work(tile, place in the tile, place in the patch, length) for every piece of a row of a patch
/// that lies in one tile.
template <class Work>
void GrowingCanvas::for_rows(std::int64_t row, std::int64_t col, std::int64_t size, Work&& work) {
  for (std::int64_t tile_row = tile_of(row); tile_row <= tile_of(row + size - 1); ++tile_row)
    for (std::int64_t tile_col = tile_of(col); tile_col <= tile_of(col + size - 1); ++tile_col) {
      Tile& tile = tile_at(tile_row, tile_col);
      const std::int64_t top = std::max(row, tile_row * kTile);
      const std::int64_t bottom = std::min(row + size, (tile_row + 1) * kTile);
      const std::int64_t left = std::max(col, tile_col * kTile);
      const std::int64_t right = std::min(col + size, (tile_col + 1) * kTile);
      for (std::int64_t r = top; r < bottom; ++r)
        work(tile, (r - tile_row * kTile) * kTile + left - tile_col * kTile,
             (r - row) * size + left - col, right - left);
    }
}

void GrowingCanvas::add_one(const std::complex<float>* patch, const float* weight, std::int64_t row,
                            std::int64_t col, std::int64_t size, int half) {
  std::complex<double> agreement = 0;
  for_rows(row, col, size, [&](Tile& tile, std::int64_t there, std::int64_t here, std::int64_t n) {
    const std::complex<float>*even = tile.sums[0].object.data() + there,
          *odd = tile.sums[1].object.data() + there;
    float re = 0, im = 0;  // conj(patch) times the sum, by hand: no library call for NaN
    for (std::int64_t i = 0; i < n; ++i) {
      const float a = patch[here + i].real() * weight[here + i],
                  b = patch[here + i].imag() * weight[here + i], c = even[i].real() + odd[i].real(),
                  d = even[i].imag() + odd[i].imag();
      re += a * c + b * d;
      im += a * d - b * c;
    }
    agreement += std::complex<double>(re, im);
  });
  const double size_of_it = std::abs(agreement);
  const std::complex<float> turn =
      size_of_it > 0 ? std::complex<float>(agreement / size_of_it) : std::complex<float>(1);
  for_rows(row, col, size, [&](Tile& tile, std::int64_t there, std::int64_t here, std::int64_t n) {
    auto* const object = reinterpret_cast<float*>(tile.sums[half].object.data() + there);
    float* const light = tile.sums[half].weight.data() + there;
    for (std::int64_t i = 0; i < n; ++i) {
      const float w = weight[here + i], a = patch[here + i].real() * w,
                  b = patch[here + i].imag() * w;
      object[2 * i] += a * turn.real() - b * turn.imag();
      object[2 * i + 1] += a * turn.imag() + b * turn.real();
      light[i] += w;
    }
  });
}

void GrowingCanvas::add(const at::Tensor& patches, const at::Tensor& weights,
                        const at::Tensor& corners, const std::vector<std::int64_t>& indices) {
  const at::Tensor pixels = patches.to(at::kComplexFloat).contiguous();
  const at::Tensor light = weights.to(at::kFloat).contiguous();
  const auto place = corners.accessor<std::int64_t, 2>();
  const std::int64_t size = pixels.size(1);
  const auto* const patch =
      reinterpret_cast<const std::complex<float>*>(pixels.data_ptr<c10::complex<float>>());
  for (std::int64_t k = 0; k < pixels.size(0); ++k) {
    const std::int64_t row = place[k][0], col = place[k][1];
    require(std::max(std::abs(row), std::abs(col)) <= kFarthest_px,
            "pattern {} lies at pixel ({}, {}), further out than {}: are the positions in another "
            "unit?",
            indices[static_cast<std::size_t>(k)], row, col, kFarthest_px);
    add_one(patch + k * size * size, light.data_ptr<float>() + k * size * size, row, col, size,
            static_cast<int>(indices[static_cast<std::size_t>(k)] % 2));
    const Window window{row, row + size, col, col + size};
    extent_ = patches_ == 0 ? window
                            : Window{std::min(extent_.row_begin, window.row_begin),
                                     std::max(extent_.row_end, window.row_end),
                                     std::min(extent_.col_begin, window.col_begin),
                                     std::max(extent_.col_end, window.col_end)};
    ++patches_;
  }
}

Window GrowingCanvas::extent() const { return extent_; }

std::int64_t GrowingCanvas::bytes() const {
  return static_cast<std::int64_t>(tiles_.size()) * kTile * kTile * 2 * 12;
}

std::pair<at::Tensor, at::Tensor> GrowingCanvas::picture(Half half) const {
  return picture(half, extent_);
}

std::pair<at::Tensor, at::Tensor> GrowingCanvas::picture(Half half, const Window& part) const {
  const std::int64_t rows = part.rows(), cols = part.cols();
  at::Tensor object = at::zeros({rows, cols}, at::kComplexFloat), weight = at::zeros({rows, cols});
  for (const auto& [place, tile] : tiles_) {
    const std::int64_t top = place.first * kTile, left = place.second * kTile;
    const Window here{std::max(top, part.row_begin), std::min(top + kTile, part.row_end),
                      std::max(left, part.col_begin), std::min(left + kTile, part.col_end)};
    if (here.rows() <= 0 || here.cols() <= 0) continue;
    const Window there{here.row_begin - part.row_begin, here.row_end - part.row_begin,
                       here.col_begin - part.col_begin, here.col_end - part.col_begin};
    const Window inside{here.row_begin - top, here.row_end - top, here.col_begin - left,
                        here.col_end - left};
    for (int i = 0; i < 2; ++i) {
      if (half != Half::both && i != (half == Half::odd)) continue;
      const auto* const sums = &tile.sums[i];
      const at::Tensor values = at::from_blob(const_cast<std::complex<float>*>(sums->object.data()),
                                              {kTile, kTile}, at::kComplexFloat);
      const at::Tensor light =
          at::from_blob(const_cast<float*>(sums->weight.data()), {kTile, kTile});
      cut(object, there).add_(cut(values, inside));
      cut(weight, there).add_(cut(light, inside));
    }
  }
  const at::Tensor lit = lit_pixels(weight, kLitToShow);
  const at::Tensor brightest = weight.max().clamp_min(1e-30);
  return {mean_where_lit(object, weight, lit),
          (weight / brightest).masked_fill(lit.logical_not(), 0)};
}

}  // namespace ptyche
