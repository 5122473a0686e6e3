#include "ptyche/evaluate/align.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/image_error.h"

namespace ptyche {
namespace {

constexpr std::int64_t kMargin = 32;
const c10::complex<double> kTwoPiI(0, 2 * M_PI);

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
    begin = window_begin - kMargin - static_cast<std::int64_t>(whole);
    size = window_end - window_begin + 2 * kMargin;
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
    return rise(x - static_cast<double>(held_begin), kMargin - held_begin) *
           rise(static_cast<double>(held_end) - x, held_end - (size - kMargin));
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
  const std::int64_t last = axis.size - kMargin;
  return std::clamp(axis.held_end, kMargin, last) - std::clamp(axis.held_begin, kMargin, last);
}

at::Tensor inner(const at::Tensor& cut) {
  return cut.narrow(-2, kMargin, cut.size(-2) - 2 * kMargin)
      .narrow(-1, kMargin, cut.size(-1) - 2 * kMargin);
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
  const auto slopes = [](std::int64_t size) {
    return kTwoPiI * -at::fft_fftfreq(size, 1.0, at::kDouble);
  };
  const auto back = [](const at::Tensor& spectrum) {
    return inner(at::fft_ifft2(spectrum)).contiguous();
  };
  return {back(cut.spectrum), back(cut.spectrum * slopes(cut.row.size).unsqueeze(1)),
          back(cut.spectrum * slopes(cut.col.size)), cut.row.offsets().slice(0, kMargin, -kMargin),
          cut.col.offsets().slice(0, kMargin, -kMargin)};
}

namespace {

/// Times sin(pi x)^power along rows and columns, 0 < x < 1 at pixel centres.
void fade_out(at::Tensor& field, double power) {
  const auto along = [&](std::int64_t size) {
    const at::Tensor x = (at::arange(size, at::kDouble) + 0.5) / static_cast<double>(size);
    return (M_PI * x).sin().pow(power);
  };
  field.mul_(along(field.size(0)).unsqueeze(1)).mul_(along(field.size(1)));
}

/// Products of neighbours, mean free and faded out at the borders, complex64: they tell whole
/// pixels.
at::Tensor edge_image(const at::Tensor& image, std::int64_t down, std::int64_t right) {
  const std::int64_t rows = image.size(0) - 1, cols = image.size(1) - 1;
  const at::Tensor here = image.narrow(0, 0, rows).narrow(1, 0, cols).conj();
  at::Tensor product = image.narrow(0, down, rows).narrow(1, right, cols) * here;
  product.sub_(product.mean());
  fade_out(product, 0.5);
  return product.to(at::kComplexFloat);
}

/// The mean of each 2 x 2 pixels.
at::Tensor halved(const at::Tensor& image) {
  const std::int64_t rows = image.size(0) / 2, cols = image.size(1) / 2;
  return image.narrow(0, 0, 2 * rows)
      .narrow(1, 0, 2 * cols)
      .reshape({rows, 2, cols, 2})
      .mean({1, 3});
}

/// coarse_shift of images that have been made smaller by `scale`, 1 or 2, in their pixels.
std::array<std::int64_t, 2> edge_shift(const at::Tensor& part, const at::Tensor& image, int scale) {
  const auto edges = [&](const at::Tensor& of, std::int64_t down) {
    const at::Tensor edge = edge_image(of, down, 1 - down);
    return scale == 1 ? edge : halved(edge);
  };
  const std::array<std::int64_t, 2> size{(part.size(0) + image.size(0)) / scale,
                                         (part.size(1) + image.size(1)) / scale};
  at::Tensor agreement = at::zeros({size[0], size[1]}, at::kFloat);
  for (const std::int64_t down : {1, 0}) {
    at::Tensor product = at::fft_fft2(edges(part, down), size);
    product.mul_(at::fft_fft2(edges(image, down), size).conj());
    agreement += at::fft_ifft2(product).abs().square();
  }
  std::array<std::int64_t, 2> shift = peak_of(agreement);
  for (const std::size_t k : {0, 1})
    if (shift[k] >= part.size(static_cast<std::int64_t>(k)) / scale) shift[k] -= size[k];
  return shift;
}

/// The shift to a pixel where it is known to two, by the middle of `part`.
std::array<std::int64_t, 2> finer_shift(const at::Tensor& part, const at::Tensor& image,
                                        std::array<std::int64_t, 2> shift) {
  constexpr std::int64_t kMiddle = 256, kAround = 8, kLeast = 32, kTrusted = 3;
  at::Tensor middle = part, there = image;
  std::array<std::int64_t, 2> begin{};  // of what is compared: in the part less in the image
  for (const std::int64_t axis : {0, 1}) {
    const auto k = static_cast<std::size_t>(axis);
    const std::int64_t length = std::min(kMiddle, part.size(axis));
    const std::int64_t first = (part.size(axis) - length) / 2;
    const std::int64_t low = std::max<std::int64_t>(first - shift[k] - kAround, 0);
    const std::int64_t high = std::min(first + length - shift[k] + kAround, image.size(axis));
    if (high - low < kLeast) return shift;
    middle = middle.narrow(axis, first, length);
    there = there.narrow(axis, low, high - low);
    begin[k] = first - low;
  }
  std::array<std::int64_t, 2> finer = edge_shift(middle, there, 1);
  for (const std::size_t k : {0, 1}) {
    finer[k] += begin[k];
    if (std::abs(finer[k] - shift[k]) > kTrusted) return shift;  // nothing there to be found by
  }
  return finer;
}

}  // namespace

std::array<std::int64_t, 2> peak_of(const at::Tensor& values) {
  const std::int64_t flat = values.argmax().item<std::int64_t>();
  return {flat / values.size(1), flat % values.size(1)};
}

Window widened(const Window& window, std::int64_t rows, std::int64_t cols, std::int64_t around) {
  return {std::max<std::int64_t>(window.row_begin - around, 0),
          std::min(window.row_end + around, rows),
          std::max<std::int64_t>(window.col_begin - around, 0),
          std::min(window.col_end + around, cols)};
}

std::array<std::int64_t, 2> coarse_shift(const at::Tensor& part, const at::Tensor& image) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 22;  // pixels of the correlation
  constexpr std::int64_t kLeast = 256;                    // px of a side that half of it tells
  const bool large = (part.size(0) + image.size(0)) * (part.size(1) + image.size(1)) > kLarge;
  if (!large || std::min({part.size(0), part.size(1), image.size(0), image.size(1)}) < kLeast)
    return edge_shift(part, image, 1);
  const auto halves = edge_shift(part, image, 2);
  return finer_shift(part, image, {2 * halves[0], 2 * halves[1]});
}

