#include "ptyche/ptychopinn/metrics_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

MetricsBesideFlat sample_metrics() {
  MetricsBesideFlat metrics;
  metrics.image.original.amplitude = {.mae = 0.1, .frc50 = 12.5, .frc = {1, 0.5}};
  metrics.image.original.phase = {.mae = 0.2, .frc50 = std::nan(""), .frc = {1, std::nan("")}};
  metrics.image.aligned = {0.3, 20, std::numeric_limits<double>::infinity()};
  metrics.flat.original.phase.ssim = 1;
  metrics.flat.aligned.nrmse_contrast = 1;
  return metrics;
}

TEST(MetricsJson, HoldsTheOriginalsNamesInPairsOfAmplitudeAndPhase) {
  const auto json = nlohmann::json::parse(metrics_json({{"pinn", sample_metrics()}}));
  const auto& model = json.at("pinn");
  EXPECT_EQ(model.at("mae"), nlohmann::json({0.1, 0.2}));
  for (const char* name : {"mse", "psnr", "ssim", "ms_ssim", "frc50", "frc1over7", "frc"})
    EXPECT_EQ(model.at(name).size(), 2u) << name;
  EXPECT_EQ(model.at("frc").at(0), nlohmann::json({1.0, 0.5}));
  EXPECT_EQ(model.at("nrmse_contrast"), 0.3);
  EXPECT_EQ(model.at("psnr_true_range").at(0), 20);
}

TEST(MetricsJson, PutsAFlatObjectBesideWithoutItsCurves) {
  const auto json = nlohmann::json::parse(metrics_json({{"pinn", sample_metrics()}}));
  const auto& flat = json.at("pinn").at("flat");
  EXPECT_EQ(flat.at("ssim"), nlohmann::json({0.0, 1.0}));
  EXPECT_EQ(flat.at("nrmse_contrast"), 1);
  EXPECT_FALSE(flat.contains("frc"));
  EXPECT_EQ(flat.size() + 2, json.at("pinn").size());
}

TEST(MetricsJson, WritesNullWhereThereIsNoNumber) {
  const auto json = nlohmann::json::parse(metrics_json({{"pinn", sample_metrics()}}));
  const auto& model = json.at("pinn");
  EXPECT_TRUE(model.at("frc50").at(1).is_null());
  EXPECT_TRUE(model.at("frc").at(1).at(1).is_null());
  EXPECT_TRUE(model.at("psnr_true_range").at(1).is_null());
}

TEST(MetricsJson, KeepsTheOrderOfTheModelsAndRefusesOneTwice) {
  const std::string text = metrics_json({{"pinn", {}}, {"baseline", {}}});
  EXPECT_LT(text.find("pinn"), text.find("baseline"));
  EXPECT_THROW(metrics_json({{"pinn", {}}, {"pinn", {}}}), InvalidInput);
  EXPECT_EQ(metrics_json({}), "{}\n");
}

}  // namespace
}  // namespace ptyche
