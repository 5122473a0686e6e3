#include "ptyche/report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/report/html.h"
#include "tests/report/decoded_png.h"
#include "tests/report/sample.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, removed at the end.
class WriteReport : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("ptyche_report_" + std::to_string(getpid()) + "_" + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string page() const { return read_bytes(folder_ / "report.html"); }
  fs::path folder_;
};

/// What `write_report` printed to stderr.
std::string warnings_of(const fs::path& folder, const Reconstruction& image) {
  testing::internal::CaptureStderr();
  write_report(folder, image, sample_scores());
  return testing::internal::GetCapturedStderr();
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST_F(WriteReport, WritesThreePicturesAndAPageAndNothingElse) {
  EXPECT_EQ(warnings_of(folder_, sample_star()), "");
  for (const char* name : {"amplitude.png", "phase.png", "probe.png"}) {
    const std::string bytes = read_bytes(folder_ / name);
    EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n") << name;
    const DecodedPng png = decode_png(bytes);
    EXPECT_GT(png.rows, 300) << name;
    EXPECT_GT(png.cols, 300) << name;
  }
  EXPECT_TRUE(fs::exists(folder_ / "report.html"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 5);
}

TEST_F(WriteReport, ThePageLoadsNothingAndLetsNoInputThrough) {
  write_report(folder_, sample_star(), sample_scores());
  const std::string html = page();
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<link"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("<scan>"), std::string::npos);
  EXPECT_NE(html.find("/data/a &quot;&lt;b&gt;&amp;&#39;é.npz"), std::string::npos);
  EXPECT_EQ(count(html, "<img "), 4u);
  EXPECT_EQ(count(html, "src=\"data:image/png;base64,"), 4u);
}

TEST_F(WriteReport, ThePageHoldsEveryScoreOptionAndSource) {
  write_report(folder_, sample_star(), sample_scores());
  const std::string html = page();
  for (const NamedScore& score : named_scores(sample_scores())) {
    if (!score.predictor.empty()) {
      EXPECT_NE(html.find("[" + score.predictor + ": "), std::string::npos) << score.name;
      continue;
    }
    EXPECT_NE(html.find(">" + score.name + "<"), std::string::npos) << score.name;
    EXPECT_NE(html.find(escape_html(score.meaning)), std::string::npos) << score.name;
  }
  for (const char* text : {"train.epochs", "0123456789abcdef", "4711", "3 used, 1 held out",
                           "ptyche reconstruct &lt;scan&gt;", "class=\"curve\""})
    EXPECT_NE(html.find(text), std::string::npos) << text;
}

TEST_F(WriteReport, TheFirstSentenceAndTheNumbersNameTheSameGuessBesideTheRFactor) {
  write_report(folder_, sample_star(), sample_scores());
  EXPECT_NE(page().find("(their mean amplitude) gives 0.204"), std::string::npos);
  EXPECT_NE(page().find("photon noise 0.0471, mean amplitude 0.204"), std::string::npos);
  EXPECT_NE(page().find("photon noise 0.0127, mean pattern 0.29"), std::string::npos);
}

TEST_F(WriteReport, EveryTagThatIsOpenedIsClosed) {
  write_report(folder_, sample_star(), sample_scores(),
               {.extras = {{"<Half>", "a & b", sample_star()}}});
  const std::string html = page();
  std::vector<std::string> open;
  for (auto at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::string tag = html.substr(at + 1, html.find('>', at) - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n"));
    if (name == "!DOCTYPE" || name == "meta" || name == "img" || tag.back() == '/') continue;
    if (tag[0] != '/') {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << tag;
    EXPECT_EQ("/" + open.back(), tag);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST_F(WriteReport, ShowsExtraImagesWithTheirWords) {
  write_report(folder_, sample_star(), sample_scores(),
               {.extras = {{"Unseen <half>", "a & b", sample_star()}}});
  const std::string html = page();
  EXPECT_NE(html.find("<h2>Unseen &lt;half&gt;</h2>"), std::string::npos);
  EXPECT_NE(html.find("<p>a &amp; b</p>"), std::string::npos);
  EXPECT_EQ(count(html, "<img "), 6u);
}

TEST_F(WriteReport, DrawsTheCorrelationsThatWereMeasured) {
  Scores scores = sample_scores();
  scores.half_sets = scores.truth = sample_comparison();
  write_report(folder_, sample_star(), scores);
  EXPECT_GT(decode_png(read_bytes(folder_ / "half_sets.png")).cols, 300);
  EXPECT_GT(decode_png(read_bytes(folder_ / "truth_frc.png")).cols, 300);
  EXPECT_EQ(count(page(), "<img "), 6u);
  EXPECT_NE(page().find("<h2>Resolution</h2>"), std::string::npos);
}

/// Two images that differ by noise, as a comparison leaves them.
ComparedImages sample_pair() {
  const at::Tensor star = sample_star().projection().to(at::kComplexDouble);
  ComparedImages compared{sample_comparison(), star * 1.02, star};
  compared.comparison.window = {10, 82, 20, 116};
  return compared;
}

TEST_F(WriteReport, AComparisonLeavesFivePicturesAndAPageThatShowsThem) {
  const ComparedImages compared = sample_pair();
  const auto scores = named_scores(compared.comparison, {"", "A", "B"});
  testing::internal::CaptureStderr();
  write_comparison_report(folder_, compared, scores, "a <1>.h5", "b.h5");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  for (const char* name : {"amplitude.png", "phase.png", "amplitude_difference.png",
                           "phase_difference.png", "frc.png"})
    EXPECT_GT(decode_png(read_bytes(folder_ / name)).rows, 300) << name;
  EXPECT_EQ(count(page(), "<img "), 5u);
  EXPECT_NE(page().find("a &lt;1&gt;.h5"), std::string::npos);
  EXPECT_NE(page().find(">nrmse_contrast<"), std::string::npos);
}

TEST_F(WriteReport, AFigureThatCannotBeDrawnIsAWarningAndTheRestIsWritten) {
  Reconstruction image = sample_star();
  image.coverage = at::ones({2, 2});
  image.provenance.options_json = "not json <x>";
  image.loss.clear();
  const std::string warnings = warnings_of(folder_, image);
  EXPECT_EQ(count(warnings, "warning: "), 3u);
  EXPECT_NE(warnings.find("phase.png"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "phase.png"));
  EXPECT_TRUE(fs::exists(folder_ / "probe.png"));
  EXPECT_EQ(count(page(), "<img "), 1u);
  EXPECT_NE(page().find("not json &lt;x&gt;"), std::string::npos);
}

TEST_F(WriteReport, AResultWithNothingInItStillGivesAPage) {
  testing::internal::CaptureStderr();
  write_report(folder_, {}, {});
  EXPECT_EQ(count(testing::internal::GetCapturedStderr(), "warning: "), 4u);
  EXPECT_NE(page().find("This image was not judged"), std::string::npos);
}

TEST_F(WriteReport, AFileThatCannotBeWrittenIsAnErrorAfterAllOthersWereWritten) {
  fs::create_directories(folder_ / "phase.png" / "in the way");
  try {
    write_report(folder_, sample_star(), sample_scores());
    ADD_FAILURE() << "expected an error";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("phase.png"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(fs::exists(folder_ / "probe.png"));
  EXPECT_EQ(count(page(), "<img "), 4u);
}

TEST_F(WriteReport, BeginsWithTheVerdictAndSaysWhatWasDoneAndWarnedOf) {
  Reconstruction image = sample_star();
  image.provenance.attempts = {{"three <modes>", 40, 1.5, 0.0188, true},
                               {"positions", 45, 2, 0.02}};
  image.provenance.remarks = {{.kind = Remark::Kind::warning, .text = "a <warning>"},
                              {.kind = Remark::Kind::note, .text = "a guess"},
                              {.kind = Remark::Kind::correction,
                               .text = "that explains more",
                               .cause = "positions: rows flipped",
                               .before = "as read",
                               .after = "rows mirrored"}};
  image.provenance.machine = "a processor, 2 cores";
  Scores scores = sample_scores();
  scores.verdict = Verdict();
  scores.verdict->expected_error = 0.3;
  scores.verdict->reasons = {"Too little light"};
  write_report(folder_, image, scores);
  const std::string html = page();
  const auto verdict = html.find("<strong>doubtful</strong>: expected error 30 %");
  ASSERT_NE(verdict, std::string::npos);
  EXPECT_LT(verdict, html.find("<img "));
  for (const char* text : {"Too little light", "three &lt;modes&gt;", "a &lt;warning&gt;",
                           "a processor, 2 cores", "0.0188",
                           "<strong>Corrected</strong> positions: rows flipped: that explains more "
                           "(as read \u2192 rows mirrored)"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_LT(html.find("Corrected"), html.find("<img "));
  EXPECT_GT(html.find("a guess"), html.find("What was noted on the way"));
}

TEST_F(WriteReport, DrawsTheLossOfEachStepThatWasKeptByItsNumber) {
  Reconstruction image = sample_star();
  image.provenance.attempts = {{"first image", 3, 1, 0.03, true},
                               {"worse", 9, 1, 0.04, false},
                               {"polish", 1, 1, 0.02, true}};
  write_report(folder_, image, sample_scores());
  EXPECT_EQ(count(page(), "class=\"border\""), 1U);
  EXPECT_NE(page().find("2. worse"), std::string::npos);
  for (const char* label : {">1</text>", ">3</text>"})
    EXPECT_NE(page().find(label), std::string::npos) << label;
  image.loss.push_back(0.1);  // not of these steps
  write_report(folder_, image, sample_scores());
  EXPECT_EQ(count(page(), "class=\"border\""), 0U);
}

TEST_F(WriteReport, BesideItsScanShowsPatternsPositionsAndDose) {
  const Scan scan = small_scan();
  Reconstruction image = flat(scan);
  image.positions = scan.positions().clone();
  image.positions[3] += 2.0;
  write_report(folder_, image, sample_scores(), {.scan = scan});
  EXPECT_GT(decode_png(read_bytes(folder_ / "patterns.png")).rows, 300);
  EXPECT_GT(decode_png(read_bytes(folder_ / "positions.png")).rows, 300);
  for (const char* text : {"counts a pattern", "moved by", "overlap", "median misfit"})
    EXPECT_NE(page().find(text), std::string::npos) << text;
}

TEST(Headline, NamesTheScoreItsFloorAndTheTrivialGuess) {
  const std::string text = headline(sample_scores());
  for (const char* number : {"0.0865", "0.0471", "0.204", "0.0419"})
    EXPECT_NE(text.find(number), std::string::npos) << number;
}

TEST(Headline, SpeaksOfTheDevianceWhereNoiseLeavesMoreOfRThanOneGuess) {
  Scores scores = sample_scores();
  scores.held_out = DataFit{5, 0.245, 0.2451, 0.312, 0.3091};
  scores.trivial = TrivialFit{0.107, 0.52, 0.131, 0.482};
  const std::string text = headline(scores);
  EXPECT_NE(text.find("held-out patterns with a Poisson deviance of 0.312"), std::string::npos);
  for (const char* number : {"0.309", "0.482", "0.107"})
    EXPECT_NE(text.find(number), std::string::npos) << number;
  EXPECT_EQ(text.find("with an R-factor"), std::string::npos) << text;
}

}  // namespace
}  // namespace ptyche
