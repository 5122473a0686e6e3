#include "ptyche/io/product.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/array.h"
#include "ptyche/data/scan.h"
#include "ptyche/io/named_writer.h"
#include "ptyche/io/readers.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

double required_number(const Hdf5File& file, const std::string& path, const std::string& name) {
  const auto value = file.number(path, name);
  require(value.has_value() && std::isfinite(*value),
          "{}: expected a finite attribute {}, found {}", path, name,
          value ? "another value" : "none");
  return *value;
}

/// An axis of the object: how positions along it become indices, and where index 0 lies.
struct Axis {
  double centre_m, pixel_m, half_length;

  at::Tensor indices(const at::Tensor& lengths_m) const {
    return (lengths_m - centre_m) / pixel_m + half_length;
  }
  std::int64_t origin() const {
    return static_cast<std::int64_t>(std::llround(centre_m / pixel_m - half_length));
  }
};

Axis axis_of(const Hdf5File& file, const std::string& centre, const std::string& pixel,
             std::int64_t length) {
  const Axis axis{required_number(file, "object", centre), required_number(file, "object", pixel),
                  static_cast<double>(length) / 2};
  require(axis.pixel_m > 0 && std::abs(axis.centre_m / axis.pixel_m) < 1e9,
          "object: expected attributes {} > 0 and {} within 1e9 pixels, found {} and {}", pixel,
          centre, axis.pixel_m, axis.centre_m);
  return axis;
}

at::Tensor read_lengths(const Hdf5File& file, const std::string& name) {
  const at::Tensor values = file.read(name).values;
  require(values.dim() == 1 && !values.is_complex(), "{}: expected (n) numbers, found {}", name,
          describe(values));
  const at::Tensor lengths = values.to(at::kDouble);
  require(at::isfinite(lengths).all().item<bool>(), "{}: expected finite values, found {}", name,
          "NaN or infinity");
  return lengths;
}

/// The array as complex64 whose powers are finite, too: solvers and scores square everything.
at::Tensor finite_complex(const at::Tensor& array, const std::string& name) {
  const at::Tensor values = array.to(at::kComplexFloat).contiguous();
  const at::Tensor bad = at::isfinite(at::view_as_real(values).square().sum(-1)).logical_not();
  const std::int64_t count = bad.sum().item<std::int64_t>();
  require(count == 0, "{}: expected finite values below 1e19, found {} others", name, count);
  return values;
}

at::Tensor read_object(const Hdf5File& file) {
  const at::Tensor array = file.read("object").values;
  require((array.dim() == 2 || array.dim() == 3) && array.is_complex() && array.numel() > 0,
          "object: expected complex (rows, cols) or (slices, rows, cols), found {}",
          describe(array));
  return finite_complex(array.dim() == 2 ? array.unsqueeze(0) : array, "object");
}

/// Where the file says them, and they fit the object.
at::Tensor read_slice_spacing(const Hdf5File& file, std::int64_t slices) {
  const char* name = "object_layer_spacing_m";
  if (slices == 1 || !file.has(name)) return {};
  const at::Tensor spacing = read_lengths(file, name);
  const bool fits = spacing.size(0) == slices - 1 && spacing.gt(0).all().item<bool>();
  return fits ? spacing : at::Tensor();
}

at::Tensor read_probe(const Hdf5File& file) {
  at::Tensor array = file.read("probe").values;
  while (array.dim() == 2 || array.dim() == 3) array = array.unsqueeze(0);
  require(array.dim() == 4 && array.is_complex() && array.size(2) == array.size(3) &&
              array.size(3) % 2 == 0 && array.numel() > 0,
          "probe: expected complex (N, N), (modes, N, N) or (variants, modes, N, N) with even N, "
          "found {}",
          describe(array));
  const at::Tensor probe = finite_complex(array, "probe");
  require(at::view_as_real(probe).square().sum().item<float>() > 0,
          "probe: expected light, found {}", "all values zero");
  return probe;
}

void read_positions(const Hdf5File& file, Reconstruction& image) {
  const at::Tensor x = read_lengths(file, "probe_position_x_m");
  const at::Tensor y = read_lengths(file, "probe_position_y_m");
  require(x.size(0) == y.size(0), "probe_position_y_m: expected {} values like x, found {}",
          x.size(0), y.size(0));
  const Axis row = axis_of(file, "center_y_m", "pixel_height_m", image.rows());
  const Axis col = axis_of(file, "center_x_m", "pixel_width_m", image.cols());
  image.origin_row = row.origin();
  image.origin_col = col.origin();
  image.positions = at::stack({row.indices(y) + static_cast<double>(image.origin_row),
                               col.indices(x) + static_cast<double>(image.origin_col)},
                              1);
  const bool metres =
      file.has("ptyche") ? file.text("ptyche", "length_unit") != "object pixel" : true;
  image.geometry.object_pixel_m = metres ? col.pixel_m : 0;
}

