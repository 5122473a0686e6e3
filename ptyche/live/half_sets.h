// How far the images of even and of odd patterns agree while a scan runs, worked out beside it.
#pragma once

#include <future>
#include <limits>

#include "ptyche/live/growing_canvas.h"

namespace ptyche {

/// Where the correlation of two images of one sample falls below half a bit, cycles per pixel; NaN
/// where too little is lit in both.
///   (object, coverage) of each, of one frame and shape
double half_set_crossing(const std::pair<at::Tensor, at::Tensor>& even,
                         const std::pair<at::Tensor, at::Tensor>& odd);

/// The frames wait only for the copy of a piece in the middle of the canvas.
class HalfSetLooks {
 public:
  /// Looks at the canvas where the last look has ended long enough ago, for it may take a part of
  /// the time only.
  void look(const GrowingCanvas& canvas, double now);
  /// Of the newest look that has ended; NaN before.
  double crossing() const { return crossing_; }

 private:
  std::future<double> under_way_;
  double crossing_ = std::numeric_limits<double>::quiet_NaN(), began_ = 0, next_ = 0;
};

}  // namespace ptyche
