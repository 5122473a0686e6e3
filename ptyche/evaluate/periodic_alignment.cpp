#include "ptyche/evaluate/periodic_alignment.h"

#include <cmath>

namespace ptyche {
namespace {

/// One direction of a gauge.
struct PeriodicAxis {
  std::int64_t size;
  double shift, ramp, centre;  // centre: of the window

  double whole() const { return std::round(shift); }
  at::Tensor index() const { return at::arange(size, at::kDouble); }
  static at::Tensor phase(const at::Tensor& turns) {
    return at::polar(at::ones_like(turns), 2 * M_PI * turns);
  }
  /// The ramp on the image before it is moved.
  at::Tensor ramp_factors() const { return phase(ramp * (index() + shift - centre)); }
  at::Tensor shift_factors() const {
    return phase((whole() - shift) * at::fft_fftfreq(size, 1.0, at::kDouble));
  }
};

/// The whole image under the gauge but for its scale and the whole pixels of its shift.
at::Tensor moved(const at::Tensor& image, const Gauge& gauge, const Window& window) {
  const PeriodicAxis row{image.size(0), gauge.shift_row_px, gauge.ramp_row_cycles_per_px,
                         0.5 * static_cast<double>(window.row_begin + window.row_end)};
  const PeriodicAxis col{image.size(1), gauge.shift_col_px, gauge.ramp_col_cycles_per_px,
                         0.5 * static_cast<double>(window.col_begin + window.col_end)};
  const at::Tensor ramped = image * row.ramp_factors().unsqueeze(1) * col.ramp_factors();
  return at::fft_ifft2(at::fft_fft2(ramped) * row.shift_factors().unsqueeze(1) *
                       col.shift_factors());
}

/// The gauge that first does `first` and then what `then` adds to its whole pixels.
Gauge composed(const Gauge& first, const Gauge& then) {
  const double rows = then.shift_row_px - std::round(first.shift_row_px);
  const double cols = then.shift_col_px - std::round(first.shift_col_px);
  const double turns = first.ramp_row_cycles_per_px * rows + first.ramp_col_cycles_per_px * cols;
  return {first.shift_row_px + rows, first.shift_col_px + cols,
          first.ramp_row_cycles_per_px + then.ramp_row_cycles_per_px,
          first.ramp_col_cycles_per_px + then.ramp_col_cycles_per_px,
          then.scale * std::polar(1.0, -2 * M_PI * turns)};
}

bool inside(const Window& window, const at::Tensor& image, const Gauge& gauge) {
  const double row = std::round(gauge.shift_row_px), col = std::round(gauge.shift_col_px);
  return static_cast<double>(window.row_begin) >= row &&
         static_cast<double>(window.col_begin) >= col &&
         static_cast<double>(window.row_end) <= row + static_cast<double>(image.size(0)) &&
         static_cast<double>(window.col_end) <= col + static_cast<double>(image.size(1));
}

double error_of(const Alignment& alignment) {
  return (alignment.truth - alignment.aligned).norm().item<double>();
}

/// One round: the image moved as `start` says, and the little that this leaves fitted.
Alignment once_more(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                    const Gauge& start) {
  Gauge whole;
  whole.shift_row_px = std::round(start.shift_row_px);
  whole.shift_col_px = std::round(start.shift_col_px);
  Alignment round = realign(truth, moved(image, start, window), window, whole);
  round.gauge = composed(start, round.gauge);
  return round;
}

}  // namespace

Alignment or_periodic(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                      const Alignment& found) {
  constexpr int most_rounds = 8;
  if (!inside(window, image, found.gauge)) return found;
  Alignment best = found;
  // The fade's error is proportional to the little that is left to fit, so rounds converge fast.
  for (int round = 0; round < most_rounds; ++round) {
    const Alignment next = once_more(truth, image, window, best.gauge);
    const double gained = error_of(best) - error_of(next);
    if (gained <= 0) break;
    const bool settled = gained < 1e-3 * error_of(best);
    best = next;
    if (settled) break;
  }
  return best;
}

}  // namespace ptyche
