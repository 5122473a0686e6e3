#include "ptyche/ptychopinn/pictures.h"

#include <gtest/gtest.h>

#include "ptyche/core/files.h"
#include "ptyche/core/messages.h"
#include "ptyche/report/result_figures.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// A simulated scan, and its truth as the image of it.
struct PerfectImage {
  Scan scan = simulate({.pattern_size = 32, .frames = 64, .step_px = 4, .probe_diameter_px = 12});
  Reconstruction image = empty_reconstruction(scan, Interpolation::probe_fourier);

  PerfectImage() {
    const std::int64_t rows = image.rows(), cols = image.cols();
    image.object = cut(scan.truth(), {image.origin_row, image.origin_row + rows, image.origin_col,
                                      image.origin_col + cols})
                       .unsqueeze(0);
    image.coverage = at::ones({rows, cols});
  }
};

std::string bytes_of(const std::filesystem::path& file) { return read_bytes(file, 1 << 26); }

TEST(Pictures, HaveTheNamesThatPtychoPinnsScriptsLookFor) {
  const PerfectImage perfect;
  const TestFolder folder;
  write_ptychopinn_pictures(folder.path(), perfect.image, perfect.scan,
                            {.image = true, .comparison = true});
  for (const char* name :
       {"reconstructed_amplitude.png", "reconstructed_phase.png", "comparison_plot.png"})
    EXPECT_EQ(bytes_of(folder / name).substr(1, 3), "PNG") << name;
}

TEST(Pictures, AreNotWrittenUnlessTheyAreAskedFor) {
  const PerfectImage perfect;
  const TestFolder folder;
  write_ptychopinn_pictures(folder.path(), perfect.image, perfect.scan, {});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Pictures, SayThatAComparisonNeedsATruth) {
  const PerfectImage perfect;
  const TestFolder folder;
  ScanFields fields;
  fields.counts = perfect.scan.counts();
  fields.positions = perfect.scan.positions();
  fields.probe = perfect.scan.probe();
  fields.source = "measured.npz";
  const HeardRemarks heard;
  write_ptychopinn_pictures(folder.path(), perfect.image, Scan(std::move(fields)),
                            {.comparison = true});
  ASSERT_EQ(heard.list().size(), 1u);
  EXPECT_EQ(heard.list().front().text,
            "--comparison-plot: measured.npz has no truth that could stand beside the image");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Pictures, SpanThePhasesThatTheUserGives) {
  const PerfectImage perfect;
  const TestFolder folder;
  const PictureOptions options{.image = true, .phase_low_rad = -0.25, .phase_high_rad = 1.5};
  write_ptychopinn_pictures(folder.path(), perfect.image, perfect.scan, options);
  Drawing how = drawing_of(perfect.image);
  how.phase_range_rad = ValueRange{-0.25, 1.5};
  EXPECT_EQ(bytes_of(folder / "reconstructed_phase.png"),
            render_png(phase_figure(perfect.image, how).figure));
}

TEST(Pictures, RefuseARangeOfPhasesThatIsNone) {
  EXPECT_EQ(message_of([] { require_phase_range({.phase_low_rad = 1, .phase_high_rad = 0.5}); }),
            "--phase-vmin: expected less than --phase-vmax, found 1 and 0.5");
}

}  // namespace
}  // namespace ptyche
