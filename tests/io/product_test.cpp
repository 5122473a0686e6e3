#include "ptyche/io/product.h"

#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "ptyche/data/scan.h"
#include "ptyche/storage/hdf5.h"
#include "tests/io/scan_files.h"
#include "tests/support/rewritten.h"

namespace ptyche {
namespace {

Reconstruction some_image(double pixel_m) {
  Reconstruction image;
  const at::Tensor wave = at::arange(37.0 * 52, at::kFloat).reshape({37, 52});
  image.object = at::complex(wave.sin(), wave.cos()).unsqueeze(0);
  image.coverage = wave.sin().abs();
  image.origin_row = -3;
  image.origin_col = 11;
  image.probe = at::complex(wave.slice(1, 0, 16).slice(0, 0, 32).reshape({1, 2, 16, 16}),
                            at::ones({1, 2, 16, 16}));
  image.positions =
      at::stack({at::arange(7, at::kDouble) * 0.37 + 5, at::arange(7, at::kDouble) * 1.91 + 19}, 1);
  image.frame_use = at::tensor({0, 1, 2, 3, 0, 0, 1}).to(at::kByte);
  image.background = at::full({16, 16}, 0.25f);
  image.intensities = at::linspace(0.5, 1.5, image.positions.size(0), at::kFloat);
  image.geometry = {8800, 1.9, 75e-6, 0.02, pixel_m};
  image.provenance = {"scan.npz", "abcd", "ptyche reconstruct scan.npz", "{\"seed\": 7}", ~0ull};
  image.loss = {3.5, 2.25};
  return image;
}

TEST(Product, GivesBackWhatWasDoneAndHowItWasJudged) {
  const TestFolder folder;
  Reconstruction image = some_image(31.7e-9);
  image.provenance.attempts = {{"first image", 15, 1.25, 0.03, true}, {"polish", 40, 3}};
  image.provenance.remarks = {{.kind = Remark::Kind::warning, .text = "a warning, \xc3\xa9"},
                              {.kind = Remark::Kind::correction,
                               .text = "text",
                               .cause = "positions: unit",
                               .before = "steps of 3e-06 px",
                               .after = "steps of 3 px"}};
  image.provenance.machine = "a processor";
  Scores scores{.seconds = 12};
  Verdict verdict;
  verdict.reasons = {"one", "two"};
  verdict.map = at::rand({5, 7});
  verdict.window = {2, 7, 1, 8};
  scores.verdict = verdict;
  scores.trust =
      Trust{.map = at::rand({6, 9}), .expected_error = 0.4, .unlike = 1.5, .reason = "why"};
  write_reconstruction(folder / "product.h5", image, &scores);
  const Provenance found = read_reconstruction(folder / "product.h5").provenance;
  ASSERT_EQ(found.attempts.size(), 2U);
  EXPECT_EQ(found.attempts[0].what, "first image");
  EXPECT_EQ(found.attempts[0].passes, 15);
  EXPECT_TRUE(found.attempts[0].kept);
  EXPECT_EQ(found.attempts[1].seconds, 3);
  EXPECT_EQ(found.remarks, image.provenance.remarks);
  EXPECT_EQ(found.machine, "a processor");
  const StoredScores stored = read_stored_scores(folder / "product.h5");
  EXPECT_EQ(stored.seconds, 12);
  ASSERT_TRUE(stored.verdict.has_value());
  EXPECT_EQ(stored.verdict->word, VerdictWord::doubtful);
  EXPECT_EQ(stored.verdict->reasons, scores.verdict->reasons);
  EXPECT_TRUE(at::equal(stored.verdict->map, scores.verdict->map));
  EXPECT_EQ(stored.verdict->window, scores.verdict->window);
  ASSERT_TRUE(stored.trust.has_value());
  EXPECT_TRUE(at::equal(stored.trust->map, scores.trust->map));
  EXPECT_EQ(stored.trust->expected_error, 0.4);
  EXPECT_EQ(stored.trust->unlike, 1.5);
  EXPECT_EQ(stored.trust->reason, "why");
}

TEST(ResultFile, OfAFolderIsTheProductInItAndOfAFileItself) {
  const TestFolder folder;
  EXPECT_EQ(result_file(folder.path()), folder.path() / "reconstruction.h5");
  EXPECT_EQ(result_file(folder.path() / "other.h5"), folder.path() / "other.h5");
}

TEST(Product, GivesBackWhatItWrote) {
  const TestFolder folder;
  for (const double pixel_m : {0.0, 31.7e-9}) {
    const Reconstruction image = some_image(pixel_m);
    write_reconstruction(folder / "r.h5", image);
    const Reconstruction found = read_reconstruction(folder / "r.h5");
    EXPECT_TRUE(at::equal(found.object, image.object));
    EXPECT_TRUE(at::equal(found.coverage, image.coverage));
    EXPECT_TRUE(at::equal(found.probe, image.probe));
    EXPECT_TRUE(at::equal(found.frame_use, image.frame_use));
    EXPECT_TRUE(at::equal(found.background, image.background));
    EXPECT_TRUE(at::equal(found.intensities, image.intensities));
    EXPECT_LT((found.positions - image.positions).abs().max().item<double>(), 1e-9);
    EXPECT_EQ(found.origin_row, -3);
    EXPECT_EQ(found.origin_col, 11);
    EXPECT_EQ(found.interpolation, Interpolation::probe_fourier);
    EXPECT_DOUBLE_EQ(found.geometry.object_pixel_m, pixel_m);
    EXPECT_DOUBLE_EQ(found.geometry.energy_ev, 8800);
    EXPECT_DOUBLE_EQ(found.geometry.detector_pixel_m, 75e-6);
    EXPECT_EQ(found.provenance.seed, ~0ull);
    EXPECT_EQ(found.provenance.options_json, image.provenance.options_json);
    EXPECT_EQ(found.loss, image.loss);
  }
}

TEST(Product, PositionsFollowThePtychodusFormula) {
  const TestFolder folder;
  const Reconstruction image = some_image(31.7e-9);
  write_reconstruction(folder / "r.h5", image);
  const Hdf5File file = Hdf5File::open(folder / "r.h5");
  const double x = file.read("probe_position_x_m").values[2].item<double>();
  const double y = file.read("probe_position_y_m").values[2].item<double>();
  const auto attribute = [&](const char* name) { return file.number("object", name).value(); };
  const double col = (x - attribute("center_x_m")) / attribute("pixel_width_m") + 52 / 2.0;
  const double row = (y - attribute("center_y_m")) / attribute("pixel_height_m") + 37 / 2.0;
  EXPECT_NEAR(row, 0.37 * 2 + 5 - (-3), 1e-9);
  EXPECT_NEAR(col, 1.91 * 2 + 19 - 11, 1e-9);
}

TEST(Product, HasAllThatPtychodusRequires) {
  const TestFolder folder;
  write_reconstruction(folder / "r.h5", some_image(0));
  const Hdf5File file = Hdf5File::open(folder / "r.h5");
  EXPECT_TRUE(file.text("/", "name") && file.text("/", "comments"));
  for (const char* name : {"detector_object_distance_m", "probe_energy_eV", "exposure_time_s"}) {
    EXPECT_TRUE(file.number("/", name)) << name;
  }
  EXPECT_TRUE(at::equal(file.read("probe_position_indexes").values, at::arange(7)));
  EXPECT_EQ(file.read("object_layer_spacing_m").values.sizes(), at::IntArrayRef({0}));
  EXPECT_TRUE(at::equal(file.read("loss_epochs").values, at::tensor({1, 2}, at::kLong)));
  EXPECT_EQ(file.number("probe", "pixel_width_m"), 1.0);
  EXPECT_EQ(file.text("ptyche", "length_unit"), "object pixel");
  const at::Tensor used = file.read("ptyche/frame_used").values;
  EXPECT_TRUE(at::equal(used, at::tensor({1, 0, 0, 0, 1, 1, 0}).to(at::kBool)));
}

Scores some_scores() {
  Scores scores;
  scores.held_out = DataFit{52, 0.0865, 0.047, 0.0419, std::nan("")};
  return scores;
}

TEST(Product, HoldsScoresAsTextAndAttributes) {
  const TestFolder folder;
  const Scores scores = some_scores();
  write_reconstruction(folder / "r.h5", some_image(0), &scores);
  const Hdf5File file = Hdf5File::open(folder / "r.h5");
  EXPECT_EQ(file.number("ptyche/scores", "held_out.r_factor"), 0.0865);
  EXPECT_EQ(text_dataset(folder / "r.h5", "ptyche/scores"), scores_json(scores));
}

TEST(ScoresJson, IsJsonWithNumbersUnderTheirNames) {
  const auto json = nlohmann::json::parse(scores_json(some_scores()));
  EXPECT_EQ(json["held_out.deviance_per_photon"], 0.0419);
  EXPECT_TRUE(json["held_out.deviance_per_photon_floor"].is_null());  // NaN is not JSON
  EXPECT_TRUE(json["meaning"]["held_out.r_factor"].is_string());
  EXPECT_FALSE(json.contains("truth.nrmse"));
}

TEST(Product, ReadsAForeignProductWithLayersAndCoherentModes) {
  const TestFolder folder;
  Hdf5File out = Hdf5File::create(folder / "foreign.h5");
  out.write("object", at::full({2, 30, 41}, 2, at::kComplexDouble));
  for (const char* name : {"center_x_m", "center_y_m"}) out.set("object", name, 0.0);
  for (const char* name : {"pixel_width_m", "pixel_height_m"}) out.set("object", name, 1e-8);
  out.write("probe", at::ones({2, 3, 8, 8}, at::kComplexDouble));
  out.write("probe_position_x_m", at::tensor({0.0, 5e-8}, at::kDouble));
  out.write("probe_position_y_m", at::tensor({0.0, -2e-8}, at::kDouble));
  out.write("costs", at::tensor({1.0}, at::kDouble));
  out.close();
  const Reconstruction image = read_reconstruction(folder / "foreign.h5");
  EXPECT_EQ(image.object.sizes(), at::IntArrayRef({2, 30, 41}));
  EXPECT_EQ(image.projection()[3][4].item<c10::complex<float>>(), c10::complex<float>(4));
  EXPECT_EQ(image.probe.sizes(), at::IntArrayRef({2, 3, 8, 8}));
  EXPECT_FALSE(image.slice_spacing_m.defined());
  EXPECT_EQ(image.interpolation, Interpolation::bilinear);
  EXPECT_EQ(image.loss, std::vector<double>{1});
  const at::Tensor index = image.positions[1];
  EXPECT_NEAR(index[0].item<double>() - static_cast<double>(image.origin_row), -2 + 15, 1e-9);
  EXPECT_NEAR(index[1].item<double>() - static_cast<double>(image.origin_col), 5 + 20.5, 1e-9);
}

TEST(Product, OfSeveralSlicesAndVariantsIsGivenBackWithThemAndTheirSpacing) {
  const TestFolder folder;
  Reconstruction image = some_image(1e-8);
  image.object = at::cat({image.object, image.object * 2, image.object.flip(1)});
  image.probe = at::cat({image.probe, image.probe * 0.1});
  image.slice_spacing_m = at::tensor({2e-9, 3e-9}, at::kDouble);
  write_reconstruction(folder / "r.h5", image);
  const Reconstruction found = read_reconstruction(folder / "r.h5");
  EXPECT_TRUE(at::equal(found.object, image.object));
  EXPECT_TRUE(at::equal(found.probe, image.probe));
  EXPECT_TRUE(at::equal(found.slice_spacing_m, image.slice_spacing_m));
  EXPECT_TRUE(at::allclose(found.projection(), image.object.prod(0)));
}

TEST(Product, NamesWhatIsWrong) {
  const TestFolder folder;
  EXPECT_TRUE(
      contains(message_of([&] { read_reconstruction(folder / "absent.h5"); }), "absent.h5"));
  Hdf5File out = Hdf5File::create(folder / "bad.h5");
  out.write("object", at::ones({30, 41}));
  out.close();
  const std::string message = message_of([&] { read_reconstruction(folder / "bad.h5"); });
  EXPECT_TRUE(contains(message, "bad.h5: object: expected complex")) << message;
  EXPECT_TRUE(contains(message, "(30, 41) float32")) << message;
}

TEST(Product, AFolderThatIsNotThereIsTheUsersMistake) {
  EXPECT_THROW(write_reconstruction("/nonexistent/folder/r.h5", some_image(0)), InvalidInput);
}

/// No file may grow beyond `bytes` while this lives: what a full disk looks like to a program.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int) = nullptr;
};

TEST(Product, AFullDiskLeavesTheOlderFileAndNothingElse) {
  const TestFolder folder;
  write_reconstruction(folder / "r.h5", some_image(0));
  const std::string before = read_bytes(folder / "r.h5");
  Reconstruction larger = some_image(0);
  larger.object = at::ones({1, 300, 300}, at::kComplexFloat);
  larger.coverage = at::ones({300, 300});
  {
    const SmallDisk disk(before.size());
    EXPECT_THROW(write_reconstruction(folder / "r.h5", larger), InvalidInput);
  }
  EXPECT_EQ(read_bytes(folder / "r.h5"), before);
  const std::filesystem::directory_iterator files((folder / "r.h5").parent_path()), end;
  EXPECT_EQ(std::distance(files, end), 1);
}

// Products that hold no image.

Reconstruction blank_image() {
  Reconstruction image;
  image.object = at::ones({1, 20, 24}, at::kComplexFloat);
  image.coverage = at::ones({20, 24});
  image.probe = at::ones({1, 1, 8, 8}, at::kComplexFloat);
  image.positions = at::full({3, 2}, 10, at::kDouble);
  image.frame_use = at::zeros({3}, at::kByte);
  return image;
}

/// Of a file that another program has written.
std::string reason_to_refuse(const Reconstruction& image) {
  const TestFolder folder;
  write_reconstruction(folder / "spoilt.h5", blank_image());
  rewrite(folder / "spoilt.h5", {{"object", image.object}, {"probe", image.probe}});
  return message_of([&] { read_reconstruction(folder / "spoilt.h5"); });
}

TEST(RefusedProduct, HasAnObjectOrProbeThatIsNotFiniteAndIsNamedWithIt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, std::numeric_limits<double>::infinity(), 1e30}) {
    Reconstruction image = blank_image();
    image.object[0][2][3] = value;
    const std::string reason = reason_to_refuse(image);
    EXPECT_NE(reason.find("spoilt.h5: object: expected finite"), std::string::npos) << reason;
    image = blank_image();
    image.probe[0][0][1][1] = value;
    EXPECT_NE(reason_to_refuse(image).find("probe: expected finite"), std::string::npos);
  }
}

TEST(RefusedProduct, ThatIsNotFiniteIsNotWritten) {
  const TestFolder folder;
  Reconstruction image = blank_image();
  image.object[0][2][3] = std::numeric_limits<double>::quiet_NaN();
  const std::string message = message_of([&] { write_reconstruction(folder / "nan.h5", image); });
  EXPECT_NE(message.find("nan.h5: object: expected finite"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(folder / "nan.h5"));
}

TEST(RefusedProduct, HasAProbeWithoutLight) {
  Reconstruction image = blank_image();
  image.probe.zero_();
  const std::string reason = reason_to_refuse(image);
  EXPECT_NE(reason.find("probe: expected light"), std::string::npos) << reason;
  EXPECT_EQ(reason_to_refuse(blank_image()), "");
}

}  // namespace
}  // namespace ptyche
