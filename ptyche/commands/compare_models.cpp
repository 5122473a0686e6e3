// PtychoPINN's compare_models: several models or results on one simulated scan.
#include "ptyche/ptychopinn/compare_models.h"

#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/infer/infer.h"
#include "ptyche/io/readers.h"
#include "ptyche/prepare/scan_rotation.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {
namespace {

struct CompareModelsOptions {
  ReadOptions scan;
  std::vector<std::filesystem::path> images;
  std::filesystem::path output;
  std::int64_t threads = 0;
  bool overwrite = false;
};

/// A folder stands for its model, else for its image.
std::filesystem::path file_meant_by(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return path;
  const auto model = path / "model.ptyche", recon = path / "recon.npz";
  if (std::filesystem::exists(model)) return model;
  return std::filesystem::exists(recon) ? recon : path / "reconstruction.h5";
}

bool is_model(const std::filesystem::path& file) {
  return is_hdf5(file) && with_context(file.string(), [&] {
           return Hdf5File::open(file, SealCheck::later).has("ptyche_model");
         });
}

LabelledImage labelled_image(const std::filesystem::path& path, const Scan& scan) {
  const std::filesystem::path file = file_meant_by(path);
  const std::string label = path.has_filename() ? path.string() : path.parent_path().string();
  if (is_model(file)) return {label, network_image(model_for(scan, read_model(file)), scan, {})};
  return {label, read_object_file(file)};
}

void print_comparison(const ComparedModels& compared) {
  show("{:<32} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9}\n", "", "mae a", "mae p", "ssim a", "ssim p",
       "frc50 a", "nrmse");
  for (const LabelledMetrics& model : compared.scores) {
    const auto& [amplitude, phase] = model.metrics.image.ptychopinn;
    show("{:<32} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.1f} {:>9.4f}\n", model.label,
         amplitude.mae, phase.mae, amplitude.ssim, phase.ssim, amplitude.frc50,
         model.metrics.image.aligned.nrmse_contrast);
  }
}

void run_compare_models(const CompareModelsOptions& options) {
  use_threads(options.threads);
  const OutputFolder folder(
      options.output, folder_use(options.overwrite),
      {.names = {"comparison_metrics.csv", "metrics.json", "comparison_plot.png"},
       .last = "",
       .checkpoint = ""});
  const Scan scan = read_turned_scan(options.scan);
  std::vector<LabelledImage> images;
  for (const auto& path : options.images) images.push_back(labelled_image(path, scan));
  const ComparedModels compared = compare_models(scan, images);
  write_text(options.output / "comparison_metrics.csv", metrics_table(compared.scores));
  write_text(options.output / "metrics.json", metrics_json(compared.scores));
  write_text(options.output / "comparison_plot.png", amplitude_phase_picture(compared.objects).png);
  print_comparison(compared);
}

}  // namespace

Command compare_models_command() {
  const auto options = std::make_shared<CompareModelsOptions>();
  return {
      .name = "compare-models",
      .summary = "several models or results on one simulated scan",
      .description =
          "Infers the scan by each model, takes each result as it is, and scores all of them "
          "against the scan's truth in the part that all of them show. Writes "
          "comparison_metrics.csv, metrics.json and comparison_plot.png.",
      .arguments = {{"SCAN", &options->scan.file, scan_formats() + " file with a truth"},
                    {"IMAGE", &options->images,
                     "model.ptyche, reconstruction.h5 or a folder with one of them"}},
      .options = joined({{output_dir_option(options->output), overwrite_option(options->overwrite)},
                         far_field_scan_options(options->scan),
                         {threads_option(options->threads)}}),
      .references = {},
      .run = [options] { run_compare_models(*options); },
      .basic = {"output-dir", "overwrite", "mask", "crop", "threads"}};
}

}  // namespace ptyche
