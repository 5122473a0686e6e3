// What a person opens: figures and one self-contained page.
#pragma once

#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/core/progress.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/scores.h"
#include "ptyche/evaluate/compare.h"

namespace ptyche {

/// Runs `work`; whatever it throws becomes a warning that begins with `what`: a result is kept
/// where its figure fails.
template <typename Work>
void warn_on_error(const std::string& what, Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    warn("{}: {}", what, error.what());
  }
}

/// A further image to show in the report (the unseen half, an image before refinement).
struct ExtraImage {
  std::string title, caption;
  Reconstruction image;
};

/// What a report shows beside the image and its scores.
struct ReportContent {
  std::vector<ExtraImage> extras = {};
  std::optional<Scan> scan = {};     ///< the image's own; none: nothing is shown beside patterns
  std::optional<Window> empty = {};  ///< object pixels without a sample; else see open_field
};

/// Writes phase.png, amplitude.png, coverage.png, probe.png, with a scan patterns.png and
/// positions.png, with a verdict verdict.png, with a trust trust.png, the Fourier ring correlations
/// that were measured (half_sets.png, truth_frc.png) and report.html (one self-contained page:
/// verdict, pictures, numbers, what was done, loss curve, scores, options) into `folder`. A part
/// that cannot be drawn is a warning, never an error; whether the page was. Throws InvalidInput,
/// after all the others were tried, for a file that could not be written (a full disk).
bool write_report(const std::filesystem::path& folder, const Reconstruction& image,
                  const Scores& scores, const ReportContent& content = {});

/// Writes amplitude.png, phase.png (both images side by side), amplitude_difference.png,
/// phase_difference.png, frc.png and report.html into `folder`. `image` and `reference` say which
/// files were compared, e.g. "A: x.h5". A part that cannot be drawn is a warning, never an error.
void write_comparison_report(const std::filesystem::path& folder, const ComparedImages& compared,
                             const std::vector<NamedScore>& scores, const std::string& image,
                             const std::string& reference);

/// The verdict's first line and its reasons.
std::string verdict_text(const Verdict& verdict);

/// The trust's first line, and why there is an alarm.
std::string trust_text(const Trust& trust);

/// How well the image predicts patterns, in one plain sentence with its floor and what no knowledge
/// at all would give; says so where nothing was held out.
std::string headline(const Scores& scores);

}  // namespace ptyche
