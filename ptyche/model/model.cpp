#include "ptyche/model/model.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/resample.h"

namespace ptyche {

namespace {

constexpr std::int64_t kChunk = 64;  // patterns in the stem at a time; bounds its memory

constexpr double kWorthSaying = 0.01;  // of a dose; calibration alone can give that much

/// 1 / rms of the amplitudes of the used patterns, as the network sees them: 0 where masked.
double input_scale_of(const Scan& scan) {
  const at::Tensor used = scan.frames_with(FrameUse::used), mask = mask_in_fft_order(scan);
  double photons = 0;
  for (std::int64_t first = 0; first < used.size(0); first += kChunk)
    photons += counts_in_fft_order(scan, used.slice(0, first, first + kChunk))
                   .mul_(mask)
                   .sum(at::kDouble)
                   .item<double>();
  const auto pixels = static_cast<double>(used.size(0) * scan.pattern_size() * scan.pattern_size());
  return std::sqrt(pixels / std::max(photons, 1.0));
}

at::Tensor channels_of_chunk(const Model& model, const Scan& scan, const at::Tensor& frames,
                             Engine engine) {
  const at::Tensor mask = mask_in_fft_order(scan);
  const at::Tensor amplitudes = counts_in_fft_order(scan, frames).sqrt_() * mask;
  if (!traits_of(model.network_options).has_stem)
    return to_centred(amplitudes).mul(model.input_scale).unsqueeze(1);
  const at::Tensor probes = fourier_shift(model.stem_probe, position_fractions(scan, frames));
  return physics_stem(amplitudes, mask, probes, model.input_scale, model.stem_options, engine);
}

/// One patch (groups, N, N) around the mean of each group's whole pixels -> what each of its
/// patterns sees of it, 1 beyond its edge.
at::Tensor shared_out(const at::Tensor& patches, const Scan& scan, const at::Tensor& frames) {
  const at::Tensor positions = scan.positions().index_select(0, frames);
  const at::Tensor pixels =
      split_positions(positions, Interpolation::probe_fourier).whole.view({patches.size(0), -1, 2});
  const at::Tensor shifts = pixels.mean(1, true).round() - pixels;
  const at::Tensor each =
      (patches - 1).unsqueeze(1).expand({-1, pixels.size(1), patches.size(1), patches.size(2)});
  return 1 + translate(each, shifts).flatten(0, 1);
}

}  // namespace

Model new_model(const Scan& scan, const at::Tensor& probe, const NetworkOptions& network,
                const StemOptions& stem, std::uint64_t seed) {
  Model model;
  model.stem_options = stem;
  model.network_options = completed(network, scan.pattern_size(), stem);
  // First of all the network: one of a fixed ladder names the sizes that it knows.
  model.network =
      with_context(scan.source(), [&] { return make_network(model.network_options, seed); });
  const std::int64_t multiple = required_multiple(model.network_options);
  require(scan.pattern_size() % multiple == 0,
          "{}: patterns of {} x {} pixels do not fit the network {}, which needs a multiple of {}; "
          "--crop {} would",
          scan.source(), scan.pattern_size(), scan.pattern_size(), network.name, multiple,
          scan.pattern_size() / multiple * multiple);
  model.stem_probe = probe.clone();
  model.probe = probe.clone();
  // PtychoPINN's networks know patterns whose squares add up to (N / 2)^2.
  model.input_scale = (traits_of(network).has_stem ? 1 : 0.5) * input_scale_of(scan);
  model.photons = probe_power(scan.probe());
  model.seed = seed;
  model.input_hash = scan.input_hash();
  return model;
}

Model at_dose_of(const Scan& scan, Model model) {
  const double ratio = model.photons > 0 ? probe_power(scan.probe()) / model.photons : 1;
  if (ratio == 1) return model;
  if (std::abs(ratio - 1) > kWorthSaying)
    note(
        "{}: {:.4g} times the photons per pattern that the model was trained at; its probe is "
        "scaled to them",
        scan.source(), ratio);
  model.stem_probe = model.stem_probe * std::sqrt(ratio);
  model.probe = model.probe * std::sqrt(ratio);
  if (model.background.defined()) model.background = model.background * ratio;
  model.input_scale /= std::sqrt(ratio);
  model.photons *= ratio;
  return model;
}

void require_far_field(const Scan& scan) {
  require(!scan.geometry().near_field,
          "{}: networks know the far field only; `ptyche solve --solver ml:100` takes near-field "
          "scans",
          scan.source());
}

Scan placed_by(const Model& model, const Scan& scan) {
  const bool moved = model.moves.defined() && model.input_hash == scan.input_hash() &&
                     model.moves.sizes() == scan.positions().sizes();
  return moved ? scan.with_positions(scan.positions() + model.moves) : scan;
}

at::Tensor patches_of(const Model& model, const Scan& scan, const at::Tensor& frames,
                      const at::Tensor& channels) {
  const std::int64_t together = model.network->patterns_per_input();
  require(channels.size(0) == frames.size(0),
          "network {}: expected the channels of {} patterns, found {}", model.network_options.name,
          frames.size(0), channels.size(0));
  require(channels.size(0) % together == 0,
          "network {}: expected patterns in groups of {}, found {} patterns",
          model.network_options.name, together, channels.size(0));
  if (together == 1) return model.network->forward(channels);
  const at::Tensor patches =
      model.network->forward(channels.contiguous()
                                 .view({-1, together, channels.size(2), channels.size(3)})
                                 .contiguous(at::MemoryFormat::ChannelsLast));
  const bool shared = model.network->patches_per_input() < together;
  return shared ? shared_out(patches, scan, frames) : patches;
}

at::Tensor position_fractions(const Scan& scan, const at::Tensor& frames) {
  const at::Tensor positions = scan.positions().index_select(0, frames);
  return split_positions(positions, Interpolation::probe_fourier).rest;
}

at::Tensor input_channels(const Model& model, const Scan& scan, const at::Tensor& frames,
                          Engine engine) {
  require(scan.pattern_size() == model.pattern_size(),
          "{}: expected patterns of {} x {} pixels as the model was trained on, found {} x {}",
          scan.source(), model.pattern_size(), model.pattern_size(), scan.pattern_size(),
          scan.pattern_size());
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> chunks;
  for (std::int64_t first = 0; first < frames.size(0); first += kChunk)
    chunks.push_back(
        channels_of_chunk(model, scan, frames.slice(0, first, first + kChunk), engine));
  return at::cat(chunks).contiguous(at::MemoryFormat::ChannelsLast);
}

std::string to_string(Precision precision) {
  if (precision == Precision::automatic) return "auto";
  return precision == Precision::float32 ? "float32" : "bfloat16";
}

bool processor_has_fast_bfloat16() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(line);
    for (std::string flag; flags >> flag;)
      if (flag == "avx512_bf16" || flag == "amx_bf16") return true;
    return false;
  }
  return false;
}

