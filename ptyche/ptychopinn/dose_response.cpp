#include "ptyche/ptychopinn/dose_response.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/random.h"
#include "ptyche/data/array.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/infer/infer.h"
#include "ptyche/model/model.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/ptychopinn/study.h"
#include "ptyche/report/figure.h"
#include "ptyche/report/result_figures.h"
#include "ptyche/simulate/objects.h"
#include "ptyche/simulate/probes.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPositionsAtOnce = 256;

std::filesystem::path run_folder(const DoseResponseOptions& options, const DoseArm& arm) {
  return options.output / "runs" / arm.label;
}

std::filesystem::path recon_folder(const DoseResponseOptions& options, const DoseArm& arm) {
  return options.output / "recons" / arm.label;
}

void check(const DoseResponseOptions& options) {
  require_in_range(options);
  require(options.object_size > 2 * options.buffer_px + 1,
          "dose response: expected an object larger than twice the buffer, found {} px and {} px",
          options.object_size, options.buffer_px);
}

Key study_key(DoseResponseOptions options) {
  return key_of(joined(
      {fields(options), {engine_field(options.engine), precision_field(options.precision)}}));
}

/// (n, 2), uniform; the drawing has N / 2 pixels more on each side, so that every patch is on it.
at::Tensor positions_of(const DoseResponseOptions& options, std::int64_t count,
                        std::uint64_t seed) {
  at::Tensor positions = at::empty({count, 2}, at::kDouble);
  RandomStream stream(seed, Purpose::positions);
  const auto extent = static_cast<double>(options.object_size - 2 * options.buffer_px - 1);
  const auto first = static_cast<double>(options.pattern_size / 2 + options.buffer_px);
  auto* value = positions.data_ptr<double>();
  for (std::int64_t i = 0; i < 2 * count; ++i) value[i] = first + extent * stream.uniform();
  return positions;
}

/// Amplitude 0.5 to 1.5, no phase.
at::Tensor drawing_of(const DoseResponseOptions& options, std::uint64_t seed) {
  const at::Tensor lines =
      line_drawing(options.object_size + options.pattern_size, static_cast<std::uint32_t>(seed));
  return (0.5 + lines / lines.max()).to(at::kComplexFloat);
}

Scan measure(const DoseResponseOptions& options, std::int64_t count, double photons,
             std::uint64_t seed) {
  ScanFields fields;
  fields.truth = drawing_of(options, seed);
  fields.positions = positions_of(options, count, seed);
  const at::Tensor object = fields.truth.to(at::kComplexDouble);
  at::Tensor probe = default_probe(options.pattern_size).to(at::kComplexDouble).unsqueeze(0);
  std::vector<at::Tensor> expected;
  for (const at::Tensor& batch : fields.positions.split(kPositionsAtOnce))
    expected.push_back(predict_intensity(object, probe, batch, Interpolation::probe_fourier, {}));
  const at::Tensor intensity = to_centred(at::cat(expected));
  const double scale = photons / intensity.sum({1, 2}).mean().item<double>();
  fields.probe = (probe * std::sqrt(scale)).to(at::kComplexFloat);
  fields.counts = in_smallest_exact_type(
      poisson_draws(intensity * scale, at::arange(count), seed, Purpose::noise).to(at::kInt));
  fields.source = "drawing of lines";
  return Scan(std::move(fields));
}

Model train_arm(const DoseResponseOptions& options, const Scan& scan, const DoseArm& arm) {
  TrainOptions train_options;
  train_options.network = options.network;
  train_options.network.gridsize = options.gridsize;
  train_options.network.amplitude_range = 2;  // the object's amplitude goes up to 1.5
  train_options.epochs = options.epochs;
  train_options.groups_per_batch = options.batch;
  train_options.learning_rate = 1e-3;
  train_options.loss = arm.loss;
  train_options.checkpoint = run_folder(options, arm) / "checkpoint.ptyche";
  train_options.resume = options.resume && std::filesystem::exists(train_options.checkpoint);
  train_options.engine = options.engine;
  train_options.precision = options.precision;
  train_options.seed = options.seed;
  const at::Tensor groups =
      fixed_groups(scan, {.gridsize = options.gridsize,
                          .count = options.groups > 0 ? options.groups : options.train_patterns,
                          .neighbours = options.neighbours,
                          .seed = options.seed});
  return train(scan, groups_of(groups, options.seed), with_known_probe(train_options));
}