namespace {

/// exp(-2 pi i f n) for the frequencies f (cycles per pixel) and n = 0..size - 1.
at::Tensor waves_of(const at::Tensor& frequencies, std::int64_t size) {
  const at::Tensor turns = frequencies.unsqueeze(1) * at::arange(size, at::kDouble);
  return at::polar(at::ones_like(turns), -2 * std::numbers::pi * turns);
}

}  // namespace

std::array<double, 2> strongest_frequency(const at::Tensor& field, std::int64_t padding) {
  // A peak between two frequencies is seen as well as one on them where the field is padded twice;
  // around it the rest is done without a transform of the whole.
  const std::int64_t first = std::min<std::int64_t>(padding, 2);
  const std::vector<std::int64_t> size{first * field.size(0), first * field.size(1)};
  const std::array<std::int64_t, 2> bin = peak_of(at::fft_fft2(field, size).abs());
  const at::Tensor near = at::arange(-padding, padding + 1, at::kDouble) *
                          (static_cast<double>(first) / static_cast<double>(padding));
  const auto around = [&](std::size_t axis) {
    return (static_cast<double>(bin[axis]) + near) / static_cast<double>(size[axis]);
  };
  const at::Tensor rows = waves_of(around(0), field.size(0)).to(field.scalar_type()),
                   cols = waves_of(around(1), field.size(1)).to(field.scalar_type());
  const std::array<std::int64_t, 2> peak = peak_of(rows.mm(field).mm(cols.t()).abs());
  std::array<double, 2> frequency{};
  for (const std::size_t axis : {0, 1}) {
    frequency[axis] = around(axis)[peak[axis]].item<double>();
    frequency[axis] -= std::floor(frequency[axis] + 0.5);
  }
  return frequency;
}

std::array<double, 2> coarse_ramp(const at::Tensor& truth, const at::Tensor& image) {
  at::Tensor field = truth * image.conj();
  fade_out(field, 2);
  return strongest_frequency(field, 4);
}

