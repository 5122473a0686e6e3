// PtychoPINN's studies, as small as they can be.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "ptyche/core/error.h"
#include "ptyche/io/readers.h"
#include "ptyche/ptychopinn/dose_response.h"
#include "ptyche/ptychopinn/generalization.h"
#include "ptyche/ptychopinn/grid_lines.h"
#include "tests/support/refusal.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

class Studies : public testing::Test {
 protected:
  nlohmann::json read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return nlohmann::json::parse(file);
  }

  TestFolder folder_;
};

TEST_F(Studies, GridLinesLeavesTheScoresOfAllModelsAndTheirFiles) {
  GridLinesOptions options;
  options.train.grid = {.object_size = 96, .pattern_size = 64, .gridsize = 2, .outer_offset_px = 8};
  options.train.images = options.test_images = 1;
  options.train.nphotons = 1e6;
  options.test_outer_offset_px = 20;
  options.probe.smoothing_px = 0;
  options.ptychopinn.filters_scale = 1;
  options.epochs = 1;
  options.output = folder_.path();
  const std::vector<GridLinesRow> rows = run_grid_lines(options);
  ASSERT_EQ(rows.size(), 3);
  const nlohmann::json metrics = read("metrics.json");
  for (const std::string& label : known_models()) {
    EXPECT_EQ(metrics.at(label).at("ssim").size(), 2) << label;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "recons" / label / "recon.npz")) << label;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "runs" / label / "model.ptyche")) << label;
  }
  for (const char* file : {"datasets/N64/gs2/train.npz", "datasets/N64/gs2/test.npz",
                           "recons/gt/recon.npz", "visuals/compare_amp_phase.png"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / file)) << file;
}

/// A study of one small drawing and one epoch.
GridLinesOptions tiny_study(const std::filesystem::path& output) {
  GridLinesOptions options;
  options.train.grid = {.object_size = 96, .pattern_size = 64, .outer_offset_px = 8};
  options.train.images = options.test_images = 1;
  options.train.nphotons = 1e6;
  options.ptychopinn.filters_scale = 1;
  options.epochs = 1;
  options.output = output;
  return options;
}

TEST_F(Studies, GridLinesGoesOnWithTheNetworksThatAreDone) {
  GridLinesOptions options = tiny_study(folder_.path());
  options.models = {"ptyche"};
  const GridLinesRow first = run_grid_lines(options).front();
  const auto model = folder_ / "runs" / "ptyche" / "model.ptyche";
  const auto written = std::filesystem::last_write_time(model);
  options.models = {"ptyche", "baseline"};
  options.resume = true;
  const std::vector<GridLinesRow> rows = run_grid_lines(options);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(std::filesystem::last_write_time(model), written);
  EXPECT_EQ(rows[0].train_seconds, first.train_seconds);
  EXPECT_EQ(rows[0].scores.metrics.image.ptychopinn.amplitude.mae,
            first.scores.metrics.image.ptychopinn.amplitude.mae);
  EXPECT_TRUE(read("metrics.json").contains("baseline"));
}

TEST_F(Studies, GridLinesRefusesToGoOnWithAnotherStudyAndNamesTheOption) {
  GridLinesOptions options = tiny_study(folder_.path());
  options.models = {"ptyche"};
  run_grid_lines(options);
  options.resume = true;
  options.epochs = 2;
  const std::string refusal = message_of([&] { run_grid_lines(options); });
  EXPECT_NE(refusal.find("epochs is 2 and was 1"), std::string::npos) << refusal;
}

TEST_F(Studies, GridLinesRefusesAModelThatItDoesNotKnow) {
  GridLinesOptions options;
  options.models = {"pinn", "pin"};
  EXPECT_THROW(run_grid_lines(options), InvalidInput);
  options.models = {};
  EXPECT_THROW(run_grid_lines(options), InvalidInput);
}