/// Where the positions lie: what is shown and scored. `object`'s pixel (0, 0) is `row`, `col`.
at::Tensor scanned_part(const DoseResponseOptions& options, const at::Tensor& object,
                        std::int64_t row = 0, std::int64_t col = 0) {
  const std::int64_t first = options.pattern_size / 2 + options.buffer_px;
  const std::int64_t last = first + options.object_size - 2 * options.buffer_px;
  return cut(object, {first - row, last - row, first - col, last - col}).contiguous();
}

/// The object with its mean where hardly any light falls, which would be noise of any size: the
/// positions are drawn at random and leave gaps.
at::Tensor with_flat_dark(const Reconstruction& image) {
  const at::Tensor lit = lit_pixels(image);
  return at::where(lit, image.projection(), image.projection().masked_select(lit).mean());
}

/// Files of the arms that are done.
void write_arms(const std::filesystem::path& folder, const std::vector<DoseArm>& arms) {
  nlohmann::ordered_json history;
  std::vector<LabelledMetrics> metrics;
  for (const DoseArm& arm : arms) {
    std::vector<double> losses;
    for (const EpochRecord& record : arm.history) losses.push_back(record.loss);
    history[arm.label] = {{"nphotons", arm.photons}, {"loss", losses}};
    metrics.push_back({arm.label, arm.scores});
  }
  write_text(folder / "training_history.json", history.dump(2));
  write_text(folder / "metrics.json", metrics_json(metrics));
}

Figure dose_figure(const std::vector<Scan>& scans, const std::vector<std::string>& titles) {
  std::vector<at::Tensor> patterns;
  for (const Scan& scan : scans) patterns.push_back((scan.counts()[0].to(at::kFloat) + 1).log10());
  const double high = patterns.front().max().item<double>();
  Figure figure{"One pattern of each dose",
                {},
                0,
                ColourBar{ColourMap::sequential, 0, high, "log10(counts + 1)"},
                2};
  figure.axis_unit = "detector pixel";
  for (std::size_t i = 0; i < patterns.size(); ++i)
    figure.panels.push_back({titles[i], colours(ColourMap::sequential, patterns[i], 0, high)});
  return figure;
}

Figure arm_figure(const at::Tensor& truth, const std::vector<DoseArm>& arms) {
  const auto over_mean = [](const at::Tensor& object) {
    return object.abs() / object.abs().mean();
  };
  std::vector<at::Tensor> amplitudes{over_mean(truth)};
  for (const DoseArm& arm : arms) amplitudes.push_back(over_mean(arm.image));
  const ValueRange range = common_range(amplitudes);
  Figure figure{"Amplitude over its mean",
                {},
                0,
                ColourBar{ColourMap::sequential, range.low, range.high, "amplitude over its mean"},
                3};
  const auto add = [&](const std::string& title, const at::Tensor& amplitude) {
    figure.panels.push_back(
        {title, colours(ColourMap::sequential, amplitude, range.low, range.high)});
  };
  add("truth", amplitudes.front());
  for (std::size_t i = 0; i < arms.size(); ++i)
    add(fmt::format("{}: error {:.3f}", arms[i].label, arms[i].scores.image.aligned.nrmse_contrast),
        amplitudes[i + 1]);
  return figure;
}

/// As an earlier run has left it; false where that had not come to its end.
bool take_finished(const DoseResponseOptions& options, DoseArm& arm, const Scan& test) {
  if (!options.resume || !std::filesystem::exists(recon_folder(options, arm) / kReconFile))
    return false;
  const at::Tensor truth = scanned_part(options, test.truth());
  arm.image = read_recon(recon_folder(options, arm), truth);
  arm.scores = metrics_beside_flat(truth, arm.image);
  arm.history = read_model(run_folder(options, arm) / "model.ptyche").history;
  note("{}: done before", arm.label);
  return true;
}

DoseArm run_arm(const DoseResponseOptions& options, DoseArm arm, const Scan& learn,
                const Scan& test) {
  if (take_finished(options, arm, test)) return arm;
  note("{}: training", arm.label);
  std::filesystem::create_directories(run_folder(options, arm));
  const Model model = train_arm(options, learn, arm);
  write_training(run_folder(options, arm), model);
  const Reconstruction image =
      stitch(infer(model, test, {.precision = options.precision, .engine = options.engine}), test);
  arm.image = scanned_part(options, with_flat_dark(image), image.origin_row, image.origin_col);
  write_recon(recon_folder(options, arm), arm.image);
  arm.scores = metrics_beside_flat(scanned_part(options, test.truth()), arm.image);
  arm.history = model.history;
  return arm;
}

}  // namespace

