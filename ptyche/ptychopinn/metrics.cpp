#include "ptyche/ptychopinn/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"

namespace ptyche {
namespace {

constexpr std::int64_t kWindowPx = 7;
constexpr double kNotDefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastRange = 1e-6;  // what a truth in float32 can tell from none

/// One real quantity of both images, (n, n) float64.
struct Pair {
  at::Tensor truth, image;

  template <typename Change>
  Pair changed(const Change& change) const {
    return {change(truth), change(image)};
  }
  at::Tensor error() const { return image - truth; }
};

Pair amplitudes(const Pair& objects) {
  const Pair plain = objects.changed([](const at::Tensor& object) { return object.abs(); });
  return {plain.truth, plain.image * (plain.truth.mean() / plain.image.mean())};
}

at::Tensor centred_index(std::int64_t size) {
  return at::arange(size, at::kDouble) - 0.5 * static_cast<double>(size - 1);
}

Pair phases(const Pair& objects, PhaseAlignment alignment) {
  return objects.changed([alignment](const at::Tensor& object) {
    const at::Tensor phase = object.angle();
    return alignment == PhaseAlignment::plane ? without_plane(phase) : phase - phase.mean();
  });
}

/// (-pi, pi) to (0, 1).
at::Tensor as_unit(const at::Tensor& phase) { return (phase + M_PI) / (2 * M_PI); }

SsimWindow uniform_window() {
  constexpr double pixels = kWindowPx * kWindowPx;
  return {at::full({kWindowPx}, 1.0 / kWindowPx, at::kDouble), pixels / (pixels - 1)};
}

at::Tensor blurred(const at::Tensor& values, double sigma) {
  return sigma > 0 ? gaussian_filter(values, sigma) : values;
}

double factor_of(double similarity) {
  if (std::isnan(similarity)) return 0;
  return similarity < 0 ? 1e-4 : similarity;
}

double ms_ssim(Pair values) {
  constexpr std::array<double, 5> weights{.0448, .2856, .3001, .2363, .1333};
  const double range = std::max(range_of(values.truth), range_of(values.image));
  double product = range > 0 ? 1 : 0;  // 0 / 0 without a range
  for (const double weight : weights) {
    if (values.truth.size(0) < kWindowPx) break;
    product *=
        std::pow(factor_of(ssim(values.truth, values.image, uniform_window(), range)), weight);
    values = values.changed([](const at::Tensor& image) {
      return image.slice(0, 0, std::nullopt, 2).slice(1, 0, std::nullopt, 2);
    });
  }
  return product;
}

std::vector<double> ring_correlation(const Pair& values) {
  const RingSums sums = ring_sums(values.truth, values.image);
  const at::Tensor all_a = sums.power_a.sum(), all_b = sums.power_b.sum();
  at::Tensor known = sums.power_a.gt(1e-26 * all_a).logical_and(sums.power_b.gt(1e-26 * all_b));
  // One pixel correlates with one pixel, were it only what rounding left of a mean.
  known[0] = all_a.gt(0).logical_and(all_b.gt(0));
  at::Tensor curve = sums.agreement.abs() / (sums.power_a * sums.power_b).sqrt();
  curve[0] = 1;
  return to_vector(curve.masked_fill(~known, std::numeric_limits<double>::quiet_NaN()));
}

double crossing_ring(const std::vector<double>& curve, double sigma, double threshold) {
  const at::Tensor smooth = blurred(at::tensor(curve, at::kDouble).unsqueeze(0), sigma)[0];
  return falling_ring(to_vector(smooth - threshold), 0);
}

/// All but the structural similarities.
PtychoPinnNumbers differences(const Pair& values, double frc_sigma) {
  PtychoPinnNumbers numbers;
  numbers.mae = values.error().abs().mean().item<double>();
  numbers.mse = values.error().square().mean().item<double>();
  // OpenCV adds the least step above 1 to the root mean square.
  numbers.psnr =
      20 * std::log10(255 / (std::sqrt(numbers.mse) + std::numeric_limits<double>::epsilon()));
  numbers.frc = ring_correlation(values);
  numbers.frc50 = crossing_ring(numbers.frc, frc_sigma, 0.5);
  numbers.frc1over7 = crossing_ring(numbers.frc, frc_sigma, 1.0 / 7);
  return numbers;
}

PtychoPinnNumbers of_amplitude(const Pair& values, const PtychoPinnMetricsOptions& options) {
  PtychoPinnNumbers numbers = differences(values, options.frc_sigma);
  numbers.ssim = ssim(values.truth, values.image, uniform_window(), range_of(values.truth));
  numbers.ms_ssim = ms_ssim(values.changed(
      [&](const at::Tensor& image) { return blurred(image, options.ms_ssim_sigma); }));
  return numbers;
}

PtychoPinnNumbers of_phase(const Pair& values, const PtychoPinnMetricsOptions& options) {
  PtychoPinnNumbers numbers = differences(values, options.frc_sigma);
  const Pair unit = values.changed(as_unit);
  numbers.ssim = ssim(unit.truth, unit.image, uniform_window(), 1);
  numbers.ms_ssim = ms_ssim(unit);
  return numbers;
}

void check_image(const at::Tensor& object, const char* name, std::int64_t trim) {
  require(object.dim() == 2 && object.size(0) == object.size(1) && object.size(0) >= 8 + 2 * trim,
          "{}: expected a square image of at least {} pixels a side, found {}", name, 8 + 2 * trim,
          fmt::join(object.sizes(), " x "));
  require(at::isfinite(object).all().item<bool>(),
          "{}: expected finite values, found NaN or infinity", name);
}

/// Decibels; `unit` is the size of the values.
double peak_signal_to_noise(double range, double unit, double rms) {
  return range > kLeastRange * unit ? 20 * std::log10(range / rms) : kNotDefined;
}

using Json = nlohmann::ordered_json;

/// The library writes null for a number that is not finite.
Json numbers_json(const ImageMetrics& metrics) {
  const auto& [amplitude, phase] = metrics.ptychopinn;
  const auto pair = [](double a, double b) { return Json::array({a, b}); };
  return {{"mae", pair(amplitude.mae, phase.mae)},
          {"mse", pair(amplitude.mse, phase.mse)},
          {"psnr", pair(amplitude.psnr, phase.psnr)},
          {"ssim", pair(amplitude.ssim, phase.ssim)},
          {"ms_ssim", pair(amplitude.ms_ssim, phase.ms_ssim)},
          {"frc50", pair(amplitude.frc50, phase.frc50)},
          {"frc1over7", pair(amplitude.frc1over7, phase.frc1over7)},
          {"nrmse_contrast", metrics.aligned.nrmse_contrast},
          {"psnr_true_range", pair(metrics.aligned.psnr_amplitude, metrics.aligned.psnr_phase)}};
}

Json model_json(const MetricsBesideFlat& metrics) {
  const PtychoPinnMetrics& numbers = metrics.image.ptychopinn;
  Json json = numbers_json(metrics.image);
  json["frc"] = Json::array({numbers.amplitude.frc, numbers.phase.frc});
  json["flat"] = numbers_json(metrics.flat);
  return json;
}

}  // namespace

at::Tensor without_plane(const at::Tensor& values) {
  const at::Tensor row = centred_index(values.size(0)).unsqueeze(1).expand_as(values);
  const at::Tensor col = centred_index(values.size(1)).expand_as(values);
  // Over a whole grid the three parts of a plane are orthogonal.
  const auto slope = [&](const at::Tensor& axis) {
    return (values * axis).sum() / axis.square().sum();
  };
  return values - values.mean() - slope(row) * row - slope(col) * col;
}

PtychoPinnMetrics ptychopinn_metrics(const at::Tensor& truth, const at::Tensor& image,
                                     const PtychoPinnMetricsOptions& options) {
  const std::int64_t trim = options.trim_px;
  require(trim >= 0, "trim_px: expected 0 or more, found {}", trim);
  check_image(truth, "truth", trim);
  check_image(image, "image", trim);
  require(image.sizes() == truth.sizes(), "image: expected the truth's shape {}, found {}",
          fmt::join(truth.sizes(), " x "), fmt::join(image.sizes(), " x "));
  const Pair objects = Pair{truth, image}.changed([&](const at::Tensor& object) {
    return object.to(at::kComplexDouble)
        .slice(0, trim, object.size(0) - trim)
        .slice(1, trim, object.size(1) - trim);
  });
  return {of_amplitude(amplitudes(objects), options),
          of_phase(phases(objects, options.phase), options)};
}

AlignedMetrics aligned_metrics(const at::Tensor& truth, const at::Tensor& image,
                               std::int64_t trim_px) {
  const Window inner{trim_px, truth.size(0) - trim_px, trim_px, truth.size(1) - trim_px};
  const Alignment alignment = align(truth, image, inner);
  const at::Tensor &wanted = alignment.truth, &found = alignment.aligned;
  const double largest = wanted.abs().max().item<double>();
  return {is_constant(wanted) ? kNotDefined : nrmse_contrast(wanted, found),
          peak_signal_to_noise(range_of(wanted.abs()), largest, amplitude_rmse(wanted, found)),
          peak_signal_to_noise(range_of(centred_phase(wanted)), 1, phase_rmse_rad(wanted, found))};
}

MetricsBesideFlat metrics_beside_flat(const at::Tensor& truth, const at::Tensor& image,
                                      const PtychoPinnMetricsOptions& options) {
  const auto measured = [&](const at::Tensor& object) {
    return ImageMetrics{ptychopinn_metrics(truth, object, options),
                        aligned_metrics(truth, object, options.trim_px)};
  };
  return {measured(image), measured(at::ones_like(truth))};
}

std::string metrics_json(const std::vector<LabelledMetrics>& models) {
  Json json = Json::object();
  for (const LabelledMetrics& model : models) {
    require(!json.contains(model.label), "metrics.json: expected each label once, found '{}' twice",
            model.label);
    json[model.label] = model_json(model.metrics);
  }
  return json.dump(2) + "\n";
}

}  // namespace ptyche
