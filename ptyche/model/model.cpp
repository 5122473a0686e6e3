#include "ptyche/model/model.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/int8_convolution.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/resample.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {

namespace {

constexpr std::int64_t kChunk = 64;                           // patterns at a time; bounds memory
constexpr std::int64_t kPixelsHere = std::int64_t{1} << 18;   // of patterns at a time on the CPU
constexpr std::int64_t kPixelsThere = std::int64_t{1} << 23;  // on a GPU

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
  at::Tensor counts = counts_in_fft_order(scan, frames);
  if (model.stem_background.defined())
    counts = (counts - to_fft_order(model.stem_background)).clamp_min_(0);
  const at::Tensor amplitudes = counts.sqrt_() * mask;
  if (!traits_of(model.network_options).has_stem)
    return to_centred(amplitudes).mul(model.input_scale).unsqueeze(1);
  const at::Tensor probes = fourier_shift(
      model.stem_probe, position_fractions(scan, frames).to(model.stem_probe.device()));
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
  return 1 + translate(each, shifts.to(each.device())).flatten(0, 1);
}

/// The network's patches (k, N, N) for channels (k, c, N, N) of any N: they are continued at their
/// edges up to a size that it can halve at every level, and the patches are cut to N again.
at::Tensor patches_of_any_size(const Model& model, const at::Tensor& channels) {
  const std::int64_t multiple = required_multiple(model.network_options), size = channels.size(3);
  const std::int64_t more = (multiple - size % multiple) % multiple, before = more / 2;
  if (more == 0) return model.network->forward(channels);
  const at::Tensor padded =
      at::replication_pad2d(channels.contiguous(), {before, more - before, before, more - before});
  return model.network->forward(padded.contiguous(at::MemoryFormat::ChannelsLast))
      .narrow(1, before, size)
      .narrow(2, before, size);
}

}  // namespace

std::vector<std::pair<std::string, TrainRecipe>> recipe_names() {
  return {{"ptyche", TrainRecipe::ptyche}, {"ptychopinn", TrainRecipe::ptychopinn}};
}

at::Tensor central_square(std::int64_t size, std::int64_t side) {
  at::Tensor square = at::zeros({size, size});
  const std::int64_t first = (size - side) / 2;
  square.narrow(0, first, side).narrow(1, first, side).fill_(1);
  return square;
}

LearnedScan untrained_on(const Scan& scan, const at::Tensor& probe, const NetworkOptions& network) {
  LearnedScan learned;
  learned.stem_probe = probe.clone();
  learned.probe = probe.clone();
  // PtychoPINN's networks know patterns whose squares add up to (N / 2)^2.
  learned.input_scale = (traits_of(network).has_stem ? 1 : 0.5) * input_scale_of(scan);
  learned.photons = probe_power(scan.probe());
  learned.input_hash = scan.input_hash();
  return learned;
}

Model new_model(const Scan& scan, const at::Tensor& probe, const NetworkOptions& network,
                const StemOptions& stem, std::uint64_t seed) {
  Model model;
  model.stem_options = stem;
  model.network_options = completed(network, scan.pattern_size(), stem);
  // First of all the network: one of a fixed ladder names the sizes that it knows.
  model.network =
      with_context(scan.source(), [&] { return make_network(model.network_options, seed); });
  static_cast<LearnedScan&>(model) = untrained_on(scan, probe, network);
  model.seed = seed;
  return model;
}

namespace {

/// What the model was trained to for this scan; null where it never saw it.
const LearnedScan* learned_of(const Model& model, const Scan& scan) {
  const auto is_it = [&](const LearnedScan& learned) {
    return !scan.input_hash().empty() && learned.input_hash == scan.input_hash() &&
           learned.probe.size(-1) == scan.pattern_size();
  };
  if (is_it(model)) return &model;
  const auto found = std::ranges::find_if(model.more, is_it);
  return found == model.more.end() ? nullptr : &*found;
}

bool knows_one_scan(const Model& model) { return model.more.empty() && !model.any_scan; }

}  // namespace