std::vector<Field> fields(DoseResponseOptions& options) {
  return {{.name = "N",
           .target = &options.pattern_size,
           .unit = "px",
           .help = "side of a pattern",
           .range = {16, 1024}},
          {.name = "gridsize",
           .target = &options.gridsize,
           .help = "side of a group, which has gridsize^2 patterns",
           .range = {1, 8}},
          {.name = "network",
           .target = &options.network.name,
           .help = "our network, or PtychoPINN's",
           .choices = {kOurNetwork, kPtychoPinnNetwork}},
          {.name = "train-patterns",
           .target = &options.train_patterns,
           .unit = "patterns",
           .help = "number of patterns of the drawing to train on",
           .range = {1, 1e6},
           .aliases = {"n-train"}},
          {.name = "test-patterns",
           .target = &options.test_patterns,
           .unit = "patterns",
           .help = "number of patterns of the drawing that is scored",
           .range = {1, 1e6},
           .aliases = {"n-test"}},
          {.name = "n-groups",
           .target = &options.groups,
           .unit = "groups",
           .help = "number of groups to train on; 0 = one around every pattern",
           .range = {0, 1e6}},
          {.name = "neighbor-count",
           .target = &options.neighbours,
           .unit = "patterns",
           .help = "number of nearest patterns from which a group is drawn",
           .range = {1, 4096}},
          {.name = "object-size",
           .target = &options.object_size,
           .unit = "px",
           .help = "side of a drawing",
           .range = {32, 1e4}},
          {.name = "buffer",
           .target = &options.buffer_px,
           .unit = "px",
           .help = "least distance of a position from the drawing's edges",
           .range = {0, 1e4}},
          {.name = "mean-counts-high",
           .target = &options.high_photons,
           .unit = "photons",
           .help = "mean counts of a pattern at the high dose",
           .range = {1, 1e10},
           .aliases = {"nphotons-high"}},
          {.name = "mean-counts-low",
           .target = &options.low_photons,
           .unit = "photons",
           .help = "mean counts of a pattern at the low dose",
           .range = {1, 1e10},
           .aliases = {"nphotons-low"}},
          {.name = "epochs",
           .target = &options.epochs,
           .help = "passes over the training groups",
           .range = {1, 1e6},
           .aliases = {"nepochs"}},
          {.name = "groups-per-batch",
           .target = &options.batch,
           .unit = "groups",
           .help = "groups in a training step",
           .range = {1, 1e5},
           .aliases = {"batch-size"}},
          {.name = "seed",
           .target = &options.seed,
           .help = "seed of drawings, positions, noise and networks"},
          resume_field(options.resume)};
}

std::vector<Figure> dose_figures(const std::vector<Scan>& scans,
                                 const std::vector<std::string>& titles, const at::Tensor& truth,
                                 const std::vector<DoseArm>& arms) {
  return {dose_figure(scans, titles), arm_figure(truth, arms)};
}

std::vector<DoseArm> run_dose_response(const DoseResponseOptions& options) {
  check(options);
  begin_study(options.output, study_key(options), options.resume);
  std::vector<Scan> learn, test;
  std::vector<std::string> titles;
  for (const double photons : {options.high_photons, options.low_photons}) {
    learn.push_back(measure(options, options.train_patterns, photons, 2 * options.seed - 1));
    test.push_back(measure(options, options.test_patterns, photons, 2 * options.seed));
    titles.push_back(fmt::format("{:.3g} photons", photons));
  }
  std::filesystem::create_directories(options.output / "reports");
  const at::Tensor truth = scanned_part(options, test.front().truth());
  write_recon(options.output / "recons" / "gt", truth);
  std::vector<DoseArm> arms;
  for (std::size_t dose = 0; dose < learn.size(); ++dose)
    for (const LossKind loss : {LossKind::poisson, LossKind::amplitude_absolute}) {
      const std::string label = fmt::format("{}_{}", dose == 0 ? "high" : "low",
                                            loss == LossKind::poisson ? "nll" : "mae");
      const double photons = dose == 0 ? options.high_photons : options.low_photons;
      arms.push_back(run_arm(options, {.label = label, .photons = photons, .loss = loss},
                             learn[dose], test[dose]));
      write_arms(options.output, arms);
      write_text(options.output / "reports" / "dose_comparison.png",
                 render_stacked_png(dose_figures(test, titles, truth, arms)));
    }
  return arms;
}

}  // namespace ptyche
