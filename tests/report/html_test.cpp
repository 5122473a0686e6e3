#include "ptyche/report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

TEST(EscapeHtml, LeavesNoMarkupAndKeepsForeignLetters) {
  EXPECT_EQ(escape_html("<a href=\"x\">'&é試"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;é試");
}

TEST(EscapeHtml, ReplacesWhatIsNotUtf8) {
  const std::string lost = "\ufffd";
  EXPECT_EQ(escape_html("caf\xe9.npz"), "caf" + lost + ".npz");
  EXPECT_EQ(escape_html("a\xe8\xa9"), "a" + lost + lost);
  EXPECT_EQ(escape_html("\xc0\xbc"), lost + lost);             // an overlong '<'
  EXPECT_EQ(escape_html("\xed\xa0\x80"), lost + lost + lost);  // a surrogate
  EXPECT_EQ(escape_html(std::string("a\0b\x1b", 4)), "a" + lost + "b" + lost);
}

TEST(Base64, GivesTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) EXPECT_EQ(base64(plain), coded);
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(FlattenedOptions, NameNestedOptionsWithDotsInTheirOrder) {
  const auto rows = flattened_options(
      R"({"train": {"rate": 0.001, "fixed": false}, "crop": [64, 64], "mask": null, "a": "b"})");
  const std::vector<TableRow> expected = {{"train.rate", "0.001"},
                                          {"train.fixed", "no"},
                                          {"crop", "[64,64]"},
                                          {"mask", "not set"},
                                          {"a", "b"}};
  EXPECT_EQ(rows, expected);
}

TEST(FlattenedOptions, RefuseWhatIsNotAnObject) {
  for (const char* json : {"", "[1]", "{\"a\":", "12"})
    EXPECT_THROW(flattened_options(json), InvalidInput) << json;
}

TEST(ScoreTables, GroupScoresByNameInTheOrderGiven) {
  const std::string html = score_tables({{"held_out.r_factor", 0.0865349, "a <ratio>"},
                                         {"new_kind.value", 12, "px"},
                                         {"held_out.frames", 52, "number"}});
  const auto held_out = html.find("Held-out patterns"), other = html.find("new kind");
  ASSERT_NE(held_out, std::string::npos);
  ASSERT_NE(other, std::string::npos);
  EXPECT_LT(html.find("held_out.frames"), other);
  EXPECT_NE(html.find("<td>0.08653</td>"), std::string::npos);
  EXPECT_NE(html.find("a &lt;ratio&gt;"), std::string::npos);
  EXPECT_EQ(score_tables({}), "");
}

std::string plot_of(std::vector<double> values) {
  return line_plot_svg({"loss", "epoch", "loss", std::move(values)});
}

/// The points of the curve, "M"/"L" and coordinates.
std::vector<std::pair<double, double>> points(const std::string& svg) {
  std::smatch path;
  std::regex_search(svg, path, std::regex("class=\"curve\" d=\"([^\"]*)\""));
  const std::string text = path[1];
  const std::regex point("[ML]([-0-9.]+) ([-0-9.]+)");
  std::vector<std::pair<double, double>> found;
  for (std::sregex_iterator at(text.begin(), text.end(), point), end; at != end; ++at)
    found.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  return found;
}

TEST(LinePlotSvg, AFallingCurveGoesRightAndDown) {
  const auto curve = points(plot_of({3, 2.5, 2.4, 2}));
  ASSERT_EQ(curve.size(), 4u);
  for (std::size_t index = 1; index < curve.size(); ++index) {
    EXPECT_GT(curve[index].first, curve[index - 1].first);
    EXPECT_GT(curve[index].second, curve[index - 1].second);
  }
}

TEST(LinePlotSvg, EqualFactorsAreEqualStepsOnALogarithmicAxis) {
  const std::string svg = plot_of({100, 10, 1});
  const auto curve = points(svg);
  EXPECT_NE(svg.find("log scale"), std::string::npos);
  EXPECT_NEAR(curve[1].second - curve[0].second, curve[2].second - curve[1].second, 0.2);
  EXPECT_EQ(plot_of({100, 50}).find("log scale"), std::string::npos);
  EXPECT_EQ(plot_of({100, -1}).find("log scale"), std::string::npos);
}

TEST(LinePlotSvg, AValueThatIsNotFiniteLeavesAGap) {
  const std::string svg = plot_of({3, std::nan(""), 2, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(points(svg).size(), 2u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(LinePlotSvg, PartsAreApartWithALineBetweenThemAndTheirLabels) {
  const std::string svg =
      line_plot_svg({"loss", "pass", "loss", {3, 2, 4, 1, 1}, {{"1", 2}, {"<3>", 3}}});
  EXPECT_EQ(points(svg).size(), 5U);
  const std::string path = svg.substr(svg.find("class=\"curve\""));
  EXPECT_EQ(std::count(path.begin(), path.begin() + path.find("/>"), 'M'), 2);
  EXPECT_NE(svg.find(">1</text>"), std::string::npos);
  EXPECT_NE(svg.find(">&lt;3&gt;</text>"), std::string::npos);
  std::smatch border;
  ASSERT_TRUE(std::regex_search(svg, border, std::regex("class=\"border\" d=\"M([0-9.]+)")));
  EXPECT_GT(std::stod(border[1]), points(svg)[1].first);
  EXPECT_LT(std::stod(border[1]), points(svg)[2].first);
  EXPECT_EQ(plot_of({3, 2}).find("border"), std::string::npos);
}

TEST(LinePlotSvg, OneValueOrAConstantIsDrawnInsideTheFrame) {
  for (const auto& values : {std::vector<double>{2}, std::vector<double>{0, 0, 0}})
    for (const auto& [x, y] : points(plot_of(values))) {
      EXPECT_TRUE(x >= 0 && x <= 640);
      EXPECT_TRUE(y > 0 && y < 300);
    }
}

TEST(LinePlotSvg, RefusesACurveWithoutAFiniteValue) {
  EXPECT_THROW(plot_of({}), InvalidInput);
  EXPECT_THROW(plot_of({std::nan("")}), InvalidInput);
}

}  // namespace
}  // namespace ptyche
