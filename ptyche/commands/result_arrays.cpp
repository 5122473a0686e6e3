#include "ptyche/commands/result_arrays.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ptyche/commands/command_line.h"
#include "ptyche/core/error.h"
#include "ptyche/core/events.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/result.h"
#include "ptyche/report/report.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace {

constexpr double kSecondsBetweenPreviews = 0.5;

void write_array(const std::filesystem::path& file, const at::Tensor& values) {
  if (!values.defined()) return;
  const at::Tensor array = values.contiguous();
  write_atomically(file, [&](const std::filesystem::path& beside) {
    std::ofstream out(beside, std::ios::binary);
    const std::string header = npy_header(array);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    out.write(static_cast<const char*>(array.data_ptr()),
              static_cast<std::streamsize>(array.nbytes()));
    out.flush();
    require(out.good(), "{}: {}", file.string(), "the array cannot be written");
  });
}

/// Row and column in pixels of the object's array.
at::Tensor positions_in_object(const Reconstruction& image) {
  if (!image.positions.defined()) return {};
  const at::Tensor origin =
      at::tensor({static_cast<double>(image.origin_row), static_cast<double>(image.origin_col)});
  return image.positions.to(at::kDouble) - origin.to(at::kDouble);
}

std::string facts_json(const Reconstruction& image) {
  nlohmann::ordered_json facts{{"pixel_m", image.geometry.object_pixel_m},
                               {"energy_ev", image.geometry.energy_ev},
                               {"distance_m", image.geometry.distance_m},
                               {"interpolation", to_string(image.interpolation)},
                               {"source", image.provenance.source},
                               {"version", image.provenance.version},
                               {"date", image.provenance.date},
                               {"remarks", to_json(image.provenance.remarks)},
                               {"loss", image.loss}};
  return facts.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void write_all(const std::filesystem::path& folder, const Reconstruction& image) {
  write_array(folder / "object.npy", as_written(image.object));
  write_array(folder / "probe.npy", as_written(image.probe));
  write_array(folder / "positions.npy", positions_in_object(image));
  write_array(folder / "coverage.npy", image.coverage);
  write_array(folder / "frame_use.npy", image.frame_use);
  write_array(folder / "background.npy", image.background);
  write_array(folder / "intensities.npy", image.intensities);
  write_text(folder / "arrays.json", facts_json(image));
}

struct ArraysChoices {
  std::filesystem::path result, folder;
};

}  // namespace

Field arrays_option(bool& arrays) {
  return {
      .name = "arrays",
      .target = &arrays,
      .help =
          "object, probe, positions and coverage as .npy as well, for programs that read no HDF5",
      .affects_result = false};
}

void write_arrays(const std::filesystem::path& folder, const Reconstruction& image) {
  warn_on_error("object.npy", [&] { write_all(folder, image); });
}

void show_image_so_far(const std::filesystem::path& folder, const Reconstruction& image,
                       bool arrays) {
  static std::optional<Stopwatch> since_last;
  if (!sends_events()) return;
  if (since_last && since_last->seconds() < kSecondsBetweenPreviews) return;
  since_last = Stopwatch();
  nlohmann::ordered_json paths{{"phase", (folder / "phase.png").string()},
                               {"amplitude", (folder / "amplitude.png").string()}};
  if (arrays) {
    warn_on_error("object.npy",
                  [&] { write_array(folder / "object.npy", as_written(image.object)); });
    paths["object"] = (folder / "object.npy").string();
  }
  send_event("preview", paths);
}

Command arrays_command() {
  const auto choices = std::make_shared<ArraysChoices>();
  return {.name = "__arrays",
          .summary = "write the arrays of a result as .npy",
          .description = "",
          .arguments = {{"RESULT", &choices->result, "reconstruction of any program"},
                        {"FOLDER", &choices->folder, "where to"}},
          .options = {},
          .references = {},
          .run =
              [choices] {
                require_writable_folder(choices->folder);
                write_all(choices->folder, read_result(choices->result).image);
              },
          .hidden = true};
}

}  // namespace ptyche
