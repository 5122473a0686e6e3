#include "ptyche/ptychopinn/metrics_json.h"

#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

using Json = nlohmann::ordered_json;

/// The library writes null for a number that is not finite.
Json numbers_json(const ImageMetrics& metrics) {
  const auto& [amplitude, phase] = metrics.original;
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
  const OriginalMetrics& original = metrics.image.original;
  Json json = numbers_json(metrics.image);
  json["frc"] = Json::array({original.amplitude.frc, original.phase.frc});
  json["flat"] = numbers_json(metrics.flat);
  return json;
}

}  // namespace

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