Autocast::Autocast(Precision precision)
    : active_(precision == Precision::bfloat16 ||
              (precision == Precision::automatic && processor_has_fast_bfloat16())) {
  if (!active_) return;
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
}

Autocast::~Autocast() {
  if (!active_) return;
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
}

Field precision_field(Precision& precision) {
  return {
      .name = "precision",
      .target = choice(precision, {{"auto", Precision::automatic},
                                   {"float32", Precision::float32},
                                   {"bfloat16", Precision::bfloat16}}),
      .help = "of the network's arithmetic; auto = bfloat16 where the processor is faster with it"};
}

namespace {

constexpr std::int64_t kFormatVersion = 1;
constexpr const char* kGroup = "ptyche_model";

std::string path_of(const std::string& name) { return std::string(kGroup) + "/" + name; }

nlohmann::json options_json(Model model) {
  return {{"network", to_json(fields(model.network_options))},
          {"stem", to_json(fields(model.stem_options))},
          {"input_scale", model.input_scale},
          {"photons", model.photons},
          {"seed", model.seed},
          {"input_hash", model.input_hash}};
}

/// Fills all that is not a tensor. What an older file does not say keeps its default.
void apply_options(Model& model, const nlohmann::json& options) {
  from_json(fields(model.network_options), options.at("network"));
  from_json(fields(model.stem_options), options.at("stem"));
  model.input_scale = options.at("input_scale");
  model.photons = options.value("photons", 0.0);
  model.seed = options.at("seed");
  model.input_hash = options.at("input_hash");
}

at::Tensor history_table(const std::vector<EpochRecord>& history) {
  at::Tensor table = at::zeros({static_cast<std::int64_t>(history.size()), 5}, at::kDouble);
  for (std::size_t i = 0; i < history.size(); ++i)
    table[static_cast<std::int64_t>(i)].copy_(
        at::tensor({static_cast<double>(history[i].epoch), history[i].loss,
                    history[i].object_contrast, history[i].probe_change, history[i].learning_rate},
                   at::kDouble));
  return table;
}

std::vector<EpochRecord> history_from(const at::Tensor& table) {
  std::vector<EpochRecord> history;
  for (std::int64_t row = 0; row < table.size(0); ++row) {
    const auto* value = table.data_ptr<double>() + row * table.size(1);
    history.push_back(
        {static_cast<std::int64_t>(value[0]), value[1], value[2], value[3], value[4]});
  }
  return history;
}

void read_weights(const Hdf5File& file, PatchNetwork& network) {
  const at::NoGradGuard no_grad;
  for (auto& parameter : network.named_parameters()) {
    const at::Tensor stored = file.read(path_of("weights/" + parameter.key())).values;
    require(stored.sizes() == parameter.value().sizes(), "weights/{}: expected shape {}, found {}",
            parameter.key(), fmt::join(parameter.value().sizes(), " x "),
            fmt::join(stored.sizes(), " x "));
    parameter.value().copy_(stored);
  }
}

}  // namespace

