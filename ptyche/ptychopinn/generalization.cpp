#include "ptyche/ptychopinn/generalization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/infer/infer.h"
#include "ptyche/model/model.h"
#include "ptyche/ptychopinn/compare_models.h"
#include "ptyche/report/curves.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

// The scores.

std::vector<StudyScore> scores_of(const ImageMetrics& metrics) {
  constexpr std::pair<const char*, double PtychoPinnNumbers::*> kNumbers[] = {
      {"mae", &PtychoPinnNumbers::mae},         {"mse", &PtychoPinnNumbers::mse},
      {"psnr", &PtychoPinnNumbers::psnr},       {"ssim", &PtychoPinnNumbers::ssim},
      {"ms_ssim", &PtychoPinnNumbers::ms_ssim}, {"frc50", &PtychoPinnNumbers::frc50}};
  std::vector<StudyScore> scores;
  for (const auto& [name, number] : kNumbers) {
    scores.push_back({name, "amplitude", metrics.ptychopinn.amplitude.*number});
    scores.push_back({name, "phase", metrics.ptychopinn.phase.*number});
  }
  scores.push_back({"psnr_true_range", "amplitude", metrics.aligned.psnr_amplitude});
  scores.push_back({"psnr_true_range", "phase", metrics.aligned.psnr_phase});
  scores.push_back({"nrmse_contrast", "", metrics.aligned.nrmse_contrast});
  return scores;
}

/// As the score is called in pictures.
std::string label_of(const std::string& metric, const std::string& channel) {
  constexpr std::pair<std::string_view, const char*> kWords[] = {
      {"mae", "mean absolute error"},
      {"mse", "mean squared error"},
      {"psnr", "peak signal-to-noise ratio (dB, peak 255)"},
      {"ssim", "structural similarity"},
      {"ms_ssim", "structural similarity at several scales"},
      {"frc50", "ring at which the correlation falls below 0.5"},
      {"psnr_true_range", "peak signal-to-noise ratio (dB, the truth's range)"},
      {"nrmse_contrast", "error over contrast"}};
  const auto* words =
      std::ranges::find(kWords, metric, [](const auto& pair) { return pair.first; });
  return channel.empty() ? words->second : fmt::format("{}, {}", channel, words->second);
}

/// As the score is called in files.
std::string file_name(const std::string& metric, const std::string& channel) {
  return channel.empty() ? metric : metric + "_" + channel;
}

constexpr const char* kScoresFile = "scores.json";

void write_scores(const std::filesystem::path& folder, const std::vector<StudyScore>& scores) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StudyScore& score : scores)
    list.push_back({{"metric", score.metric},
                    {"channel", score.channel},
                    {"value", std::isfinite(score.value) ? nlohmann::ordered_json(score.value)
                                                         : nlohmann::ordered_json()}});
  write_text(folder / kScoresFile, list.dump(2));
}

/// What an earlier run has left; nothing where it had not come so far.
std::optional<std::vector<StudyScore>> earlier_scores(const std::filesystem::path& folder) {
  constexpr std::int64_t kLargest = 1 << 16;
  const std::filesystem::path file = folder / kScoresFile;
  if (!std::filesystem::exists(file)) return std::nullopt;
  std::vector<StudyScore> scores;
  try {
    for (const auto& score : nlohmann::json::parse(read_bytes(file, kLargest)))
      scores.push_back(
          {score.at("metric"), score.at("channel"),
           score.at("value").is_null() ? std::nan("") : score.at("value").get<double>()});
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(
        fmt::format("{}: expected a list of scores, found {}", file.string(), error.what()));
  }
  return scores;
}

/// Between the sorted values, linearly; `share` of the way from the first to the last.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

ScoreQuartiles quartiles_of(ScoreQuartiles of, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  of.trials = static_cast<std::int64_t>(values.size());
  of.median = of.mean = of.low = of.high = std::nan("");
  if (values.empty()) return of;
  of.median = quantile(values, 0.5);
  of.low = quantile(values, 0.25);
  of.high = quantile(values, 0.75);
  of.mean = 0;
  for (const double value : values) of.mean += value / static_cast<double>(values.size());
  return of;
}

/// Empty where there is none: a spreadsheet takes it for a gap.
std::string number_cell(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "";
}