TEST_F(Studies, GridLinesRefusesANetworkThatCannotBeBuiltBeforeItTrainsAnother) {
  GridLinesOptions options;
  options.train.grid.pattern_size = 20;
  options.output = folder_.path();
  EXPECT_THROW(run_grid_lines(options), InvalidInput);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

DoseResponseOptions tiny_doses(const std::filesystem::path& output) {
  DoseResponseOptions options;
  options.train_patterns = 24;
  options.test_patterns = 64;
  options.epochs = 2;
  options.batch = 4;
  options.output = output;
  return options;
}

TEST(DoseFigures, ShowPatternsOnDetectorPixelsAndTheTruthBesideTheImages) {
  const std::vector<Scan> scans{small_scan(4), small_scan(4)};
  const at::Tensor truth = at::rand({24, 32}) + at::ones({24, 32}, at::kComplexFloat);
  std::vector<DoseArm> arms(2);  // named one by one: gcc 12 warns of lists of them
  arms[0].label = "high_nll";
  arms[0].image = 3 * truth;
  arms[1].label = "low_nll";
  arms[1].image = at::ones_like(truth);
  const std::vector<Figure> rows = dose_figures(scans, {"1e9 photons", "1e4 photons"}, truth, arms);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].axis_unit, "detector pixel");
  ASSERT_EQ(rows[0].panels.size(), 2U);
  EXPECT_EQ(rows[0].panels[1].title, "1e4 photons");
  EXPECT_EQ(rows[0].panels[0].rgb.size(0), scans[0].pattern_size());
  ASSERT_EQ(rows[1].panels.size(), 3U);
  EXPECT_EQ(rows[1].panels[0].title, "truth");
  EXPECT_NE(rows[1].axis_unit, "detector pixel");
  const auto difference = [&](int i) {
    return (rows[1].panels[0].rgb - rows[1].panels[i].rgb).abs().max().item<float>();
  };
  EXPECT_LT(difference(1), 0.01);  // the same image at another scale
  EXPECT_GT(difference(2), 0.1);
}

TEST_F(Studies, DoseResponseFinishesAllFourArmsAndGoesOnWhereItWasStopped) {
  DoseResponseOptions options = tiny_doses(folder_.path());
  const std::vector<DoseArm> arms = run_dose_response(options);
  ASSERT_EQ(arms.size(), 4);
  for (const DoseArm& arm : arms) {
    EXPECT_GT(arm.scores.image.aligned.nrmse_contrast, 0) << arm.label;
    EXPECT_EQ(read("metrics.json").at(arm.label).at("ssim").size(), 2) << arm.label;
    EXPECT_EQ(read("training_history.json").at(arm.label).at("loss").size(), 2) << arm.label;
    const Reconstruction image = read_object_file(folder_ / "recons" / arm.label / "recon.npz");
    EXPECT_TRUE(at::equal(image.projection(), arm.image)) << arm.label;
  }
  const Reconstruction truth = read_object_file(folder_ / "recons" / "gt" / "recon.npz");
  EXPECT_EQ(truth.projection().sizes(), arms.front().image.sizes());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "reports" / "dose_comparison.png"));

  const nlohmann::json metrics = read("metrics.json"), history = read("training_history.json");
  const auto model_of = [&](const DoseArm& arm) {
    return folder_ / "runs" / arm.label / "model.ptyche";
  };
  std::filesystem::remove(folder_ / "recons" / arms[3].label / "recon.npz");
  std::filesystem::remove(model_of(arms[3]));
  const auto written = std::filesystem::last_write_time(model_of(arms[0]));
  options.resume = true;
  const std::vector<DoseArm> again = run_dose_response(options);
  EXPECT_EQ(std::filesystem::last_write_time(model_of(arms[0])), written);
  EXPECT_TRUE(std::filesystem::exists(model_of(arms[3])));
  EXPECT_EQ(read("metrics.json"), metrics);
  EXPECT_EQ(read("training_history.json"), history);

  options.low_photons = 1e3;
  const std::string refusal = message_of([&] { run_dose_response(options); });
  EXPECT_NE(refusal.find("mean-counts-low is 1000 and was 10000"), std::string::npos) << refusal;
}

