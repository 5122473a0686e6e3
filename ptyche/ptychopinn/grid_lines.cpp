#include "ptyche/ptychopinn/grid_lines.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/infer/infer.h"
#include "ptyche/io/readers.h"
#include "ptyche/model/model.h"
#include "ptyche/ptychopinn/study.h"
#include "ptyche/stitch/stitch.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace {

/// The keys of PtychoPINN's scans, and the groups.
void write_data_set(const std::filesystem::path& file, const GridData& data) {
  const Scan& scan = data.scan;
  const at::Tensor row = scan.positions().select(1, 0).contiguous();
  const at::Tensor col = scan.positions().select(1, 1).contiguous();
  write_npz(file, {{"diff3d", scan.counts().to(at::kFloat).sqrt()},
                   {"xcoords", col},
                   {"ycoords", row},
                   {"xcoords_start", col},
                   {"ycoords_start", row},
                   {"probeGuess", scan.probe()[0]},
                   {"objectGuess", scan.truth()},
                   {"nn_indices", data.groups}});
}

TrainOptions options_of(const std::string& label, const GridLinesOptions& options) {
  return training_of(label, {options.train.grid.gridsize, options.epochs, options.batch,
                             options.loss, options.mae_share, options.ptychopinn, options.engine,
                             options.precision, options.seed});
}

Groups groups_for(const std::string& label, const GridData& data, std::uint64_t seed) {
  const std::string network = network_of(label);
  if (network == kOurNetwork) return make_groups(data.scan, {.seed = seed});
  if (network == kPtychoPinnNetwork) return groups_of(data.groups, seed);
  return groups_of(at::arange(data.scan.frames(), at::kLong).unsqueeze(1), seed);
}

/// What is compared: the first drawing's tile.
at::Tensor scored_part(const at::Tensor& object, const GridData& data, std::int64_t row = 0,
                       std::int64_t col = 0) {
  const Window& tile = data.tiles.front();
  return cut(object,
             {tile.row_begin - row, tile.row_end - row, tile.col_begin - col, tile.col_end - col})
      .contiguous();
}

/// For --resume: how long each arm that is done took.
constexpr const char* kSecondsFile = "seconds.json";

/// What the results depend on. Which networks are trained may change: each is an arm of its own.
Key study_key(GridLinesOptions options) {
  Key key = key_of(joined({without(fields(options), {"models"}),
                           {engine_field(options.engine), precision_field(options.precision)}}));
  key.emplace_back("loss", info_of(options.loss).name);
  key.emplace_back("mae-share", fmt::format("{}", options.mae_share));
  return key;
}

struct Outcome {
  GridLinesRow row;
  at::Tensor image;
};

void write_seconds(const std::filesystem::path& folder, const GridLinesRow& row) {
  const nlohmann::ordered_json seconds{{"train_seconds", row.train_seconds},
                                       {"infer_seconds", row.infer_seconds}};
  write_text(folder / kSecondsFile, seconds.dump(2));
}

void read_seconds(const std::filesystem::path& folder, GridLinesRow& row) {
  constexpr std::int64_t kLargest = 4096;
  const std::filesystem::path file = folder / kSecondsFile;
  try {
    const auto seconds = nlohmann::json::parse(read_bytes(file, kLargest));
    row.train_seconds = seconds.at("train_seconds");
    row.infer_seconds = seconds.at("infer_seconds");
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(fmt::format("{}: expected train_seconds and infer_seconds, found {}",
                                   file.string(), error.what()));
  }
}

/// The arm as an earlier run has left it; nothing where that had not come to its end.
std::optional<Outcome> finished_model(const std::string& label, const GridData& test,
                                      const GridLinesOptions& options) {
  const std::filesystem::path run = options.output / "runs" / label;
  if (!options.resume || !std::filesystem::exists(run / kSecondsFile)) return std::nullopt;
  Outcome outcome;
  read_seconds(run, outcome.row);
  outcome.row.patterns = test.scan.frames();
  const at::Tensor truth = scored_part(test.scan.truth(), test);
  outcome.image = read_recon(options.output / "recons" / label, truth);
  outcome.row.scores = {label, metrics_beside_flat(truth, outcome.image)};
  note("{}: done before", label);
  return outcome;
}