std::string results_csv(const std::vector<ScoreQuartiles>& rows) {
  std::string text = "model,train_size,metric,channel,median,mean,p25,p75,trials\n";
  for (const ScoreQuartiles& row : rows)
    text += fmt::format("{},{},{},{},{},{},{},{},{}\n", row.model, row.size, row.metric,
                        row.channel, number_cell(row.median), number_cell(row.mean),
                        number_cell(row.low), number_cell(row.high), row.trials);
  return text;
}

/// One figure for each score: a curve for each network.
void draw(const std::filesystem::path& folder, const std::vector<ScoreQuartiles>& rows) {
  std::vector<std::pair<std::string, CurvesFigure>> figures;
  for (const ScoreQuartiles& row : rows) {
    const std::string name = file_name(row.metric, row.channel);
    auto figure = std::ranges::find(figures, name, &std::pair<std::string, CurvesFigure>::first);
    if (figure == figures.end()) {
      const std::string label = label_of(row.metric, row.channel);
      figures.push_back({name, {label, "patterns to learn from", label, {}}});
      figure = figures.end() - 1;
    }
    std::vector<Curve>& curves = figure->second.curves;
    auto curve = std::ranges::find(curves, row.model, &Curve::label);
    if (curve == curves.end()) curve = curves.insert(curves.end(), {row.model, {}});
    curve->points.push_back({static_cast<double>(row.size), row.median, row.low, row.high});
  }
  for (const auto& [name, figure] : figures)
    if (const std::string png = curves_png(figure); !png.empty())
      write_text(folder / (name + ".png"), png);
}

// The networks.

void check(const Scan& learn, const Scan& test, const GeneralizationOptions& options) {
  require_in_range(options);
  require(!options.sizes.empty(), "--sizes: expected at least one number of patterns, found {}",
          "none");
  const auto used = learn.frame_use().eq(0).sum().item<std::int64_t>();
  for (const std::int64_t size : options.sizes)
    require(size >= 1 && size <= used,
            "--sizes: expected 1 to {}, the patterns of the scan to learn from, found {}", used,
            size);
  require(test.truth().defined(), "{}: expected a scan with a truth to score by, found none",
          test.source());
  require(learn.counts().size(1) == test.counts().size(1),
          "expected scans of one pattern size, found {} and {} pixels", learn.counts().size(1),
          test.counts().size(1));
  for (const std::string& label : options.models)
    require_network(training_of(label, options.training).network, learn.counts().size(1));
}

/// The patterns of a trial are the same for all networks, its number is the seed of all that is
/// drawn.
Groups groups_of_trial(const std::string& label, const Scan& scan, std::uint64_t seed,
                       const GeneralizationOptions& options) {
  const std::string network = network_of(label);
  if (network == kOurNetwork) return make_groups(scan, {.seed = seed});
  const bool single = network == kSupervisedNetwork;
  return groups_of(fixed_groups(scan, {.gridsize = single ? 1 : options.training.gridsize,
                                       .neighbours = options.neighbours,
                                       .seed = seed}),
                   seed);
}

void run_trial(GeneralizationTrial& trial, const Scan& learn, const Scan& test,
               const GeneralizationOptions& options) {
  const std::filesystem::path folder = options.output / "runs" / trial.model /
                                       fmt::format("{}", trial.size) /
                                       fmt::format("{}", trial.trial);
  const std::string name =
      fmt::format("{}, {} patterns, trial {}", trial.model, trial.size, trial.trial);
  if (auto scores = options.resume ? earlier_scores(folder) : std::nullopt) {
    note("{}: done before", name);
    trial.scores = std::move(*scores);
    return;
  }
  note("{}: training", name);
  std::filesystem::create_directories(folder);
  const std::uint64_t seed = options.training.seed + static_cast<std::uint64_t>(trial.trial) - 1;
  const Scan some = subsample(learn, {.count = trial.size, .seed = seed});
  StudyTraining how = options.training;
  how.seed = seed;
  TrainOptions training = training_of(trial.model, how);
  training.checkpoint = folder / "checkpoint.ptyche";
  training.resume = options.resume && std::filesystem::exists(training.checkpoint);
  const Model model = train(some, groups_of_trial(trial.model, some, seed, options), training);
  write_training(folder, model);
  const Reconstruction image =
      stitch(infer(model, test, {.precision = how.precision, .engine = how.engine}), test);
  trial.scores =
      scores_of(compare_models(test, {{trial.model, image}}).scores.front().metrics.image);
  write_scores(folder, trial.scores);
  remove_if_possible({training.checkpoint});
}

