// An image in tiles of float32 values, halved as often as a viewer is far from it; each tile is
// made once for all viewers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ptyche/live/board.h"
#include "ptyche/live/side_by_side.h"

namespace ptyche {

/// Which piece of an image, and what of it.
struct TileRequest {
  enum class What { phase, amplitude, coverage, trust };
  What what = What::phase;
  std::int64_t level = 0, row = 0, col = 0;  ///< halved so often; of the tile, in tiles
  bool without_ramp = false;                 ///< the phase without the plane that it follows
  SharedImage beside;  ///< the image that it is seen beside: its phase is turned to that one's
};

struct Tile {
  std::int64_t rows = 0, cols = 0;  ///< kViewTile at most, of an image
  std::string bytes;                ///< float32, row by row
};
using SharedTile = std::shared_ptr<const Tile>;
/// values (rows, cols)
SharedTile tile_of(const at::Tensor& values);

inline constexpr std::int64_t kViewTile = 256;

/// Of one image. Levels and tiles are made when they are first asked for, and kept up to a bound.
class ImagePyramid {
 public:
  explicit ImagePyramid(SharedImage image);
  const SharedImage& image() const { return image_; }

  /// Nothing where the image has no such tile.
  SharedTile tile(const TileRequest& request);

 private:
  using Key = std::tuple<TileRequest::What, std::int64_t, std::int64_t, std::int64_t, bool, bool>;
  struct Level {
    at::Tensor object, coverage, trust;  ///< trust may be undefined
  };
  Level level(std::int64_t number);
  PhasePlane plane(const TileRequest& request);
  SharedTile made(const TileRequest& request);

  SharedImage image_, beside_;
  std::vector<Level> levels_;
  std::optional<PhasePlane> ramp_, ramp_of_beside_, to_beside_;
  std::map<Key, SharedTile> tiles_;
};

/// Of the images that were asked for last; for any thread.
class ImagePyramids {
 public:
  SharedTile tile(const SharedImage& image, const TileRequest& request);

 private:
  std::mutex mutex_;
  std::vector<ImagePyramid> kept_;
};

}  // namespace ptyche
