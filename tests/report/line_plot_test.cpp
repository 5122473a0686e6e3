#include "ptyche/report/line_plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

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