/// A dataset of /ptyche of a given type and shape, or `otherwise` where it is not there.
at::Tensor ours_or(const Hdf5File& file, const std::string& name, at::Tensor otherwise) {
  if (!file.has(name)) return otherwise;
  const at::Tensor values = file.read(name).values;
  require(values.sizes() == otherwise.sizes() && !values.is_complex(), "{}: expected {}, found {}",
          name, describe(otherwise), describe(values));
  return values.to(otherwise.scalar_type()).contiguous();
}

std::string run_json(const Provenance& provenance) {
  nlohmann::ordered_json json{{"version", provenance.version},
                              {"date", provenance.date},
                              {"machine", provenance.machine},
                              {"remarks", to_json(provenance.remarks)}};
  for (const Attempt& each : provenance.attempts)
    json["attempts"].push_back({{"what", each.what},
                                {"passes", each.passes},
                                {"seconds", each.seconds},
                                {"held_out_deviance_per_photon", each.held_out_deviance},
                                {"kept", each.kept}});
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

Attempt attempt_from(const nlohmann::json& json) {
  return {.what = json.value("what", ""),
          .passes = json.value("passes", std::int64_t{0}),
          .seconds = json.value("seconds", 0.0),
          .held_out_deviance = json.value("held_out_deviance_per_photon", 0.0),
          .kept = json.value("kept", false)};
}

/// Nothing where another program, or an earlier version, wrote the file.
void read_run(const std::string& text, Provenance& provenance) {
  if (text.empty()) return;
  require_shallow(text, "ptyche: run", 16);
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    provenance.version = json.value("version", "");
    provenance.date = json.value("date", "");
    provenance.machine = json.value("machine", "");
    provenance.remarks = remarks_from(json.value("remarks", nlohmann::json::array()));
    for (const nlohmann::json& each : json.value("attempts", nlohmann::json::array()))
      provenance.attempts.push_back(attempt_from(each));
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(
        fmt::format("ptyche: run: expected a record in JSON, found {}", error.what()));
  }
}

Provenance read_provenance(const Hdf5File& file) {
  Provenance provenance;
  read_run(file.text("ptyche", "run").value_or(""), provenance);
  provenance.source = file.text("ptyche", "source").value_or("");
  provenance.input_hash = file.text("ptyche", "input_hash").value_or("");
  provenance.command = file.text("ptyche", "command").value_or("");
  provenance.options_json = file.text("ptyche", "options").value_or("");
  const std::string seed = file.text("ptyche", "seed").value_or("0");
  std::from_chars(seed.data(), seed.data() + seed.size(), provenance.seed);
  return provenance;
}

void read_our_group(const Hdf5File& file, Reconstruction& image) {
  const std::int64_t size = image.pattern_size();
  image.interpolation =
      interpolation_from(file.text("ptyche", "interpolation").value_or("bilinear"));
  image.geometry.detector_pixel_m = file.number("ptyche", "detector_pixel_m").value_or(0);
  image.geometry.near_field = file.number("ptyche", "near_field").value_or(0) != 0;
  image.geometry.source_distance_m = file.number("ptyche", "source_distance_m").value_or(0);
  image.provenance = read_provenance(file);
  image.coverage = ours_or(file, "ptyche/coverage", image.coverage);
  image.frame_use = ours_or(file, "ptyche/frame_use", image.frame_use);
  if (file.has("ptyche/background")) {
    image.background = ours_or(file, "ptyche/background", at::zeros({size, size}, at::kFloat));
  }
  if (file.has("ptyche/intensities"))
    image.intensities =
        ours_or(file, "ptyche/intensities", at::ones({image.positions.size(0)}, at::kFloat));
}

void read_losses(const Hdf5File& file, Reconstruction& image) {
  const std::string name = file.has("loss_values") ? "loss_values" : "costs";
  if (!file.has(name)) return;
  const at::Tensor loss = file.read(name).values.to(at::kDouble).flatten().contiguous();
  image.loss.assign(loss.const_data_ptr<double>(), loss.const_data_ptr<double>() + loss.numel());
}

