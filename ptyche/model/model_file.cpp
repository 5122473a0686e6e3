#include "ptyche/model/model_file.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/version.h"
#include "ptyche/nn/patch_network.h"

namespace ptyche {
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
