#include "ptyche/commands/automatic_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "ptyche/commands/result_arrays.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/product.h"
#include "ptyche/report/report.h"
#include "ptyche/report/result_figures.h"

namespace ptyche {
namespace {

constexpr double kSecondsBetweenImages = 2;
constexpr std::int64_t kMostNamed = 12;

/// One line per attempt.
void write_attempts(const std::filesystem::path& folder, const std::vector<Attempt>& attempts) {
  std::string table = "what,passes,seconds,held_out_deviance_per_photon,kept\n";
  for (const Attempt& each : attempts)
    table += fmt::format("{},{},{:.3f},{:.8g},{}\n", each.what, each.passes, each.seconds,
                         each.held_out_deviance, each.kept ? 1 : 0);
  write_text(folder / "attempts.csv", table);
}

constexpr const char* kLeftOutFile = "patterns_left_out.csv";

/// Which patterns were left out, and where they lie.
void write_left_out(const std::filesystem::path& folder, const Scan& scan,
                    const at::Tensor& left_out) {
  std::string table = "pattern,row_px,col_px\n", named;
  for (std::int64_t i = 0; i < left_out.size(0); ++i) {
    const auto pattern = left_out[i].item<std::int64_t>();
    const at::Tensor place = scan.positions()[pattern];
    table += fmt::format("{},{:.6g},{:.6g}\n", pattern, place[0].item<double>(),
                         place[1].item<double>());
    if (i < kMostNamed) named += fmt::format("{}{}", i > 0 ? ", " : "", pattern);
  }
  write_text(folder / kLeftOutFile, table);
  note(
      "{} of {} patterns are left out, for the image of the others does not describe them: {}{} "
      "({})",
      left_out.size(0), scan.frames(), named, left_out.size(0) > kMostNamed ? ", ..." : "",
      kLeftOutFile);
}

}  // namespace

void write_pictures(const std::filesystem::path& folder, const Reconstruction& image) {
  warn_on_error("phase.png", [&] {
    write_text(folder / "phase.png", render_png(phase_figure(image).figure));
    write_text(folder / "amplitude.png", render_png(amplitude_figure(image).figure));
  });
}

void write_bright_field(const std::filesystem::path& folder,
                        const std::optional<BrightField>& field) {
  if (!field) return;
  warn_on_error(kBrightFieldFile, [&] {
    Reconstruction image;
    image.object = at::complex(field->image, at::zeros_like(field->image)).unsqueeze(0);
    image.coverage = field->seen;
    image.geometry.object_pixel_m = field->pixel_m;
    Figure figure = amplitude_figure(image).figure;
    figure.title = "Tilt-corrected bright field";
    std::get<ColourBar>(figure.key).label = "light over its mean";
    write_text(folder / kBrightFieldFile, render_png(figure));
  });
}

AutomaticResult run_automatically(const Scan& scan, const std::optional<Reconstruction>& start,
                                  const AutomaticOptions& options,
                                  const std::filesystem::path& folder, bool resume,
                                  const RunRecord& record, bool arrays) {
  std::optional<Stopwatch> since_image;
  const auto show = [&](Reconstruction image) {
    if (since_image && since_image->seconds() < kSecondsBetweenImages) return;
    record.stamp(image, {});
    write_pictures(folder, image);
    warn_on_error("reconstruction.h5",
                  [&] { write_reconstruction(folder / "reconstruction.h5", image); });
    show_image_so_far(folder, image, arrays);
    since_image = Stopwatch();
  };
  AutomaticResult result = solve_automatically(
      scan, start, options, show, {.folder = folder / kAutomaticCheckpoint, .resume = resume});
  record.stamp(result.image, result.attempts);
  warn_on_error("attempts.csv", [&] { write_attempts(folder, result.attempts); });
  if (result.left_out.size(0) > 0)
    warn_on_error(kLeftOutFile, [&] { write_left_out(folder, scan, result.left_out); });
  return result;
}

Scan scan_of_result(const Scan& scan, const AutomaticResult& result) {
  const Scan rest = scan.with_frame_use(
      scan.frame_use().index_fill(0, result.left_out, static_cast<int>(FrameUse::rejected)));
  return result.first_probe.defined() ? rest.with_probe(result.first_probe) : rest;
}

Field no_verdict_option(bool& leave_out) {
  return {.name = "no-verdict",
          .target = &leave_out,
          .help =
              "no verdict (good, doubtful, failed: exit code 4); it takes two more solves of a "
              "part of the patterns"};
}

std::optional<Verdict> judged(const Scan& scan, const Reconstruction& image,
                              const JudgeOptions& options) {
  const Stopwatch watch;
  try {
    Verdict verdict = judge(scan, image, options);
    verdict.seconds = watch.seconds();
    return verdict;
  } catch (const Interrupted& stop) {
    warn("no verdict: {}", stop.what());
  } catch (const InvalidInput& error) {
    note("no verdict: {}", error.what());
  }
  return std::nullopt;
}

void require_not_failed(const std::optional<Verdict>& verdict, bool wanted,
                        const std::filesystem::path& folder) {
  if (wanted && !verdict && interrupted())
    throw Interrupted("stopped during the verdict; the image is kept in " + folder.string());
  if (verdict && verdict->word == VerdictWord::failed)
    throw FailedImage(fmt::format("{}; the image is written to {}",
                                  fmt::join(verdict->reasons, "; "), folder.string()));
}

void require_whole(ChainEnd end, const std::filesystem::path& folder, bool resumable) {
  if (end == ChainEnd::diverged)
    throw Diverged(
        fmt::format("the solver diverged; its best image is kept in {}, smaller steps may help",
                    folder.string()));
  if (end == ChainEnd::interrupted)
    throw Interrupted(resumable ? "stopped during the solver; image and state are kept in " +
                                      folder.string() + ", --resume goes on"
                                : "stopped during the solver; the image is kept in " +
                                      folder.string() + ", but the state could not be written");
}

}  // namespace ptyche