GeneralizationTrial trial_of(std::int64_t size, std::int64_t number, double value) {
  return {"pinn", size, number, {{"ssim", "amplitude", value}}};
}

TEST(Generalization, QuartilesLieBetweenTheTrialsOfASizeAsNumPyPutsThem) {
  const auto rows =
      quartiles_of({trial_of(10, 1, 4), trial_of(10, 2, 1), trial_of(20, 1, 7), trial_of(10, 3, 2),
                    trial_of(10, 4, 9), trial_of(10, 5, std::nan(""))});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].size, 10);
  EXPECT_EQ(rows[0].trials, 4);
  EXPECT_DOUBLE_EQ(rows[0].median, 3);  // numpy.percentile([1, 2, 4, 9], [25, 50, 75])
  EXPECT_DOUBLE_EQ(rows[0].low, 1.75);
  EXPECT_DOUBLE_EQ(rows[0].high, 5.25);
  EXPECT_DOUBLE_EQ(rows[0].mean, 4);
  EXPECT_EQ(rows[1].size, 20);
  EXPECT_DOUBLE_EQ(rows[1].low, 7);
  EXPECT_DOUBLE_EQ(rows[1].high, 7);
}

class GeneralizationStudy : public Studies {
 protected:
  GeneralizationStudy() {
    GridDataOptions drawing;
    drawing.grid = {.object_size = 112, .pattern_size = 64, .outer_offset_px = 16};
    drawing.images = 1;
    drawing.nphotons = 1e6;
    const at::Tensor probe = grid_probe(64, {});
    learn_.emplace(simulate_grid_data(drawing, probe).scan);
    ++drawing.drawing_seed;
    test_.emplace(simulate_grid_data(drawing, probe).scan);
    options_.sizes = {10, 20};
    options_.trials = 1;
    options_.training.ptychopinn.filters_scale = 1;
    options_.training.epochs = 1;
    options_.output = folder_.path();
  }

  std::string table() const {
    std::ifstream file(folder_ / "results.csv");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::optional<Scan> learn_, test_;
  GeneralizationOptions options_;
};

TEST_F(GeneralizationStudy, LeavesTheQuartilesAFigureForEachScoreAndGoesOnWithWhatIsDone) {
  const auto trials = run_generalization(*learn_, *test_, options_);
  EXPECT_EQ(trials.size(), 4u);  // two sizes, two networks
  const std::string first = table();
  EXPECT_TRUE(first.starts_with("model,train_size,metric,channel,median,mean,p25,p75,trials\n"));
  for (const char* row : {"pinn,10,ssim,amplitude,", "baseline,20,nrmse_contrast,,"})
    EXPECT_NE(first.find(row), std::string::npos) << row;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "figures" / "ssim_amplitude.png"));
  const auto model = folder_ / "runs" / "pinn" / "10" / "1" / "model.ptyche";
  const auto written = std::filesystem::last_write_time(model);
  std::filesystem::remove(folder_ / "runs" / "pinn" / "20" / "1" / "scores.json");
  options_.resume = true;
  run_generalization(*learn_, *test_, options_);
  EXPECT_EQ(table(), first);
  EXPECT_EQ(std::filesystem::last_write_time(model), written);
  options_.training.epochs = 2;
  const std::string reason = message_of([&] { run_generalization(*learn_, *test_, options_); });
  EXPECT_NE(reason.find("epochs"), std::string::npos) << reason;
}

TEST_F(GeneralizationStudy, RefusesASizeAboveThePatternsAndATestWithoutTruth) {
  options_.sizes = {10, 4000};
  const std::string reason = message_of([&] { run_generalization(*learn_, *test_, options_); });
  EXPECT_NE(reason.find("expected 1 to 49"), std::string::npos) << reason;
  options_.sizes = {10};
  ScanFields fields{
      .counts = test_->counts(), .positions = test_->positions(), .probe = test_->probe()};
  const Scan blind(std::move(fields));
  EXPECT_THROW(run_generalization(*learn_, blind, options_), InvalidInput);
}

}  // namespace
}  // namespace ptyche
