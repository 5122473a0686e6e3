#include "ptyche/evaluate/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"

namespace ptyche {
namespace {

/// exp(2 pi i f x) of an axis's frequencies f (size) at places x, 0 for those above half a cycle a
/// new pixel: (places, size) complex128.
at::Tensor series_at(const at::Tensor& places, std::int64_t size, double ratio) {
  const at::Tensor frequency = at::fft_fftfreq(size, 1.0, at::kDouble);
  const at::Tensor held = frequency.abs().le(0.5 / std::max(ratio, 1.0)).to(at::kDouble);
  const at::Tensor angle = 2 * std::numbers::pi * places.unsqueeze(1) * frequency;
  return at::polar(held.expand_as(angle).contiguous(), angle);
}

at::Tensor places_along(std::int64_t size, double ratio, double first) {
  const auto count = static_cast<std::int64_t>(
                         std::floor((static_cast<double>(size - 1) - first) / ratio + 1e-9)) +
                     1;
  return first + ratio * at::arange(std::max<std::int64_t>(count, 0), at::kDouble);
}

at::Tensor nearest_pixels(const at::Tensor& places, std::int64_t size) {
  return places.round().to(at::kLong).clamp(0, size - 1);
}

}  // namespace

at::Tensor resampled(const at::Tensor& image, double ratio, const std::array<double, 2>& first) {
  const at::Tensor spectrum = at::fft_fft2(image.to(at::kComplexDouble));
  const auto series = [&](std::int64_t axis) {
    const std::int64_t size = image.size(axis);
    return series_at(places_along(size, ratio, first[static_cast<std::size_t>(axis)]), size, ratio);
  };
  return series(0).mm(spectrum).mm(series(1).t()) / static_cast<double>(image.numel());
}

Reconstruction with_pixels(const Reconstruction& image, double pixel_m) {
  const double ratio = pixel_m / image.geometry.object_pixel_m;
  const auto origin = [&](std::int64_t of) { return static_cast<double>(of) / ratio; };
  const double row = std::ceil(origin(image.origin_row)), col = std::ceil(origin(image.origin_col));
  const std::array<double, 2> first{(row - origin(image.origin_row)) * ratio,
                                    (col - origin(image.origin_col)) * ratio};
  Reconstruction fine = image;
  fine.object = resampled(image.projection(), ratio, first).unsqueeze(0);
  fine.origin_row = static_cast<std::int64_t>(row);
  fine.origin_col = static_cast<std::int64_t>(col);
  fine.geometry.object_pixel_m = pixel_m;
  if (!image.coverage.defined()) return fine;
  for (const std::int64_t axis : {0, 1}) {
    const std::int64_t size = image.object.size(axis + 1);
    const double begin = first[static_cast<std::size_t>(axis)];
    fine.coverage =
        fine.coverage.index_select(axis, nearest_pixels(places_along(size, ratio, begin), size));
  }
  return fine;
}

namespace {

// Errors over contrast: what fits is not asked, and what is found must be an image of the sample.
constexpr double kFits = 0.5, kFarBetter = 0.6, kAnImage = 0.8;
constexpr std::int64_t kSmall = 256;  // px, of images by which the ways are ranked
constexpr std::int64_t kWindow = 16;

/// Transposed first, then rows and columns reversed.
struct Way {
  bool conjugate = false, transpose = false, reverse_rows = false, reverse_cols = false;
  bool exchange_halves = false;
  double ratio = 1;  // of the pixels
};

at::Tensor laid(const at::Tensor& image, const Way& way) {
  at::Tensor view = way.transpose ? image.t() : image;
  if (way.reverse_rows) view = view.flip(0);
  if (way.reverse_cols) view = view.flip(1);
  if (way.exchange_halves) view = view.roll({view.size(0) / 2, view.size(1) / 2}, {0, 1});
  if (way.ratio != 1) view = resampled(view, way.ratio, {0, 0});
  return (way.conjugate ? view.conj() : view).resolve_conj().contiguous();
}

std::string turn_in_words(const Way& way) {
  const bool both = way.reverse_rows && way.reverse_cols;
  if (way.transpose)
    return both               ? "transposed about its other diagonal"
           : way.reverse_rows ? "turned by 90 degrees"
           : way.reverse_cols ? "turned by -90 degrees"
                              : "transposed";
  return both               ? "turned by 180 degrees"
         : way.reverse_rows ? "mirrored, its rows reversed"
                            : "mirrored, its columns reversed";
}

std::string in_words(const Way& way) {
  if (way.exchange_halves) return "moved by half of its size, its halves exchanged";
  if (way.ratio != 1)
    return fmt::format("with pixels {:.3g} times as large (is its object pixel another one?)",
                       1 / way.ratio);
  const bool turned = way.transpose || way.reverse_rows || way.reverse_cols;
  if (!turned) return "conjugated (the other sign of the phase)";
  if (!way.conjugate) return turn_in_words(way);
  const bool twin = !way.transpose && way.reverse_rows && way.reverse_cols;
  return "conjugated and " + turn_in_words(way) +
         (twin ? " (the twin, which gives the same patterns)" : "");
}

std::vector<Way> turns_and_signs() {
  std::vector<Way> ways;
  for (int bits = 1; bits < 16; ++bits)
    ways.push_back({.conjugate = (bits & 1) != 0,
                    .transpose = (bits & 8) != 0,
                    .reverse_rows = (bits & 2) != 0,
                    .reverse_cols = (bits & 4) != 0});
  ways.push_back({.exchange_halves = true});
  return ways;
}

std::vector<Way> other_pixels() {
  std::vector<Way> ways;
  for (const double ratio : {0.5, 2.0, 2.0 / 3, 1.5, 0.75, 4.0 / 3, 0.25, 4.0})
    ways.push_back({.ratio = ratio});
  return ways;
}

/// Means of k x k pixels.
at::Tensor shrunk(const at::Tensor& image, std::int64_t k) {
  const std::int64_t rows = image.size(0) / k, cols = image.size(1) / k;
  return image.narrow(0, 0, rows * k)
      .narrow(1, 0, cols * k)
      .reshape({rows, k, cols, k})
      .mean({1, 3})
      .to(at::kComplexDouble);
}

/// How well images that were shrunk alike fit each other, without the last digits.
class Ranking {
 public:
  Ranking(const at::Tensor& image, const at::Tensor& reference, const Window& window) {
    const std::int64_t largest =
        std::max({image.size(0), image.size(1), reference.size(0), reference.size(1)});
    const std::int64_t side = std::min(window.rows(), window.cols());
    const std::int64_t k =
        std::max<std::int64_t>(std::min((largest + kSmall - 1) / kSmall, side / kWindow), 1);
    image_ = shrunk(image, k);
    reference_ = shrunk(reference, k);
    window_ = {window.row_begin / k, window.row_begin / k + window.rows() / k, window.col_begin / k,
               window.col_begin / k + window.cols() / k};
  }

