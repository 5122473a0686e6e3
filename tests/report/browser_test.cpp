// The page in a real browser, where one is installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "ptyche/core/files.h"
#include "ptyche/report/report.h"
#include "tests/report/decoded_png.h"
#include "tests/report/sample.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_browser() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
      if (fs::exists(fs::path(folder) / name)) return fs::path(folder) / name;
  return std::nullopt;
}

/// The top of the page as a browser shows it in a window of the given width.
DecodedPng screenshot(const fs::path& browser, const fs::path& folder, int width) {
  const fs::path shot = folder / "screenshot.png";
  const std::string command =
      "HOME='" + folder.string() + "' timeout 120 '" + browser.string() +
      "' --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir='" +
      (folder / "profile").string() + "' --window-size=" + std::to_string(width) +
      ",2400 --screenshot='" + shot.string() + "' 'file://" + (folder / "report.html").string() +
      "' >'" + (folder / "log").string() + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_bytes(folder / "log");
  return decode_png(read_bytes(shot));
}

/// True if a strip of the page at its right side holds nothing but the page's own colour.
bool margin_is_empty(const DecodedPng& shot, int strip) {
  for (int row = 0; row < shot.rows; ++row)
    for (int col = shot.cols - strip; col < shot.cols; ++col)
      if (shot.at(row, col) != shot.at(0, shot.cols - 1)) return false;
  return true;
}

TEST(PageInABrowserSlow, IsDrawnAtDeskAndPhoneWidthAndFitsTheWindow) {
  const auto browser = find_browser();
  if (!browser) GTEST_SKIP() << "no chromium in PATH: the page was not looked at in a browser";
  const fs::path folder =
      fs::temp_directory_path() / ("ptyche_browser_" + std::to_string(getpid()));
  fs::create_directories(folder);
  write_report(folder, sample_star(), sample_scores());
  for (const int width : {1280, 390}) {
    const DecodedPng shot = screenshot(*browser, folder, width);
    EXPECT_EQ(shot.cols, width);
    EXPECT_GT(std::set(shot.pixels.begin(), shot.pixels.end()).size(), 100u) << width;
    EXPECT_TRUE(margin_is_empty(shot, 8)) << width;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ptyche