namespace {

void require_comparable(const at::Tensor& truth, const at::Tensor& image, const Window& window) {
  require(truth.dim() == 2 && image.dim() == 2 && image.size(0) >= 2 && image.size(1) >= 2,
          "alignment: expected two images (rows, cols), found {} and {} dimensions", truth.dim(),
          image.dim());
  require(window.row_begin >= 0 && window.col_begin >= 0 && window.row_end <= truth.size(0) &&
              window.col_end <= truth.size(1) && window.rows() >= 8 && window.cols() >= 8,
          "alignment: expected a window of at least 8 x 8 pixels inside the truth of {} x {}, "
          "found rows {}..{}, columns {}..{}",
          truth.size(0), truth.size(1), window.row_begin, window.row_end, window.col_begin,
          window.col_end);
}

/// The truth's pixel on which the image's pixel (0, 0) falls where their edges agree best.
std::array<std::int64_t, 2> found_place(const at::Tensor& truth, const at::Tensor& image,
                                        const Window& window) {
  const Window wide = widened(window, truth.size(0), truth.size(1), kFoundBy);
  const auto shift = coarse_shift(cut(truth, wide), image);
  return {wide.row_begin + shift[0], wide.col_begin + shift[1]};
}

/// The image at that place, and the ramp that fits there.
Gauge coarse_gauge(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                   const std::array<std::int64_t, 2>& place) {
  Gauge gauge;
  gauge.shift_row_px = static_cast<double>(place[0]);
  gauge.shift_col_px = static_cast<double>(place[1]);
  const auto ramp = coarse_ramp(cut(truth, window), move_image(image, gauge, window));
  gauge.ramp_row_cycles_per_px = ramp[0];
  gauge.ramp_col_cycles_per_px = ramp[1];
  return gauge;
}

/// The root of the sum of squares of `image` (rows, cols) complex128. LibTorch's takes the
/// amplitude of each pixel first, which is most of the time of an alignment.
double norm_of(const at::Tensor& image) {
  const at::Tensor parts = at::view_as_real(image.contiguous()).flatten();
  return std::sqrt(parts.dot(parts).item<double>());
}

/// The complex factor c that makes |truth - c moved| least; 0 where the moved image is dark.
c10::complex<double> best_scale(const at::Tensor& truth, const at::Tensor& moved) {
  const double norm = norm_of(moved);
  if (norm == 0) return 0;
  return at::vdot(moved.flatten(), truth.flatten()).item<c10::complex<double>>() / (norm * norm);
}

/// The truth in its window, times the roots of its pixels' weights (undefined = 1).
struct Wanted {
  at::Tensor truth, root;
  Window window;

  at::Tensor weighed(const at::Tensor& images) const {
    return root.defined() ? images * root : images;
  }
};

/// A gauge with the best scale for its shift and ramp, and what remains.
struct Fit {
  Gauge gauge;
  double error = 0;  // |truth - aligned|
};

Fit fit_scale(const Wanted& wanted, const at::Tensor& image, Gauge gauge) {
  const at::Tensor moved = wanted.weighed(move_image(image, gauge, wanted.window));
  const c10::complex<double> scale = best_scale(wanted.truth, moved);
  gauge.scale = {scale.real(), scale.imag()};
  return {gauge, norm_of(wanted.truth - moved * scale)};
}

/// J^H J (6, 6) and J^H r (6), float64, of the Jacobian J of what is left, r.
struct NormalEquations {
  at::Tensor matrix = at::zeros({6, 6}, at::kDouble), right = at::zeros({6}, at::kDouble);

  /// Of rows first..: the image by shift (row, col) and ramp (row, col), and by both parts of the
  /// scale, so that the step is that of the projected problem.
  void add(const Wanted& wanted, const MovedImage& moved, c10::complex<double> scale,
           std::int64_t first, std::int64_t count) {
    const auto rows = [&](const at::Tensor& of) { return of.narrow(0, first, count); };
    const auto weighed = [&](const at::Tensor& of) {
      return wanted.root.defined() ? rows(of) * rows(wanted.root) : rows(of);
    };
    const at::Tensor value = weighed(moved.value), turned = value * (kTwoPiI * scale);
    const at::Tensor columns =
        at::stack({weighed(moved.by_row) * scale, weighed(moved.by_col) * scale,
                   turned * rows(moved.y).unsqueeze(1), turned * moved.x, value,
                   value * c10::complex<double>(0, 1)})
            .flatten(1);
    const at::Tensor left = (rows(wanted.truth) - value * scale).flatten();
    matrix += at::real(at::matmul(columns.conj(), columns.t()));
    right += at::real(at::mv(columns.conj(), left));
  }
};

/// Gauss-Newton step of (shift_row, shift_col, ramp_row, ramp_col): (4) float64.
at::Tensor gauss_newton_step(const Wanted& wanted, const at::Tensor& image, const Gauge& gauge) {
  constexpr std::int64_t kPixelsAtOnce = std::int64_t{1} << 18;
  const MovedImage moved = move_image_with_derivatives(image, gauge, wanted.window);
  const std::int64_t rows = moved.value.size(0);
  const std::int64_t together = std::max<std::int64_t>(kPixelsAtOnce / moved.value.size(1), 1);
  NormalEquations equations;
  for (std::int64_t first = 0; first < rows; first += together)
    equations.add(wanted, moved, {gauge.scale.real(), gauge.scale.imag()}, first,
                  std::min(together, rows - first));
  const at::Tensor norms =
      equations.matrix.diag().sqrt().clamp_min(1e-12 * norm_of(wanted.truth) + 1e-300);
  // A flat image has no slope to shift by: the ridge keeps such columns from being solved for.
  const at::Tensor normal =
      equations.matrix / at::outer(norms, norms) + 1e-12 * at::eye(6, at::kDouble);
  return (at::linalg_solve(normal, equations.right / norms) / norms).narrow(0, 0, 4);
}

Gauge moved_by(Gauge gauge, const at::Tensor& step, double length) {
  gauge.shift_row_px += length * step[0].item<double>();
  gauge.shift_col_px += length * step[1].item<double>();
  gauge.ramp_row_cycles_per_px += length * step[2].item<double>();
  gauge.ramp_col_cycles_per_px += length * step[3].item<double>();
  return gauge;
}

/// The first of the step, its half, quarter, ... that lessens the error; nothing if none does.
std::optional<Fit> improved(const Wanted& wanted, const at::Tensor& image, const Fit& fit) {
  const at::Tensor step = gauss_newton_step(wanted, image, fit.gauge);
  for (double length = 1; length > 1e-4; length /= 2) {
    const Fit tried = fit_scale(wanted, image, moved_by(fit.gauge, step, length));
    if (tried.error < fit.error) return tried;
  }
  return std::nullopt;
}

double error_of(const Alignment& alignment) { return norm_of(alignment.truth - alignment.aligned); }

/// A constant image: the best constant for the truth, which is its mean; 0 if the image is dark.
/// Of the image one pixel is looked at.
Alignment scaled_constant(const at::Tensor& truth, const at::Tensor& image) {
  Gauge gauge;
  const at::Tensor value = image[0][0].to(at::kComplexDouble);
  const auto level = value.item<c10::complex<double>>();
  const bool dark = level == c10::complex<double>(0, 0);
  const auto scale = dark ? level : truth.mean().item<c10::complex<double>>() / level;
  gauge.scale = {scale.real(), scale.imag()};
  return {(value * scale).expand_as(truth).contiguous(), truth, gauge, image, gauge};
}

}  // namespace

