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
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

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

/// The bytes of `out`, which the browser has made of the page in `folder`, told how by `words`.
std::string made_by(const fs::path& browser, const fs::path& folder, const std::string& words,
                    const fs::path& out) {
  const std::string command =
      "HOME='" + folder.string() + "' timeout 120 '" + browser.string() +
      "' --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir='" +
      (folder / "profile").string() + "' " + words + "='" + out.string() + "' 'file://" +
      (folder / "report.html").string() + "' >'" + (folder / "log").string() + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_bytes(folder / "log");
  return read_bytes(out);
}

/// The top of the page as a browser shows it in a window of the given width.
DecodedPng screenshot(const fs::path& browser, const fs::path& folder, int width) {
  return decode_png(made_by(browser, folder,
                            "--window-size=" + std::to_string(width) + ",2400 --screenshot",
                            folder / "screenshot.png"));
}

/// Of a PDF, which lists them by this line.
int pages_of(const std::string& pdf) {
  const std::string mark = "/Type /Page\n";
  int pages = 0;
  for (std::size_t at = pdf.find(mark); at != std::string::npos; at = pdf.find(mark, at + 1))
    ++pages;
  return pages;
}

/// True if a strip of the page at its right side holds nothing but the page's own colour.
bool margin_is_empty(const DecodedPng& shot, int strip) {
  for (int row = 0; row < shot.rows; ++row)
    for (int col = shot.cols - strip; col < shot.cols; ++col)
      if (shot.at(row, col) != shot.at(0, shot.cols - 1)) return false;
  return true;
}

/// A report with every part that there is, of a run with warnings and many steps.
void write_longest_report(const fs::path& folder) {
  const Scan scan = small_scan(100);
  Reconstruction image = flat(scan);
  image.provenance = sample_star().provenance;
  image.provenance.remarks = {
      {.kind = Remark::Kind::warning, .text = "amplitudes without an absolute scale"},
      {.kind = Remark::Kind::correction, .text = "a dead pixel was masked"}};
  image.provenance.machine = "a processor, 2 cores, 2 threads used";
  for (const char* what : {"training of the network", "first image", "until it stands still",
                           "without 3 patterns that do not fit", "modes and positions by batches",
                           "three probe modes", "polish", "with all patterns"})
    image.provenance.attempts.push_back({what, 20, 1.5, 0.02, true});
  image.loss.assign(160, 0.01);
  image.geometry = {.energy_ev = 8800, .distance_m = 2, .detector_pixel_m = 75e-6};
  image.geometry.object_pixel_m = 5e-8;
  Scores scores = sample_scores();
  scores.half_sets = scores.truth = sample_comparison();
  scores.verdict = Verdict();
  scores.verdict->reasons = {"Too little light"};
  write_report(
      folder, image, scores,
      {.extras = {{"Before the refinement", "The network's image.", image}}, .scan = scan});
}

TEST(PageInABrowserSlow, FitsTheWindowAtDeskAndPhoneWidthAndThreePages) {
  const auto browser = find_browser();
  if (!browser) GTEST_SKIP() << "no chromium in PATH: the page was not looked at in a browser";
  const fs::path folder =
      fs::temp_directory_path() / ("ptyche_browser_" + std::to_string(getpid()));
  fs::create_directories(folder);
  write_longest_report(folder);
  for (const int width : {1280, 390}) {
    const DecodedPng shot = screenshot(*browser, folder, width);
    EXPECT_EQ(shot.cols, width);
    EXPECT_GT(std::set(shot.pixels.begin(), shot.pixels.end()).size(), 100u) << width;
    EXPECT_TRUE(margin_is_empty(shot, 8)) << width;
  }
  const int pages = pages_of(made_by(*browser, folder, "--print-to-pdf", folder / "page.pdf"));
  EXPECT_GE(pages, 1);
  EXPECT_LE(pages, 3);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ptyche