Model model_for(const Scan& scan, Model model, ProbeSource source) {
  if (source == ProbeSource::model) {
    require(!model.any_scan, "--probe model: expected a network of one's own scans, found {}",
            "one for any scan, which has no probe of its own");
    return model;
  }
  if (source == ProbeSource::automatic) {
    if (knows_one_scan(model)) return model;
    if (const LearnedScan* learned = learned_of(model, scan)) {
      const LearnedScan kept = *learned;
      static_cast<LearnedScan&>(model) = kept;
      return model;
    }
    if (!scan.probe_given() && !model.any_scan) {
      note("{}: it has no probe; the model's own is used", scan.source());
      return model;
    }
  }
  require(traits_of(model.network_options).has_stem ||
              scan.pattern_size() == model.network_options.pattern_size,
          "{0}: expected patterns of {1} x {1} pixels, which the network {2} was built for, found "
          "{3} x {3}",
          scan.source(), model.network_options.pattern_size, model.network_options.name,
          scan.pattern_size());
  static_cast<LearnedScan&>(model) = untrained_on(scan, scan.probe(), model.network_options);
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
  for (at::Tensor* background : {&model.background, &model.stem_background})
    if (background->defined()) *background = *background * ratio;
  model.input_scale /= std::sqrt(ratio);
  model.photons *= ratio;
  return model;
}

namespace {

Model with_own_network(const Model& model) {
  const at::NoGradGuard no_grad;
  Model copy = model;
  copy.network = make_network(model.network_options, model.seed);
  const std::vector<at::Tensor> from = model.network->parameters();
  const std::vector<at::Tensor> to = copy.network->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
  return copy;
}

}  // namespace

Model on_device(const Model& model, at::Device device) {
  if (device.is_cpu()) return model;
  Model there = with_own_network(model);
  move_network(*there.network, device);
  for (at::Tensor* array :
       {&there.stem_probe, &there.probe, &there.background, &there.stem_background})
    if (array->defined()) *array = array->to(device);
  return there;
}

void require_far_field(const Scan& scan) {
  require(!scan.geometry().near_field,
          "{}: networks know the far field only; `ptyche reconstruct` without --train takes "
          "near-field scans",
          scan.source());
}

Scan placed_by(const Model& model, const Scan& scan) {
  const bool moved = model.position_corrections.defined() &&
                     model.input_hash == scan.input_hash() &&
                     model.position_corrections.sizes() == scan.positions().sizes();
  return moved ? scan.with_positions(scan.positions() + model.position_corrections) : scan;
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
  if (together == 1) return patches_of_any_size(model, channels);
  const at::Tensor patches =
      patches_of_any_size(model, channels.contiguous()
                                     .view({-1, together, channels.size(2), channels.size(3)})
                                     .contiguous(at::MemoryFormat::ChannelsLast));
  const bool shared = model.network->patches_per_input() < together;
  return shared ? shared_out(patches, scan, frames) : patches;
}

at::Tensor position_fractions(const Scan& scan, const at::Tensor& frames) {
  const at::Tensor positions = scan.positions().index_select(0, frames);
  return split_positions(positions, Interpolation::probe_fourier).rest;
}

std::int64_t patterns_at_once(std::int64_t pattern_size, at::Device device) {
  const std::int64_t pixels = pattern_size * pattern_size;
  if (device.is_cpu()) return std::clamp(kPixelsHere / pixels, std::int64_t{4}, kChunk);
  return std::clamp(kPixelsThere / pixels, kChunk, std::int64_t{2048});
}

at::Tensor input_channels(const Model& model, const Scan& scan, const at::Tensor& frames,
                          Engine engine) {
  require(scan.pattern_size() == model.pattern_size(),
          "{}: expected patterns of {} x {} pixels as the model was trained on, found {} x {}",
          scan.source(), model.pattern_size(), model.pattern_size(), scan.pattern_size(),
          scan.pattern_size());
  const at::NoGradGuard no_grad;
  const std::int64_t chunk = patterns_at_once(scan.pattern_size(), scan.counts().device());
  std::vector<at::Tensor> chunks;
  for (std::int64_t first = 0; first < frames.size(0); first += chunk)
    chunks.push_back(channels_of_chunk(model, scan, frames.slice(0, first, first + chunk), engine));
  const at::Tensor all = chunks.size() == 1 ? chunks.front() : at::cat(chunks);
  return all.contiguous(at::MemoryFormat::ChannelsLast);
}