void write_model_to(Hdf5File& file, const Model& model) {
  file.make_group(kGroup);
  file.set(kGroup, "format_version", kFormatVersion);
  file.set(kGroup, "options", options_json(model).dump());
  file.set(kGroup, "version", version());
  file.write(path_of("stem_probe"), model.stem_probe);
  file.write(path_of("probe"), model.probe);
  if (model.background.defined()) file.write(path_of("background"), model.background);
  if (model.moves.defined()) file.write(path_of("moves"), model.moves);
  if (!model.history.empty()) file.write(path_of("history"), history_table(model.history));
  for (const auto& parameter : model.network->named_parameters())
    file.write(path_of("weights/" + parameter.key()), parameter.value().detach().contiguous());
}

Model read_model_from(const Hdf5File& file) {
  const auto format = file.number(kGroup, "format_version");
  require(format.has_value(), "not a model file: it has no group {}", kGroup);
  require(*format == kFormatVersion, "expected model format {}, found {}; trained by ptyche {}",
          kFormatVersion, *format, file.text(kGroup, "version").value_or("unknown"));
  Model model;
  try {
    apply_options(model, nlohmann::json::parse(file.text(kGroup, "options").value_or("")));
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(fmt::format("{}/options cannot be understood: {}", kGroup, error.what()));
  }
  model.stem_probe = file.read(path_of("stem_probe")).values;
  model.probe = file.read(path_of("probe")).values;
  if (file.has(path_of("background"))) model.background = file.read(path_of("background")).values;
  if (file.has(path_of("moves"))) model.moves = file.read(path_of("moves")).values;
  if (file.has(path_of("history")))
    model.history = history_from(file.read(path_of("history")).values);
  model.network = make_network(model.network_options, model.seed);
  read_weights(file, *model.network);
  model.network->eval();
  return model;
}

void write_model(const std::filesystem::path& file, const Model& model) {
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    write_model_to(out, model);
    out.close();
  });
}

Model read_model(const std::filesystem::path& file) {
  return with_context(file.string(), [&] { return read_model_from(Hdf5File::open(file)); });
}

void write_training(const std::filesystem::path& folder, const Model& model) {
  write_model(folder / "model.ptyche", model);
  std::string table = "epoch,loss,object_contrast,probe_change,learning_rate\n";
  for (const EpochRecord& record : model.history)
    table += fmt::format("{},{:.8g},{:.6g},{:.6g},{:.6g}\n", record.epoch, record.loss,
                         record.object_contrast, record.probe_change, record.learning_rate);
  write_text(folder / "history.csv", table);
}

}  // namespace ptyche
