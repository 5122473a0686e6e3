#include "ptyche/ptychopinn/study.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/io/readers.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/report/canvas.h"
#include "ptyche/report/result_figures.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace {

void check_objects(const std::vector<LabelledObject>& objects) {
  require(!objects.empty(), "amplitude and phase: expected at least one object, found none");
  for (const auto& [label, object] : objects) {
    require(object.defined() && object.dim() == 2 && object.numel() > 0 && object.is_complex(),
            "'{}': expected a complex object (rows, cols) to draw, found none", label);
    require(at::isfinite(object).all().item<bool>(),
            "'{}': expected finite values to draw, found NaN or infinity", label);
    const at::Tensor& first = objects.front().object;
    require(object.sizes() == first.sizes(), "'{}': expected the {} pixels of '{}', found {}",
            label, fmt::join(first.sizes(), " x "), objects.front().label,
            fmt::join(object.sizes(), " x "));
  }
}

/// Colours that a phase which is 0, and some noise of it, does not fill: of at least
/// kLeastSpan_rad, then around 0.
ValueRange phase_range(const std::vector<at::Tensor>& phases) {
  constexpr double kLeastSpan_rad = 1;
  const ValueRange range = common_range(phases);
  if (range.high - range.low >= kLeastSpan_rad) return range;
  return {std::min(range.low, -0.5 * kLeastSpan_rad), std::max(range.high, 0.5 * kLeastSpan_rad)};
}

at::Tensor shown_phase(const at::Tensor& object) {
  return display_phase(object, everywhere(object)).phase_rad;
}

/// No wrap can come between two phases whose difference is small.
std::vector<at::Tensor> shown_phases(const std::vector<LabelledObject>& objects) {
  const at::Tensor& first = objects.front().object;
  std::vector<at::Tensor> phases{shown_phase(first)};
  for (std::size_t k = 1; k < objects.size(); ++k)
    phases.push_back(phases.front() + shown_phase(objects[k].object * first.conj()));
  return phases;
}

std::vector<at::Tensor> shown_amplitudes(const std::vector<LabelledObject>& objects) {
  const at::Tensor level = objects.front().object.abs().mean();
  std::vector<at::Tensor> amplitudes;
  for (const LabelledObject& each : objects) {
    const at::Tensor amplitude = each.object.abs(), mean = amplitude.mean();
    const bool dark = mean.item<double>() == 0;
    amplitudes.push_back((dark ? amplitude : amplitude * (level / mean)).to(at::kFloat));
  }
  return amplitudes;
}

CaptionedFigure row_of(const std::vector<LabelledObject>& objects,
                       const std::vector<at::Tensor>& values, const ColourBar& bar,
                       const std::string& title, double pixel_m) {
  Figure figure{title, {}, pixel_m, bar, static_cast<std::int64_t>(objects.size())};
  for (std::size_t k = 0; k < objects.size(); ++k)
    figure.panels.push_back({objects[k].label, colours(bar.map, values[k], bar.low, bar.high)});
  return {figure, "",
          fmt::format("{} of {} objects, {} by {} pixels, colours from {} to {}", title,
                      objects.size(), values[0].size(0), values[0].size(1), format_number(bar.low),
                      format_number(bar.high))};
}

/// A model of the study: its label in the results, and its network.
struct StudyModel {
  const char *label, *network;
};

constexpr std::array<StudyModel, 3> kModels{
    {{"ptyche", kOurNetwork}, {"pinn", kPtychoPinnNetwork}, {"baseline", kSupervisedNetwork}}};

}  // namespace

std::vector<std::string> known_models() {
  std::vector<std::string> labels;
  for (const StudyModel& model : kModels) labels.emplace_back(model.label);
  return labels;
}

std::string network_of(const std::string& label) {
  const auto* found =
      std::ranges::find_if(kModels, [&](const StudyModel& model) { return label == model.label; });
  require(found != kModels.end(), "expected {}, found '{}'", fmt::join(known_models(), ", "),
          label);
  return found->network;
}

