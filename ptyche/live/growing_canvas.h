// An object that grows with the scan: patches are added where they lie, and nobody has to know
// beforehand how far the scan will go.
#pragma once

#include <ATen/ATen.h>

#include <complex>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ptyche/data/array.h"

namespace ptyche {

/// Sums of patches and of their weights in square tiles, which are made where a patch falls. Each
/// patch is turned to the phase of what lies there already, since the intensity of a pattern is
/// blind to it. Patches of even and of odd indices are summed apart, too: how far the two images
/// agree says what can be believed.
class GrowingCanvas {
 public:
  /// patches  (k, N, N) complex64, weights (k, N, N) float32 >= 0
  /// corners  (k, 2) int64, of each patch's pixel (0, 0) in the scan's frame
  /// indices  (k), of the patterns
  /// Throws InvalidInput for a corner that is further than kFarthest_px from 0, or where more tiles
  /// are needed than kMostTiles.
  void add(const at::Tensor& patches, const at::Tensor& weights, const at::Tensor& corners,
           const std::vector<std::int64_t>& indices);

  bool empty() const { return tiles_.empty(); }
  std::int64_t patches() const { return patches_; }
  /// Pixels that patches have touched, the whole of a tile counted from its first one.
  Window extent() const;
  std::int64_t bytes() const;

  /// Which patches.
  enum class Half { both, even, odd };
  /// Object (rows, cols) complex64, 1 where it is dark, and coverage float32 as a Reconstruction
  /// has them, over `extent()`.
  std::pair<at::Tensor, at::Tensor> picture(Half half = Half::both) const;
  /// The same of a part of the extent, its coverage in shares of the part's brightest pixel.
  std::pair<at::Tensor, at::Tensor> picture(Half half, const Window& part) const;

  static constexpr std::int64_t kTile = 256;
  static constexpr std::int64_t kFarthest_px = 1'000'000;
  static constexpr std::size_t kMostTiles = 40'000;  ///< 40 GB; 51 000 x 51 000 px

 private:
  struct Sums {
    std::vector<std::complex<float>> object;
    std::vector<float> weight;
  };
  struct Tile {
    Sums sums[2];  // even, odd
  };
  Tile& tile_at(std::int64_t row, std::int64_t col);
  template <class Work>
  void for_rows(std::int64_t row, std::int64_t col, std::int64_t size, Work&& work);
  void add_one(const std::complex<float>* patch, const float* weight, std::int64_t row,
               std::int64_t col, std::int64_t size, int half);

  std::map<std::pair<std::int64_t, std::int64_t>, Tile> tiles_;
  std::int64_t patches_ = 0;
  Window extent_;
};

}  // namespace ptyche
