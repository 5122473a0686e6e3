// The automatic chain of solvers as verbs run it: what it leaves on the disk while it works.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "ptyche/commands/run_result.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/verdict.h"
#include "ptyche/prepare/bright_field.h"
#include "ptyche/solve/automatic.h"
#include "ptyche/solve/verdict.h"

namespace ptyche {

/// phase.png and amplitude.png of the image so far; a picture that fails is a warning.
void write_pictures(const std::filesystem::path& folder, const Reconstruction& image);

/// bright_field.png, a picture of the sample before any solve; nothing where there is none.
void write_bright_field(const std::filesystem::path& folder,
                        const std::optional<BrightField>& field);
inline constexpr const char* kBrightFieldFile = "bright_field.png";

/// Runs the chain. The first image, and from then on the best one every two seconds or later, is
/// written to `folder` as pictures and reconstruction.h5 stamped by `record`; attempts.csv says
/// what was tried, what it cost and came to, patterns_left_out.csv which patterns did not fit. What
/// has been done is kept in `folder`/kAutomaticCheckpoint, from which `resume` goes on; whoever
/// writes the image removes it afterwards (remove_if_possible).
AutomaticResult run_automatically(const Scan& scan, const std::optional<Reconstruction>& start,
                                  const AutomaticOptions& options,
                                  const std::filesystem::path& folder, bool resume,
                                  const RunRecord& record, bool arrays = false);

/// The scan as the chain's image is of it: without the patterns that it left out.
Scan scan_of_result(const Scan& scan, const AutomaticResult& result);

inline constexpr const char* kAutomaticCheckpoint = "automatic_checkpoint";

/// --no-verdict.
Field no_verdict_option(bool& leave_out);

/// The verdict on an image with the time that it took; nothing, with a note, where the further
/// solves are not possible, and with a warning where Ctrl-C ended them.
std::optional<Verdict> judged(const Scan& scan, const Reconstruction& image,
                              const JudgeOptions& options);

/// Throws what the exit code is to say of a verdict, once all files are written: FailedImage where
/// the image failed, Interrupted where Ctrl-C came before there was a verdict.
void require_not_failed(const std::optional<Verdict>& verdict, bool wanted,
                        const std::filesystem::path& folder);

/// Throws what the exit code is to say of a chain's end, once all files are written.
void require_whole(ChainEnd end, const std::filesystem::path& folder, bool resumable);

}  // namespace ptyche