Outcome run_model(const std::string& label, const GridData& learn, const GridData& test,
                  const GridLinesOptions& options) {
  if (auto finished = finished_model(label, test, options)) return *finished;
  note("{}: training", label);
  Outcome outcome;
  outcome.row.patterns = test.scan.frames();
  const std::filesystem::path run = options.output / "runs" / label;
  std::filesystem::create_directories(run);
  TrainOptions how_trained = options_of(label, options);
  how_trained.checkpoint = run / "checkpoint.ptyche";
  how_trained.resume = options.resume && std::filesystem::exists(how_trained.checkpoint);
  Model model;
  outcome.row.train_seconds = seconds_of(
      [&] { model = train(learn.scan, groups_for(label, learn, options.seed), how_trained); });
  write_training(run, model);
  const InferOptions how{
      .groups = test.groups, .precision = options.precision, .engine = options.engine};
  Patches patches;
  outcome.row.infer_seconds = seconds_of([&] { patches = infer(model, test.scan, how); });
  const Reconstruction stitched = stitch(patches, test.scan);
  outcome.image =
      scored_part(stitched.projection(), test, stitched.origin_row, stitched.origin_col);
  write_recon(options.output / "recons" / label, outcome.image);
  outcome.row.scores = {label,
                        metrics_beside_flat(scored_part(test.scan.truth(), test), outcome.image)};
  write_seconds(run, outcome.row);
  return outcome;
}

void check(const GridLinesOptions& options) {
  require_in_range(options);
  for (const std::string& label : options.models)
    require_network(options_of(label, options).network, options.train.grid.pattern_size);
}

std::vector<Field> test_fields(GridLinesOptions& options) {
  return {
      {.name = "outer-offset-test",
       .target = &options.test_outer_offset_px,
       .unit = "px",
       .help = "the same distance in the test; half of it is the tile on which a group is scored",
       .range = {2, 1e4}},
      {.name = "nimgs-test",
       .target = &options.test_images,
       .help = "number of drawings in the test; the first one is scored",
       .range = {1, 1000}}};
}

std::vector<Field> model_fields(GridLinesOptions& options) {
  return {
      {.name = "models",
       .target = models_target(options.models),
       .help = "networks to train: ptyche (ours), pinn (PtychoPINN's), baseline "
               "(PtychoPINN's supervised one)"},
      {.name = "epochs",
       .target = &options.epochs,
       .help = "passes over the training patterns",
       .range = {1, 1e6},
       .aliases = {"nepochs"}},
      {.name = "groups-per-batch",
       .target = &options.batch,
       .unit = "groups",
       .help = "groups in a training step of PtychoPINN's networks",
       .range = {1, 1e5},
       .aliases = {"batch-size"}},
      {.name = "object-big",
       .target = &options.ptychopinn.object_big,
       .help = "a patch of PtychoPINN's network for each pattern of a group, not one for all"},
      {.name = "probe-big",
       .target = &options.ptychopinn.probe_big,
       .help =
           "border of low resolution, not of zeros, around the patches of PtychoPINN's network"},
      {.name = "seed",
       .target = &options.seed,
       .help = "seed of all networks; the drawings are always PtychoPINN's"},
      resume_field(options.resume)};
}

}  // namespace

std::vector<Field> fields(GridLinesOptions& options) {
  return joined(
      {fields(options.train), test_fields(options), fields(options.probe), model_fields(options)});
}

std::vector<GridLinesRow> run_grid_lines(const GridLinesOptions& options) {
  check(options);
  begin_study(options.output, study_key(options), options.resume);
  const at::Tensor probe = grid_probe(options.train.grid.pattern_size, options.probe);
  const GridData learn = simulate_grid_data(options.train, probe);
  const GridData test = simulate_grid_data(
      unseen(options.train, options.test_images, options.test_outer_offset_px), probe);
  const GridScanOptions& grid = options.train.grid;
  const std::filesystem::path data = options.output / "datasets" /
                                     fmt::format("N{}", grid.pattern_size) /
                                     fmt::format("gs{}", grid.gridsize);
  for (const char* folder : {"runs", "recons", "visuals"})
    std::filesystem::create_directories(options.output / folder);
  std::filesystem::create_directories(data);
  write_data_set(data / "train.npz", learn);
  write_data_set(data / "test.npz", test);
  std::vector<LabelledObject> objects{{"truth", scored_part(test.scan.truth(), test)}};
  write_recon(options.output / "recons" / "gt", objects.front().object);
  std::vector<GridLinesRow> rows;
  std::vector<LabelledMetrics> scores;
  for (const std::string& label : options.models) {
    const Outcome outcome = run_model(label, learn, test, options);
    rows.push_back(outcome.row);
    scores.push_back(outcome.row.scores);
    objects.push_back({label, outcome.image});
    // After each model, so that a stop costs no more than the model in work.
    write_text(options.output / "metrics.json", metrics_json(scores));
    write_text(options.output / "visuals" / "compare_amp_phase.png",
               amplitude_phase_picture(objects).png);
  }
  return rows;
}

}  // namespace ptyche