  double error_of(const Way& way) const {
    const at::Tensor view = laid(image_, way);
    if (view.size(0) < kWindow || view.size(1) < kWindow) return INFINITY;
    const Window wide = widened(window_, reference_.size(0), reference_.size(1), kFoundBy);
    const auto shift = coarse_shift(cut(reference_, wide).contiguous(), view);
    Gauge gauge{.shift_row_px = static_cast<double>(wide.row_begin + shift[0]),
                .shift_col_px = static_cast<double>(wide.col_begin + shift[1])};
    const at::Tensor target = cut(reference_, window_).contiguous();
    const auto ramp = coarse_ramp(target, move_image(view, gauge, window_));
    gauge.ramp_row_cycles_per_px = ramp[0];
    gauge.ramp_col_cycles_per_px = ramp[1];
    const Alignment found = realign_known(false, reference_, view, window_, gauge, kEnough);
    return nrmse_contrast(found.truth, found.aligned);
  }

 private:
  static constexpr double kEnough = 0.05;
  at::Tensor image_, reference_;
  Window window_;
};

std::optional<OtherView> best_of(const std::vector<Way>& ways, const Ranking& ranking,
                                 const at::Tensor& image, const at::Tensor& reference,
                                 const Window& window, double error) {
  std::vector<double> errors;
  for (const Way& way : ways) errors.push_back(ranking.error_of(way));
  const auto best = std::ranges::min_element(errors);
  if (!(*best < kAnImage)) return std::nullopt;
  const Way& way = ways[static_cast<std::size_t>(best - errors.begin())];
  const Alignment found = align(reference, laid(image, way).to(at::kComplexDouble), window);
  const double left = nrmse_contrast(found.truth, found.aligned);
  if (left > kFarBetter * error || left > kAnImage) return std::nullopt;
  return OtherView{in_words(way), left};
}

}  // namespace

std::optional<OtherView> better_view(const at::Tensor& image, const at::Tensor& reference,
                                     const Window& window, double error) {
  if (!(error > kFits)) return std::nullopt;
  const Ranking ranking(image, reference, window);
  if (auto found = best_of(turns_and_signs(), ranking, image, reference, window, error))
    return found;
  return best_of(other_pixels(), ranking, image, reference, window, error);
}

}  // namespace ptyche