/// What the results depend on. Which networks, sizes and how many trials may change: each network
/// is trained for itself.
Key study_key(GeneralizationOptions options, const Scan& learn, const Scan& test) {
  Key key = key_of(joined(
      {without(fields(options), {"models", "sizes", "trials", "resume"}),
       {engine_field(options.training.engine), precision_field(options.training.precision)}}));
  key.emplace_back("loss", info_of(options.training.loss).name);
  key.emplace_back("mae-share", fmt::format("{}", options.training.mae_share));
  key.insert(key.end(), options.data.begin(), options.data.end());
  key.emplace_back("train scan", learn.input_hash());
  key.emplace_back("test scan", test.input_hash());
  return key;
}

}  // namespace

std::vector<ScoreQuartiles> quartiles_of(const std::vector<GeneralizationTrial>& trials) {
  std::vector<std::pair<ScoreQuartiles, std::vector<double>>> rows;
  for (const GeneralizationTrial& trial : trials)
    for (const StudyScore& score : trial.scores) {
      const auto same = [&](const auto& row) {
        return row.first.model == trial.model && row.first.size == trial.size &&
               row.first.metric == score.metric && row.first.channel == score.channel;
      };
      auto row = std::find_if(rows.begin(), rows.end(), same);
      if (row == rows.end())
        row = rows.insert(rows.end(), {{trial.model, score.metric, score.channel, trial.size}, {}});
      if (std::isfinite(score.value)) row->second.push_back(score.value);
    }
  std::vector<ScoreQuartiles> quartiles;
  for (const auto& [row, values] : rows) quartiles.push_back(quartiles_of(row, values));
  return quartiles;
}

std::vector<Field> fields(GeneralizationOptions& options) {
  return {{.name = "sizes",
           .target = &options.sizes,
           .unit = "patterns",
           .help = "numbers of patterns to learn from, each in turn",
           .range = {1, 1e6}},
          {.name = "trials",
           .target = &options.trials,
           .help = "networks of each size, each with patterns and weights of its own",
           .range = {1, 1000}},
          {.name = "models",
           .target = models_target(options.models),
           .help = "networks to train: ptyche (ours), pinn (PtychoPINN's), baseline "
                   "(PtychoPINN's supervised one)"},
          {.name = "gridsize",
           .target = &options.training.gridsize,
           .help = "side of a group, which has gridsize^2 patterns",
           .range = {1, 8}},
          {.name = "neighbor-count",
           .target = &options.neighbours,
           .unit = "patterns",
           .help = "number of nearest patterns from which a group is drawn",
           .range = {1, 4096}},
          {.name = "epochs",
           .target = &options.training.epochs,
           .help = "passes over the training patterns",
           .range = {1, 1e6},
           .aliases = {"nepochs"}},
          {.name = "groups-per-batch",
           .target = &options.training.batch,
           .unit = "groups",
           .help = "groups in a training step of PtychoPINN's networks",
           .range = {1, 1e5},
           .aliases = {"batch-size"}},
          {.name = "seed",
           .target = &options.training.seed,
           .help = "seed of the first trial: patterns, groups and weights"},
          resume_field(options.resume)};
}

std::vector<GeneralizationTrial> run_generalization(const Scan& learn, const Scan& test,
                                                    const GeneralizationOptions& options) {
  check(learn, test, options);
  begin_study(options.output, study_key(options, learn, test), options.resume);
  const std::filesystem::path figures = options.output / "figures";
  std::filesystem::create_directories(figures);
  std::vector<GeneralizationTrial> trials;
  for (const std::int64_t size : options.sizes)
    for (std::int64_t number = 1; number <= options.trials; ++number)
      for (const std::string& model : options.models) {
        trials.push_back({model, size, number});
        run_trial(trials.back(), learn, test, options);
        const std::vector<ScoreQuartiles> rows = quartiles_of(trials);
        write_text(options.output / "results.csv", results_csv(rows));
        draw(figures, rows);
      }
  return trials;
}

}  // namespace ptyche
