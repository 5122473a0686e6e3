#include "ptyche/ptychopinn/metrics_beside_flat.h"

#include <cmath>
#include <limits>

#include "ptyche/evaluate/align.h"
#include "ptyche/evaluate/image_error.h"

namespace ptyche {
namespace {

constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();
constexpr double least_range = 1e-6;  // what a truth in float32 can tell from none

/// Decibels; `unit` is the size of the values.
double peak_signal_to_noise(double range, double unit, double rms) {
  return range > least_range * unit ? 20 * std::log10(range / rms) : not_defined;
}

}  // namespace

AlignedMetrics aligned_metrics(const at::Tensor& truth, const at::Tensor& image,
                               std::int64_t trim_px) {
  const Window inner{trim_px, truth.size(0) - trim_px, trim_px, truth.size(1) - trim_px};
  const Alignment alignment = align(truth, image, inner);
  const at::Tensor &wanted = alignment.truth, &found = alignment.aligned;
  const double largest = wanted.abs().max().item<double>();
  return {is_constant(wanted) ? not_defined : nrmse_contrast(wanted, found),
          peak_signal_to_noise(range_of(wanted.abs()), largest, amplitude_rmse(wanted, found)),
          peak_signal_to_noise(range_of(centred_phase(wanted)), 1, phase_rmse_rad(wanted, found))};
}

MetricsBesideFlat metrics_beside_flat(const at::Tensor& truth, const at::Tensor& image,
                                      const OriginalMetricsOptions& options) {
  const auto measured = [&](const at::Tensor& object) {
    return ImageMetrics{original_metrics(truth, object, options),
                        aligned_metrics(truth, object, options.trim_px)};
  };
  return {measured(image), measured(at::ones_like(truth))};
}

}  // namespace ptyche