at::Tensor without_bright_pixels(const at::Tensor& object) {
  constexpr double kBright = 4;
  const at::Tensor amplitude = object.abs();
  const double most = kBright * amplitude.median().item<double>() + 1e-9;
  return object * (most / amplitude.clamp_min(most));
}

Alignment realign(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                  const Gauge& start, double enough, const at::Tensor& weights) {
  require_comparable(truth, image, window);
  return realign_known(is_constant(image), truth, image, window, start, enough, weights);
}

Alignment realign_known(bool constant, const at::Tensor& truth, const at::Tensor& image,
                        const Window& window, const Gauge& start, double enough,
                        const at::Tensor& weights) {
  require_comparable(truth, image, window);
  const at::Tensor target = cut(truth, window).to(at::kComplexDouble).contiguous();
  if (constant) return scaled_constant(target, image);
  Wanted wanted{target, {}, window};
  if (weights.defined()) {
    wanted.root = weights.sqrt();
    wanted.truth = target * wanted.root;
  }
  const double least = enough * norm_of(wanted.truth);
  Fit fit = fit_scale(wanted, image, start);
  for (int iteration = 0; iteration < 60; ++iteration) {
    const std::optional<Fit> better = improved(wanted, image, fit);
    if (!better) break;
    const bool settled = fit.error - better->error < least;
    fit = *better;
    if (settled) break;
  }
  const c10::complex<double> scale(fit.gauge.scale.real(), fit.gauge.scale.imag());
  return {move_image(image, fit.gauge, window) * scale, target, fit.gauge, image, fit.gauge};
}

Alignment align(const at::Tensor& truth, const at::Tensor& image, const Window& window,
                const std::optional<std::array<std::int64_t, 2>>& place) {
  require_comparable(truth, image, window);
  if (is_constant(image)) return realign_known(true, truth, image, window, {});
  const auto from = [&](const std::array<std::int64_t, 2>& start) {
    return realign_known(false, truth, image, window, coarse_gauge(truth, image, window, start));
  };
  const std::array<std::int64_t, 2> found = found_place(truth, image, window);
  Alignment best = from(found);
  if (place && *place != found)
    if (Alignment said = from(*place); error_of(said) < error_of(best)) best = said;
  return or_periodic(truth, image, window, best);
}

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
  const at::Tensor spectrum = at::fft_fft2(ramped);
  spectrum.mul_(row.shift_factors().unsqueeze(1)).mul_(col.shift_factors());
  return at::fft_ifft2(spectrum);
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
  constexpr int kMostRounds = 8;
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 21;
  if (image.numel() > kMostPixels || !inside(window, image, found.gauge)) return found;
  Alignment best = found;
  // The fade's error is proportional to the little that is left to fit, so rounds converge fast.
  for (int round = 0; round < kMostRounds; ++round) {
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
