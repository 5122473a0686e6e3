#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/version.h"
#include "ptyche/data/describe.h"
#include "ptyche/data/scan.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/io/product.h"
#include "ptyche/io/scores_json.h"

namespace ptyche {
namespace {

double pixel_of(const Geometry& geometry) {
  return geometry.has_object_pixel() ? geometry.object_pixel_m : 1.0;
}

void set_pixel(Hdf5File& file, const std::string& dataset, double pixel) {
  file.set(dataset, "pixel_width_m", pixel);
  file.set(dataset, "pixel_height_m", pixel);
}

void write_root_attributes(Hdf5File& file, const Reconstruction& image) {
  file.set("/", "name", std::string("ptyche reconstruction"));
  file.set("/", "comments", "written by ptyche " + version() + " from " + image.provenance.source);
  file.set("/", "detector_object_distance_m", image.geometry.distance_m);
  file.set("/", "probe_energy_eV", image.geometry.energy_ev);
  file.set("/", "exposure_time_s", image.geometry.exposure_s);
  file.set("/", "probe_photon_count",
           at::abs(image.probe).square().sum(at::kDouble).item<double>());
}

void write_positions(Hdf5File& file, const Reconstruction& image, double pixel) {
  const std::int64_t n = image.positions.size(0);
  file.write("probe_position_indexes", at::arange(n, at::kLong));
  file.write("probe_position_x_m", image.positions.select(1, 1) * pixel);
  file.write("probe_position_y_m", image.positions.select(1, 0) * pixel);
}

void write_object(Hdf5File& file, const Reconstruction& image, double pixel) {
  const auto rows = static_cast<double>(image.object.size(0));
  const auto cols = static_cast<double>(image.object.size(1));
  file.write("object", image.object);
  set_pixel(file, "object", pixel);
  file.set("object", "center_x_m", (static_cast<double>(image.origin_col) + cols / 2) * pixel);
  file.set("object", "center_y_m", (static_cast<double>(image.origin_row) + rows / 2) * pixel);
  file.write("object_layer_spacing_m", at::empty({0}, at::kDouble));
  file.write("probe", image.probe);
  set_pixel(file, "probe", pixel);
}

void write_losses(Hdf5File& file, const std::vector<double>& loss) {
  const auto epochs = static_cast<std::int64_t>(loss.size());
  file.write("loss_values", at::tensor(loss, at::kDouble));
  file.write("loss_epochs", at::arange(1, epochs + 1, at::kLong));
}

void write_provenance(Hdf5File& file, const Reconstruction& image) {
  const Provenance& provenance = image.provenance;
  file.set("ptyche", "version", version());
  file.set("ptyche", "commit", commit());
  file.set("ptyche", "source", provenance.source);
  file.set("ptyche", "input_hash", provenance.input_hash);
  file.set("ptyche", "command", provenance.command);
  file.set("ptyche", "options", provenance.options_json);
  // As text: HDF5's signed numbers end at 2^63.
  file.set("ptyche", "seed", std::to_string(provenance.seed));
}

void write_our_group(Hdf5File& file, const Reconstruction& image) {
  file.make_group("ptyche");
  file.set("ptyche", "length_unit",
           std::string(image.geometry.has_object_pixel() ? "m" : "object pixel"));
  file.set("ptyche", "interpolation", to_string(image.interpolation));
  file.set("ptyche", "detector_pixel_m", image.geometry.detector_pixel_m);
  file.set("ptyche", "near_field", std::int64_t{image.geometry.near_field});
  file.set("ptyche", "source_distance_m", image.geometry.source_distance_m);
  write_provenance(file, image);
  file.write("ptyche/coverage", image.coverage);
  file.write("ptyche/frame_use", image.frame_use);
  file.write("ptyche/frame_used", image.frame_use.eq(static_cast<std::int64_t>(FrameUse::used)));
  if (image.background.defined()) file.write("ptyche/background", image.background);
}

void write_scores(Hdf5File& file, const Scores& scores) {
  file.write_text("ptyche/scores", scores_json(scores));
  for (const NamedScore& score : named_scores(scores)) {
    file.set("ptyche/scores", score.name, score.value);
  }
}

}  // namespace

void write_reconstruction(const std::filesystem::path& path, const Reconstruction& image,
                          const Scores* scores) {
  write_atomically(path, [&](const std::filesystem::path& temporary) {
    Hdf5File file = Hdf5File::create(temporary);
    const double pixel = pixel_of(image.geometry);
    write_root_attributes(file, image);
    write_positions(file, image, pixel);
    write_object(file, image, pixel);
    write_losses(file, image.loss);
    write_our_group(file, image);
    if (scores != nullptr) write_scores(file, *scores);
    file.close();
  });
}

}  // namespace ptyche