void require_precision(const Model& model, Precision precision, at::Device device) {
  if (precision != Precision::int8) return;
  require(
      device.is_cpu() && processor_multiplies_bytes(),
      "--precision int8: expected a CPU with avx512_vnni or avx_vnni (in /proc/cpuinfo), found {}",
      device.is_cpu() ? "one without" : "another device");
  const bool has_layers = traits_of(model.network_options).has_stem;
  require(has_layers, "--precision int8: expected the network unet, found {}",
          model.network_options.name);
  require(model.network->can_multiply_bytes(),
          "--precision int8: expected finite weights, found NaN or infinity");
}

Model in_bytes(const Model& model, Precision precision) {
  require_precision(model, precision, model.probe.device());
  const bool fast = model.probe.is_cpu() && processor_has_fast_bfloat16() &&
                    processor_multiplies_bytes() && model.network->can_multiply_bytes();
  if (precision != Precision::int8 && !(precision == Precision::automatic && fast)) return model;
  Model copy = with_own_network(model);
  copy.network->multiply_bytes();
  return copy;
}

namespace {

constexpr std::int64_t kFormatVersion = 1;
constexpr const char* kGroup = "ptyche_model";

std::string path_of(const std::string& name) { return std::string(kGroup) + "/" + name; }

nlohmann::json numbers_of(const LearnedScan& learned) {
  return {{"input_scale", learned.input_scale},
          {"photons", learned.photons},
          {"input_hash", learned.input_hash}};
}

nlohmann::json options_json(Model model) {
  nlohmann::json options = numbers_of(model);
  options.update({{"network", to_json(fields(model.network_options))},
                  {"stem", to_json(fields(model.stem_options))},
                  {"seed", model.seed},
                  {"recipe", choice(model.recipe, recipe_names()).get()},
                  {"training", model.training}});
  for (const LearnedScan& learned : model.more) options["more"].push_back(numbers_of(learned));
  if (model.any_scan) options["any_scan"] = true;
  return options;
}

void take_numbers(LearnedScan& learned, const nlohmann::json& options) {
  learned.input_scale = options.at("input_scale");
  learned.photons = options.value("photons", 0.0);
  learned.input_hash = options.at("input_hash");
  require(learned.input_scale > 0 && learned.input_scale < kLargestNumber && learned.photons >= 0 &&
              learned.photons < kLargestNumber,
          "{}/options: expected an input_scale above 0 and photons >= 0, found {} and {}", kGroup,
          learned.input_scale, learned.photons);
}

/// Fills all that is not a tensor. What an older file does not say keeps its default.
void apply_options(Model& model, const nlohmann::json& options) {
  ptyche::from_json(fields(model.network_options), options.at("network"));
  ptyche::from_json(fields(model.stem_options), options.at("stem"));
  take_numbers(model, options);
  require(options.at("seed").is_number_unsigned(), "{}/options: expected a seed >= 0, found {}",
          kGroup, options.at("seed").dump());
  model.seed = options.at("seed");
  if (options.contains("recipe"))
    with_context(fmt::format("{}/options: recipe", kGroup), [&] {
      choice(model.recipe, recipe_names()).set(options.at("recipe").get<std::string>());
    });
  model.training = options.value("training", Key());
  model.any_scan = options.value("any_scan", false);
  if (options.contains("more"))
    for (const nlohmann::json& learned : options.at("more"))
      take_numbers(model.more.emplace_back(), learned);
}

// A network of a file is bounded by the file before it is built: these many levels and stem steps
// are more than any that is trained (3 and 2).
constexpr std::size_t kMostLevels = 16, kMostStemSteps = 64;

/// Throws InvalidInput for a network that cannot be the one whose weights the file holds, before
/// memory is taken for it.
void require_network_of(const NetworkOptions& network, const StemOptions& stem, std::int64_t size,
                        std::int64_t stored_bytes) {
  const std::int64_t widest = network.name == "unet" && !network.widths.empty()
                                  ? *std::ranges::max_element(network.widths)
                                  : 32 * network.filters_scale;
  require(network.widths.size() <= kMostLevels && stem.steps.size() <= kMostStemSteps,
          "options: expected at most {} levels and {} stem steps, found {} and {}", kMostLevels,
          kMostStemSteps, network.widths.size(), stem.steps.size());
  const double least_bytes = 4.0 * static_cast<double>(widest) * static_cast<double>(widest);
  require(least_bytes <= static_cast<double>(stored_bytes),
          "options: expected a network that fits into {} bytes, found one of {} features",
          stored_bytes, widest);
  const std::int64_t channels = completed(network, size, stem).channels;
  require(network.channels == channels, "options: expected a network of {} channels, found {}",
          channels, network.channels);
}

constexpr const char* kProbe = "probe";

/// Where the arrays of the model's own scan are, or of a further one.
std::string folder_of(std::size_t scan) {
  return scan == 0 ? kGroup : fmt::format("{}/scans/{:05}", kGroup, scan + 1);
}

/// The arrays of a scan with patterns of N x N pixels.
struct LearnedLayout {
  DatasetLayout stem_probe, probe, background, moves;