Reconstruction read_content(const Hdf5File& file) {
  Reconstruction image;
  image.object = read_object(file);
  image.slice_spacing_m = read_slice_spacing(file, image.slices());
  image.probe = read_probe(file);
  read_positions(file, image);
  // ptychodus calls it photon_energy_eV since 1.6.
  const auto older = file.number("/", "probe_energy_eV");
  image.geometry.energy_ev = file.number("/", "photon_energy_eV").value_or(older.value_or(0));
  image.geometry.distance_m = file.number("/", "detector_object_distance_m").value_or(0);
  image.geometry.exposure_s = file.number("/", "exposure_time_s").value_or(0);
  image.coverage = at::ones({image.rows(), image.cols()}, at::kFloat);
  image.frame_use = at::zeros({image.positions.size(0)}, at::kByte);
  image.interpolation = Interpolation::bilinear;
  if (file.has("ptyche")) read_our_group(file, image);
  read_losses(file, image);
  return image;
}

}  // namespace

std::filesystem::path result_file(const std::filesystem::path& named) {
  std::error_code none;
  return std::filesystem::is_directory(named, none) ? named / "reconstruction.h5" : named;
}

Reconstruction read_reconstruction(const std::filesystem::path& path) {
  return with_file(path, [&] { return read_content(Hdf5File::open(path)); });
}

Reader product_reader() {
  return {.name = "ptychodus product",
          .signature = "HDF5 with a dataset object",
          .recognises =
              [](const FileSample& sample) { return sample.hdf5 && sample.hdf5->has("object"); },
          .read_scan = nullptr,
          .read_object =
              [](const std::filesystem::path& path) { return read_content(Hdf5File::open(path)); }};
}

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
  // What ptychodus 1.7 looks for: the energy's newer name, and where the focus is.
  file.set("/", "photon_energy_eV", image.geometry.energy_ev);
  file.set("/", "focus_object_distance_m", image.geometry.source_distance_m);
  file.set("/", "far_field", std::int64_t{!image.geometry.near_field});
  file.set("/", "exposure_time_s", image.geometry.exposure_s);
  file.set("/", "probe_photon_count",
           at::abs(image.main_probe()).square().sum(at::kDouble).item<double>());
}

void write_positions(Hdf5File& file, const Reconstruction& image, double pixel) {
  const std::int64_t n = image.positions.size(0);
  file.write("probe_position_indexes", at::arange(n, at::kLong));
  file.write("probe_position_x_m", image.positions.select(1, 1) * pixel);
  file.write("probe_position_y_m", image.positions.select(1, 0) * pixel);
}

/// What of an image must be finite if the file is to be read again.
void require_finite(const Reconstruction& image) {
  finite_complex(image.object, "object");
  finite_complex(image.probe, "probe");
  require(at::isfinite(image.positions).all().item<bool>(),
          "probe_position_x_m: expected finite values, found {}", "NaN or infinity");
}

void write_object(Hdf5File& file, const Reconstruction& image, double pixel) {
  const auto rows = static_cast<double>(image.rows());
  const auto cols = static_cast<double>(image.cols());
  file.write("object", as_written(image.object));
  set_pixel(file, "object", pixel);
  file.set("object", "center_x_m", (static_cast<double>(image.origin_col) + cols / 2) * pixel);
  file.set("object", "center_y_m", (static_cast<double>(image.origin_row) + rows / 2) * pixel);
  file.write("object_layer_spacing_m",
             image.slice_spacing_m.defined() ? image.slice_spacing_m : at::empty({0}, at::kDouble));
  file.write("probe", as_written(image.probe));
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
  file.set("ptyche", "run", run_json(provenance));
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
  if (image.intensities.defined()) file.write("ptyche/intensities", image.intensities);
}

void write_verdict(Hdf5File& file, const Verdict& verdict) {
  file.set("ptyche/scores", "verdict", to_string(verdict.word));
  file.set("ptyche/scores", "verdict_reasons", fmt::format("{}", fmt::join(verdict.reasons, "\n")));
  if (!verdict.map.defined()) return;
  file.write("ptyche/verdict_map", verdict.map);
  file.set("ptyche/verdict_map", "first_row", verdict.window.row_begin);
  file.set("ptyche/verdict_map", "first_col", verdict.window.col_begin);
}

/// A map of the object's pixels; undefined where there is none.
at::Tensor read_map(const Hdf5File& file, const std::string& name) {
  if (!file.has(name)) return {};
  const at::Tensor map = file.read(name).values.to(at::kFloat);
  require(map.dim() == 2 && map.numel() > 0, "{}: expected (rows, cols), found {}", name,
          describe(map));
  return map;
}

