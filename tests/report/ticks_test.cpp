#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/report/canvas.h"

namespace ptyche {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(LinearTicks, AreRoundNumbersInsideTheRange) {
  EXPECT_EQ(labels(linear_ticks(0, 10, 5)), (Texts{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(labels(linear_ticks(-0.7, 0.45, 6)),
            (Texts{"−0.6", "−0.4", "−0.2", "0", "0.2", "0.4"}));
  EXPECT_EQ(labels(linear_ticks(0.951, 1.049, 4)), (Texts{"1.00"}));
}

TEST(LogTicks, StandAtOneTwoAndFiveOfEachDecade) {
  EXPECT_EQ(labels(log_ticks(0.1, 10)), (Texts{"0.1", "0.2", "0.5", "1", "2", "5", "10"}));
  EXPECT_EQ(labels(log_ticks(0.05, 500)), (Texts{"0.1", "1", "10", "100"}));
}

TEST(RoundLength, IsTheLargestRoundNumberBelow) {
  for (const auto& [length, round] :
       {std::pair{3.9, 2.0}, {5.0, 5.0}, {0.00199, 0.001}, {99.0, 50.0}})
    EXPECT_NEAR(round_length(length), round, 1e-12 * round);
}

TEST(FormatLength, ChoosesTheUnit) {
  EXPECT_EQ(format_length(5e-7), "500 nm");
  EXPECT_EQ(format_length(1e-6), "1 µm");
  EXPECT_EQ(format_length(2e-3), "2 mm");
}

TEST(FormatNumber, KeepsFourDigitsAndWholeNumbers) {
  EXPECT_EQ(format_number(0.0865349), "0.08653");
  EXPECT_EQ(format_number(123456), "123456");
  EXPECT_EQ(format_number(-2.5), "−2.5");
  EXPECT_EQ(format_number(-0.0), "0");
  EXPECT_EQ(format_number(4.4712e9), "4.471 × 10⁹");
  EXPECT_EQ(format_number(-3.1e-12), "−3.1 × 10⁻¹²");
  EXPECT_EQ(format_number(std::nan("")), "not finite");
}

}  // namespace
}  // namespace ptyche