  LearnedLayout(const std::string& folder, std::int64_t size)
      : stem_probe{folder + "/stem_probe", at::kComplexFloat, {kAnyLength, size, size}},
        probe{folder + "/" + kProbe, at::kComplexFloat, {kAnyLength, size, size}},
        background{folder + "/background", at::kFloat, {size, size}, 0},
        moves{folder + "/moves",
              at::kDouble,
              {kAnyLength, 2},
              -static_cast<double>(size),
              static_cast<double>(size)} {}
};

DatasetLayout history_layout() { return {path_of("history"), at::kDouble, {kAnyLength, 5}}; }

DatasetLayout validation_layout() { return {path_of("validation"), at::kDouble, {kAnyLength}}; }

at::Tensor read_probe(const Hdf5File& file, const DatasetLayout& layout) {
  constexpr std::int64_t kLargestSide = 16384, kMostModes = 1024;
  at::Tensor probe = read(file, layout);
  require(probe.size(0) >= 1 && probe.size(0) <= kMostModes && probe.size(1) == probe.size(2) &&
              probe.size(1) >= 2 && probe.size(1) <= kLargestSide && probe.size(1) % 2 == 0,
          "{}: expected (modes, N, N) with even N, found {}", layout.path, describe(probe));
  require(probe_power(probe) > 0, "{}: expected light, found {}", layout.path, "all values zero");
  return probe;
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

/// The losses of the first epochs that have one.
at::Tensor validation_column(const std::vector<EpochRecord>& history) {
  std::vector<double> losses;
  for (const EpochRecord& record : history)
    if (record.validation_loss) losses.push_back(*record.validation_loss);
  return at::tensor(losses, at::kDouble);
}

void add_validation(std::vector<EpochRecord>& history, const at::Tensor& losses) {
  require(losses.numel() == static_cast<std::int64_t>(history.size()),
          "{}: expected a loss for each of {} epochs, found {}", path_of("validation"),
          history.size(), losses.numel());
  for (std::size_t row = 0; row < history.size(); ++row)
    history[row].validation_loss = losses[static_cast<std::int64_t>(row)].item<double>();
}

std::vector<EpochRecord> history_from(const at::Tensor& table) {
  std::vector<EpochRecord> history;
  for (std::int64_t row = 0; row < table.size(0); ++row) {
    const auto* value = table.data_ptr<double>() + row * table.size(1);
    history.push_back(
        {.epoch = whole_number(value[0], path_of("history") + ": epoch", 0, 1'000'000'000),
         .loss = value[1],
         .object_contrast = value[2],
         .probe_change = value[3],
         .learning_rate = value[4]});
  }
  return history;
}

void read_weights(const Hdf5File& file, PatchNetwork& network) {
  const at::NoGradGuard no_grad;
  for (auto& parameter : network.named_parameters()) {
    const std::string path = path_of("weights/" + parameter.key());
    parameter.value().copy_(read(file, like(parameter.value(), path)));
  }
}

void write_learned(Hdf5File& file, const LearnedScan& learned, const std::string& folder) {
  const LearnedLayout layout(folder, learned.probe.size(-1));
  write(file, layout.stem_probe, learned.stem_probe);
  write(file, layout.probe, learned.probe);
  if (learned.background.defined()) write(file, layout.background, learned.background);
  if (learned.position_corrections.defined())
    write(file, layout.moves, learned.position_corrections);
}

void read_learned(const Hdf5File& file, LearnedScan& learned, const std::string& folder) {
  learned.probe = read_probe(file, LearnedLayout(folder, kAnyLength).probe);
  const LearnedLayout layout(folder, learned.probe.size(-1));
  learned.stem_probe = read_probe(file, layout.stem_probe);
  learned.background = read_if_there(file, layout.background);
  learned.position_corrections = read_if_there(file, layout.moves);
}

}  // namespace

std::vector<std::pair<std::string, WeightType>> weight_type_names() {
  return {{"float32", WeightType::float32}, {"float16", WeightType::float16}};
}

void write_model_to(Hdf5File& file, const Model& model, WeightType weights) {
  file.make_group(kGroup);
  file.set(kGroup, "format_version", kFormatVersion);
  file.set(kGroup, "options", options_json(model).dump());
  file.set(kGroup, "version", version());
  write_learned(file, model, folder_of(0));
  for (std::size_t scan = 1; scan <= model.more.size(); ++scan)
    write_learned(file, model.more[scan - 1], folder_of(scan));
  if (!model.history.empty()) write(file, history_layout(), history_table(model.history));
  if (!model.history.empty() && model.history.front().validation_loss)
    write(file, validation_layout(), validation_column(model.history));
  for (const auto& parameter : model.network->named_parameters()) {
    const at::Tensor values = parameter.value().detach().contiguous().to(
        weights == WeightType::float16 ? at::kHalf : at::kFloat);
    write(file, like(values, path_of("weights/" + parameter.key())), values);
  }
}

Model read_model_from(const Hdf5File& file) {
  const auto format = file.number(kGroup, "format_version");
  require(format.has_value(), "not a model file: it has no group {}", kGroup);
  require(*format == kFormatVersion, "expected model format {}, found {}; trained by ptyche {}",
          kFormatVersion, *format, file.text(kGroup, "version").value_or("unknown"));
  Model model;
  const std::string options = file.text(kGroup, "options").value_or("");
  require_shallow(options, "options", 16);
  try {
    apply_options(model, nlohmann::json::parse(options));
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(fmt::format("{}/options cannot be understood: {}", kGroup, error.what()));
  }
  read_learned(file, model, folder_of(0));
  for (std::size_t scan = 1; scan <= model.more.size(); ++scan)
    read_learned(file, model.more[scan - 1], folder_of(scan));
  if (file.has(history_layout().path)) model.history = history_from(read(file, history_layout()));
  if (file.has(validation_layout().path))
    add_validation(model.history, read(file, validation_layout()));
  require_network_of(model.network_options, model.stem_options, model.pattern_size(), file.size());
  model.network = make_network(model.network_options, model.seed);
  read_weights(file, *model.network);
  model.network->eval();
  return model;
}

void write_model(const std::filesystem::path& file, const Model& model, WeightType weights) {
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    write_model_to(out, model, weights);
    out.close();
  });
}

Model read_model(const std::filesystem::path& file) {
  return with_file(file, [&] { return read_model_from(Hdf5File::open(file)); });
}

void write_training(const std::filesystem::path& folder, const Model& model, WeightType weights) {
  write_model(folder / "model.ptyche", model, weights);
  const bool validated = !model.history.empty() && model.history.front().validation_loss;
  std::string table = fmt::format("epoch,loss,object_contrast,probe_change,learning_rate{}\n",
                                  validated ? ",validation_loss" : "");
  for (const EpochRecord& record : model.history) {
    table += fmt::format("{},{:.8g},{:.6g},{:.6g},{:.6g}", record.epoch, record.loss,
                         record.object_contrast, record.probe_change, record.learning_rate);
    if (record.validation_loss) table += fmt::format(",{:.8g}", *record.validation_loss);
    table += "\n";
  }
  write_text(folder / "history.csv", table);
}

}  // namespace ptyche
