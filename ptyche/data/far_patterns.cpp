#include "ptyche/data/far_patterns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace ptyche {
namespace {

using Place = std::array<double, 2>;

/// The positions of one square of a grid, and the box around them.
struct Square {
  std::vector<std::int64_t> patterns;
  Place low{INFINITY, INFINITY}, high{-INFINITY, -INFINITY};

  void add(std::int64_t pattern, const Place& place) {
    patterns.push_back(pattern);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      low[axis] = std::min(low[axis], place[axis]);
      high[axis] = std::max(high[axis], place[axis]);
    }
  }
  bool near(const Square& other, double reach) const {
    return low[0] - other.high[0] < reach && other.low[0] - high[0] < reach &&
           low[1] - other.high[1] < reach && other.low[1] - high[1] < reach;
  }
};

/// Squares with sides of `reach`: those in one are near each other.
class Squares {
 public:
  Squares(const at::Tensor& positions, double reach) : reach_(reach) {
    const at::Tensor places = positions.to(at::kDouble).contiguous();
    const auto* place = reinterpret_cast<const Place*>(places.const_data_ptr());
    for (std::int64_t i = 0; i < places.size(0); ++i)
      squares_[{std::floor(place[i][0] / reach), std::floor(place[i][1] / reach)}].add(i, place[i]);
  }

  std::vector<at::Tensor> parts() {
    std::vector<at::Tensor> all;
    while (!squares_.empty()) {
      std::vector<std::int64_t> part = take_part();
      std::sort(part.begin(), part.end());
      all.push_back(at::tensor(part, at::kLong));
    }
    std::stable_sort(all.begin(), all.end(), [](const at::Tensor& a, const at::Tensor& b) {
      return a.size(0) > b.size(0);
    });
    return all;
  }

 private:
  /// Those of some square and of all that can be reached from it, which are left no more.
  std::vector<std::int64_t> take_part() {
    std::vector<std::int64_t> part;
    std::vector<std::pair<Place, Square>> open;
    const auto take = [&](std::map<Place, Square>::iterator which) {
      open.emplace_back(which->first, std::move(which->second));
      squares_.erase(which);
    };
    take(squares_.begin());
    while (!open.empty()) {
      const auto [at, square] = std::move(open.back());
      open.pop_back();
      part.insert(part.end(), square.patterns.begin(), square.patterns.end());
      for (double down = -1; down <= 1; ++down)
        for (double across = -1; across <= 1; ++across) {
          const auto beside = squares_.find({at[0] + down, at[1] + across});
          if (beside != squares_.end() && square.near(beside->second, reach_)) take(beside);
        }
    }
    return part;
  }

  double reach_;
  std::map<Place, Square> squares_;
};

}  // namespace

std::vector<at::Tensor> parts_without_overlap(const at::Tensor& positions, double reach) {
  return Squares(positions, reach).parts();
}

at::Tensor far_patterns(const std::vector<at::Tensor>& parts) {
  const std::int64_t all =
      std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                      [](std::int64_t sum, const at::Tensor& part) { return sum + part.size(0); });
  const double few = kFewFarAway * static_cast<double>(all);
  std::vector<at::Tensor> far;
  std::int64_t count = 0;
  for (const at::Tensor& part : parts)
    if (static_cast<double>(part.size(0)) < few) {
      far.push_back(part);
      count += part.size(0);
    }
  if (far.empty() || far.size() == parts.size() || static_cast<double>(count) > few)
    return at::empty({0}, at::kLong);
  return std::get<0>(at::cat(far).sort());
}

}  // namespace ptyche