/// The map and where it lies; nothing where there is none.
void read_verdict_map(const Hdf5File& file, Verdict& verdict) {
  verdict.map = read_map(file, "ptyche/verdict_map");
  if (!verdict.map.defined()) return;
  const auto first = [&](const char* name) {
    return whole_number(required_number(file, "ptyche/verdict_map", name), name, 0, 1'000'000'000);
  };
  verdict.window.row_begin = first("first_row");
  verdict.window.col_begin = first("first_col");
  verdict.window.row_end = verdict.window.row_begin + verdict.map.size(0);
  verdict.window.col_end = verdict.window.col_begin + verdict.map.size(1);
}

void write_trust(Hdf5File& file, const Trust& trust) {
  file.set("ptyche/scores", "trust_reason", trust.reason);
  if (trust.map.defined()) file.write("ptyche/trust_map", trust.map);
}

void write_scores(Hdf5File& file, const Scores& scores) {
  file.write_text("ptyche/scores", scores_json(scores));
  if (scores.verdict) write_verdict(file, *scores.verdict);
  if (scores.trust) write_trust(file, *scores.trust);
  for (const NamedScore& score : named_scores(scores)) {
    file.set("ptyche/scores", score.name, score.value);
  }
}

void write_image(Hdf5File& file, const Reconstruction& image) {
  const double pixel = pixel_of(image.geometry);
  require_finite(image);
  write_root_attributes(file, image);
  write_positions(file, image, pixel);
  write_object(file, image, pixel);
  write_losses(file, image.loss);
  write_our_group(file, image);
}

}  // namespace

void write_reconstruction(const std::filesystem::path& path, const Reconstruction& image,
                          const Scores* scores) {
  write_hdf5(path, [&](Hdf5File& file) {
    write_image(file, image);
    if (scores != nullptr) write_scores(file, *scores);
  });
}

void write_unsolved(const std::filesystem::path& path, const Reconstruction& image) {
  write_hdf5(path, [&](Hdf5File& file) {
    write_image(file, image);
    file.set("probe", "stands_in", std::int64_t{1});
  });
}

namespace {

double stored_number(const Hdf5File& file, const char* name) {
  return file.number("ptyche/scores", name).value_or(0);
}

std::optional<Verdict> read_verdict(const Hdf5File& file) {
  const auto word = file.text("ptyche/scores", "verdict");
  if (!word) return std::nullopt;
  Verdict verdict;
  verdict.word = verdict_word_from(*word);
  verdict.expected_error = stored_number(file, "verdict.expected_error");
  verdict.low = stored_number(file, "verdict.expected_error_low");
  verdict.high = stored_number(file, "verdict.expected_error_high");
  verdict.patterns = static_cast<std::int64_t>(stored_number(file, "verdict.patterns"));
  std::istringstream reasons(file.text("ptyche/scores", "verdict_reasons").value_or(""));
  for (std::string line; std::getline(reasons, line);) verdict.reasons.push_back(line);
  read_verdict_map(file, verdict);
  return verdict;
}

std::optional<Trust> read_trust(const Hdf5File& file) {
  const auto unlike = file.number("ptyche/scores", "trust.unlike");
  if (!unlike) return std::nullopt;
  const auto expected = file.number("ptyche/scores", "trust.expected_error");
  return Trust{.map = read_map(file, "ptyche/trust_map"),
               .expected_error = expected.value_or(std::numeric_limits<double>::quiet_NaN()),
               .unlike = *unlike,
               .reason = file.text("ptyche/scores", "trust_reason").value_or("")};
}

}  // namespace

StoredScores read_stored_scores(const std::filesystem::path& path) {
  return with_file(path, [&] {
    const Hdf5File file = Hdf5File::open(path);
    if (!file.has("ptyche/scores")) return StoredScores{};
    return StoredScores{read_verdict(file), read_trust(file), stored_number(file, "time.seconds")};
  });
}

std::string scores_json(const std::vector<NamedScore>& scores, const std::string& more) {
  nlohmann::ordered_json json, meaning;
  for (const NamedScore& score : scores) {
    json[score.name] = score.value;
    meaning[score.name] = score.meaning;
  }
  if (!more.empty()) json.update(nlohmann::ordered_json::parse(more));
  json["meaning"] = meaning;
  return json.dump(2) + "\n";
}

std::string scores_json(const Scores& scores) {
  nlohmann::ordered_json words = nlohmann::ordered_json::object();
  if (scores.verdict) {
    words["verdict"] = to_string(scores.verdict->word);
    words["verdict_reasons"] = scores.verdict->reasons;
  }
  if (scores.trust) words["trust_reason"] = scores.trust->reason;
  if (!scores.remarks.empty()) words["remarks"] = to_json(scores.remarks);
  return scores_json(named_scores(scores), words.empty() ? "" : words.dump());
}

}  // namespace ptyche
