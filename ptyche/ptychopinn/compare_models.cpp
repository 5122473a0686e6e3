#include "ptyche/ptychopinn/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/evaluate/compare.h"

namespace ptyche {
namespace {

Window both(const Window& a, const Window& b) {
  return {std::max(a.row_begin, b.row_begin), std::min(a.row_end, b.row_end),
          std::max(a.col_begin, b.col_begin), std::min(a.col_end, b.col_end)};
}

/// The largest square around the middle of a window.
Window square_in(const Window& window) {
  const std::int64_t side = std::min(window.rows(), window.cols());
  const std::int64_t row = window.row_begin + (window.rows() - side) / 2;
  const std::int64_t col = window.col_begin + (window.cols() - side) / 2;
  return {row, row + side, col, col + side};
}

Window window_of_all(const Scan& scan, const std::vector<LabelledImage>& images) {
  Window window{0, scan.truth().size(0), 0, scan.truth().size(1)};
  for (const LabelledImage& each : images) {
    const auto lit = truth_window(scan.truth(), each.image);
    require(lit.has_value(), "{}: expected an image that the scan lights, found too little of it",
            each.label);
    window = both(window, *lit);
  }
  window = square_in(window);
  require(large_enough(window),
          "{}: expected {} x {} pixels that are lit in all images, found {} x {}", scan.source(),
          kSmallestWindowSide, kSmallestWindowSide, window.rows(), window.cols());
  return window;
}

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{:.6f}", value) : ""; }

std::string rows_of(const LabelledMetrics& model) {
  const PtychoPinnMetrics& metrics = model.metrics.image.ptychopinn;
  std::string rows;
  const auto pair = [&](const char* name, double PtychoPinnNumbers::*number) {
    rows += fmt::format("{},{},{},{},\n", model.label, name, cell(metrics.amplitude.*number),
                        cell(metrics.phase.*number));
  };
  pair("mae", &PtychoPinnNumbers::mae);
  pair("mse", &PtychoPinnNumbers::mse);
  pair("psnr", &PtychoPinnNumbers::psnr);
  pair("ssim", &PtychoPinnNumbers::ssim);
  pair("ms_ssim", &PtychoPinnNumbers::ms_ssim);
  pair("frc50", &PtychoPinnNumbers::frc50);
  pair("frc1over7", &PtychoPinnNumbers::frc1over7);
  const AlignedMetrics& aligned = model.metrics.image.aligned;
  rows += fmt::format("{},nrmse_contrast,,,{}\n", model.label, cell(aligned.nrmse_contrast));
  rows += fmt::format("{},psnr_true_range,{},{},\n", model.label, cell(aligned.psnr_amplitude),
                      cell(aligned.psnr_phase));
  return rows;
}

}  // namespace

ComparedModels compare_models(const Scan& scan, const std::vector<LabelledImage>& images) {
  require(scan.truth().defined(), "{}: expected a scan with a truth to compare with, found none",
          scan.source());
  const Window window = window_of_all(scan, images);
  ComparedModels compared;
  compared.objects.push_back({"truth", cut(scan.truth(), window)});
  for (const auto& [label, image] : images) {
    require(std::ranges::count(images, label, &LabelledImage::label) == 1,
            "expected each label once, found '{}' twice", label);
    const ComparedImages one =
        compare_in_window(image.projection(), scan.truth(), window,
                          std::array<std::int64_t, 2>{image.origin_row, image.origin_col});
    compared.scores.push_back({label, metrics_beside_flat(one.reference, one.image)});
    compared.objects.push_back({label, one.image.to(at::kComplexFloat)});
  }
  return compared;
}

std::string metrics_table(const std::vector<LabelledMetrics>& models) {
  std::string table = "model,metric,amplitude,phase,value\n";
  for (const LabelledMetrics& model : models) table += rows_of(model);
  return table;
}

}  // namespace ptyche
