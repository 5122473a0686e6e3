#include "ptyche/live/half_sets.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/live/board.h"

namespace ptyche {
namespace {

constexpr double kEverySeconds = 2, kShare = 0.2;  // of one core
constexpr std::int64_t kLargestPiece_px = 384;

/// The middle half of a canvas, or of a large one a piece of it.
Window piece_of(const Window& extent) {
  const auto middle = [](std::int64_t begin, std::int64_t end) {
    const std::int64_t length = std::min((end - begin + 1) / 2, kLargestPiece_px);
    const std::int64_t first = begin + (end - begin - length) / 2;
    return std::pair{first, first + length};
  };
  const auto [top, bottom] = middle(extent.row_begin, extent.row_end);
  const auto [left, right] = middle(extent.col_begin, extent.col_end);
  return {top, bottom, left, right};
}

}  // namespace

double half_set_crossing(const std::pair<at::Tensor, at::Tensor>& even,
                         const std::pair<at::Tensor, at::Tensor>& odd) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const Silence silence;
  try {
    const at::Tensor lit = at::minimum(even.second, odd.second).gt(kLitToJudge);
    const Window window = lit_part({0, lit.size(0), 0, lit.size(1)}, lit);
    if (!large_enough(window)) return unknown;
    const Alignment found = align(even.first, odd.first, window, std::array<std::int64_t, 2>{0, 0});
    return half_bit_crossing(fourier_ring_correlation(found.truth, found.aligned));
  } catch (const InvalidInput&) {
    return unknown;
  }
}

void HalfSetLooks::look(const GrowingCanvas& canvas, double now) {
  if (under_way_.valid()) {
    if (under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    crossing_ = under_way_.get();
    next_ = std::max(began_ + kEverySeconds, now + (now - began_) * (1 / kShare - 1));
  }
  if (canvas.empty() || now < next_) return;
  began_ = now;
  const Window piece = piece_of(canvas.extent());
  under_way_ =
      std::async(std::launch::async, [even = canvas.picture(GrowingCanvas::Half::even, piece),
                                      odd = canvas.picture(GrowingCanvas::Half::odd, piece)] {
        work_on_one_thread();
        return half_set_crossing(even, odd);
      });
}

}  // namespace ptyche