TextTarget models_target(std::vector<std::string>& models) {
  return {.get = [&models] { return fmt::format("{}", fmt::join(models, ",")); },
          .set =
              [&models](const std::string& text) {
                const std::vector<std::string> found = split(text, ',');
                for (const std::string& label : found) network_of(label);
                models = found;
              }};
}

TrainOptions training_of(const std::string& label, const StudyTraining& how) {
  const std::string network = network_of(label);
  TrainOptions train;
  train.epochs = how.epochs;
  train.loss = how.loss;
  train.mae_share = how.mae_share;
  train.engine = how.engine;
  train.precision = how.precision;
  train.seed = how.seed;
  if (network != kOurNetwork) {
    train.network = how.ptychopinn;
    train.network.name = network;
    train.network.gridsize = network == kSupervisedNetwork ? 1 : how.gridsize;
    train.groups_per_batch = how.batch;
    train.learning_rate = 1e-3;
  }
  return with_known_probe(train);
}

void begin_study(const std::filesystem::path& folder, const Key& key, bool resume) {
  const std::filesystem::path file = folder / kStudyFile;
  if (resume && std::filesystem::exists(file)) {
    constexpr std::int64_t kLargestKey = 1 << 20;
    const std::vector<std::string> different = with_context(
        file.string(), [&] { return differences(key, key_from(read_bytes(file, kLargestKey))); });
    require(different.empty(), "{}: another study has begun here ({}); repeat its options",
            file.string(), fmt::join(different, "; "));
    return;
  }
  if (resume) note("--resume: there is no {}; the study starts from the beginning", file.string());
  write_text(file, to_text(key));
}

TrainOptions with_known_probe(TrainOptions options) {
  options.probe_start = "guess";
  options.fixed_probe = true;
  options.background = false;
  return options;
}

void require_network(const NetworkOptions& network, std::int64_t size) {
  make_network(completed(network, size, StemOptions{}), 1);
}

void write_recon(const std::filesystem::path& folder, const at::Tensor& image) {
  std::filesystem::create_directories(folder);
  write_npz(folder / kReconFile,
            {{"YY_pred", image}, {"amp", image.abs()}, {"phase", image.angle()}});
}

at::Tensor read_recon(const std::filesystem::path& folder, const at::Tensor& truth) {
  const std::filesystem::path file = folder / kReconFile;
  const at::Tensor image = read_object_file(file).projection();
  require(image.sizes() == truth.sizes(), "{}: YY_pred: expected {} pixels, found {}",
          file.string(), fmt::join(truth.sizes(), " x "), fmt::join(image.sizes(), " x "));
  return image;
}

Field resume_field(bool& resume) {
  return {.name = "resume",
          .target = &resume,
          .help =
              "continuation of the study in the output folder: networks that are done are not "
              "trained again",
          .affects_result = false};
}

AmplitudeAndPhaseFigures amplitude_phase_figures(const std::vector<LabelledObject>& objects,
                                                 double pixel_m) {
  check_objects(objects);
  const auto amplitudes = shown_amplitudes(objects), phases = shown_phases(objects);
  const ValueRange range = common_range(amplitudes);
  const ColourBar bar{ColourMap::sequential, range.low, range.high, "amplitude"};
  AmplitudeAndPhaseFigures rows{
      row_of(objects, amplitudes, bar, "Amplitude", pixel_m),
      row_of(objects, phases, phase_colours(phase_range(phases)), "Phase", pixel_m)};
  rows.amplitude.caption = fmt::format(
      "In one range of colours: the 1st to the 99th percentile of all. Scaled to the mean of {}.",
      objects.front().label);
  rows.phase.caption = fmt::format(
      "In one range of colours. For display only, the mean phase and the linear ramp of {} are "
      "taken from it, and those of the difference to it from each other.",
      objects.front().label);
  return rows;
}

Picture amplitude_phase_picture(const std::vector<LabelledObject>& objects, double pixel_m) {
  const auto [amplitude, phase] = amplitude_phase_figures(objects, pixel_m);
  return {render_stacked_png({amplitude.figure, phase.figure}), amplitude.alt + "; " + phase.alt,
          "Amplitude: " + amplitude.caption + " Phase: " + phase.caption};
}

}  // namespace ptyche
