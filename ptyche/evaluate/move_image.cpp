#include "ptyche/evaluate/move_image.h"

#include <algorithm>
#include <cmath>

namespace ptyche {
namespace {

constexpr std::int64_t margin = 32;

/// One direction of the problem: the window and the margin around it, and where the image lies.
struct Axis {
  std::int64_t begin;       // image index of the cut's first pixel
  std::int64_t size;        // of the cut: the window and both margins
  std::int64_t held_begin;  // the part of the cut that lies in the image
  std::int64_t held_end;
  double rest;      // fraction of the shift that is left to Fourier interpolation
  at::Tensor ramp;  // exp(2 pi i k x) over the cut, 1 at the window's centre after the whole shift
  double frequency;

  Axis(std::int64_t window_begin, std::int64_t window_end, std::int64_t image_size, double shift,
       double cycles_per_px)
      : frequency(cycles_per_px) {
    const double whole = std::round(shift);
    rest = shift - whole;
    begin = window_begin - margin - static_cast<std::int64_t>(whole);
    size = window_end - window_begin + 2 * margin;
    held_begin = std::clamp<std::int64_t>(-begin, 0, size);
    held_end = std::clamp<std::int64_t>(image_size - begin, held_begin, size);
    ramp = phase(2 * M_PI * cycles_per_px * offsets());
  }

  /// Pixels of the cut, counted from the centre of the window.
  at::Tensor offsets() const {
    return at::arange(size, at::kDouble) - 0.5 * static_cast<double>(size);
  }

  static at::Tensor phase(const at::Tensor& angle) {
    return at::polar(at::ones_like(angle), angle);
  }

  /// 1 in the window, fading to 0 where the image or the margin ends; all derivatives continuous,
  /// so that a fade does not blur the interpolation.
  at::Tensor fade() const {
    const at::Tensor x = at::arange(size, at::kDouble) + 0.5;
    const auto rise = [](const at::Tensor& distance, std::int64_t length) {
      if (length <= 0) return distance.ge(0).to(at::kDouble);
      const at::Tensor t = (distance / static_cast<double>(length)).clamp(1e-3, 1 - 1e-3);
      return at::sigmoid(1 / (1 - t) - 1 / t);
    };
    return rise(x - static_cast<double>(held_begin), margin - held_begin) *
           rise(static_cast<double>(held_end) - x, held_end - (size - margin));
  }

  /// Fourier factors of the remaining shift, with the ramp's part that a shift of the ramped image
  /// has lost put back.
  at::Tensor shift_factors() const {
    return phase(2 * M_PI * rest * (frequency - at::fft_fftfreq(size, 1.0, at::kDouble)));
  }
};

struct Cut {
  Axis row, col;
  at::Tensor spectrum;  // of the ramped and faded cut, moved by the rest of the shift
};

/// The cut with zeros where it leaves the image, times the ramp.
at::Tensor ramped_cut(const at::Tensor& image, const Axis& row, const Axis& col) {
  at::Tensor cut = at::zeros({row.size, col.size}, at::kComplexDouble);
  const std::int64_t rows = row.held_end - row.held_begin, cols = col.held_end - col.held_begin;
  if (rows > 0 && cols > 0)
    cut.narrow(0, row.held_begin, rows)
        .narrow(1, col.held_begin, cols)
        .copy_(image.narrow(0, row.begin + row.held_begin, rows)
                   .narrow(1, col.begin + col.held_begin, cols));
  return cut * row.ramp.unsqueeze(1) * col.ramp;
}

/// How many of the window's pixels along an axis lie in the image.
std::int64_t held_in_window(const Axis& axis) {
  const std::int64_t last = axis.size - margin;
  return std::clamp(axis.held_end, margin, last) - std::clamp(axis.held_begin, margin, last);
}

at::Tensor inner(const at::Tensor& cut) {
  return cut.narrow(-2, margin, cut.size(-2) - 2 * margin)
      .narrow(-1, margin, cut.size(-1) - 2 * margin);
}

Cut cut_under(const at::Tensor& image, const Gauge& gauge, const Window& window) {
  const Axis row(window.row_begin, window.row_end, image.size(0), gauge.shift_row_px,
                 gauge.ramp_row_cycles_per_px);
  const Axis col(window.col_begin, window.col_end, image.size(1), gauge.shift_col_px,
                 gauge.ramp_col_cycles_per_px);
  const at::Tensor cut = ramped_cut(image, row, col);
  const std::int64_t held = held_in_window(row) * held_in_window(col);
  const at::Tensor level = inner(cut).sum() / static_cast<double>(std::max<std::int64_t>(held, 1));
  const at::Tensor faded = level + (cut - level) * row.fade().unsqueeze(1) * col.fade();
  const at::Tensor factors = row.shift_factors().unsqueeze(1) * col.shift_factors();
  return {row, col, at::fft_fft2(faded) * factors};
}

}  // namespace

at::Tensor move_image(const at::Tensor& image, const Gauge& gauge, const Window& window) {
  return inner(at::fft_ifft2(cut_under(image, gauge, window).spectrum)).contiguous();
}

MovedImage move_image_with_derivatives(const at::Tensor& image, const Gauge& gauge,
                                       const Window& window) {
  const Cut cut = cut_under(image, gauge, window);
  const c10::complex<double> two_pi_i(0, 2 * M_PI);
  const at::Tensor along_rows = at::fft_fftfreq(cut.row.size, 1.0, at::kDouble).unsqueeze(1);
  const at::Tensor along_cols = at::fft_fftfreq(cut.col.size, 1.0, at::kDouble);
  const at::Tensor slopes =
      at::stack({cut.spectrum, cut.spectrum * along_rows, cut.spectrum * along_cols});
  const at::Tensor moved = inner(at::fft_ifft2(slopes));
  const at::Tensor value = moved[0].contiguous();
  const at::Tensor y = cut.row.offsets().narrow(0, margin, value.size(0)).unsqueeze(1);
  const at::Tensor x = cut.col.offsets().narrow(0, margin, value.size(1));
  return {value, at::stack({moved[1] * -two_pi_i, moved[2] * -two_pi_i, value * y * two_pi_i,
                            value * x * two_pi_i})};
}

}  // namespace ptyche
