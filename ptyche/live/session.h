// A live run from the first message to the last: joins, shows, keeps, and says when it is enough.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/infer/infer.h"
#include "ptyche/live/background_solver.h"
#include "ptyche/live/board.h"
#include "ptyche/live/frames.h"
#include "ptyche/live/source.h"
#include "ptyche/live/stop_notice.h"
#include "ptyche/live/stop_rule.h"
#include "ptyche/model/model.h"

namespace ptyche {

struct LiveOptions {
  std::string stop_when;     ///< frc=X, deviance=X or plateau; empty = at the scan's end
  std::string stop_notify;   ///< where that is told (notice_place); empty = nowhere
  double keep_every_s = 60;  ///< between two writings of the image; 0 = only at the end
  double patience_s = 5;     ///< how long frames may wait for their positions after the scan's end
  std::int64_t memory_mb =
      0;                      ///< of frames in memory, beyond it on disk; 0 = half of the machine's
  bool only_receive = false;  ///< count, join and record; keep no frame and make no image
  bool background = true;     ///< a solver works while the scan runs
  std::uint64_t seed = 1;     ///< draws the patterns that judge the images
};
std::vector<Field> fields(LiveOptions& options);

/// What a run has come to.
struct LiveEnd {
  LiveFrames frames;  ///< joined, by index
  LiveBasis basis;
  JoinCounts counts;
  std::int64_t expected = 0;
  std::vector<std::int64_t> missing_frames, without_position, without_frame;
  std::vector<std::string> faults;  ///< of sources, in words
  std::string stopped_by;           ///< a rule, "viewer", "interrupt"; empty = the scan's end
  double seconds = 0;
  std::vector<double> latencies_s;  ///< of the newest frames, from the socket to the canvas
};

struct LiveWatch {
  /// With the image on show, every keep_every_s and where a viewer asks for it.
  std::function<void(const LiveImage&)> keep = {};
  /// Once, where the rule or a viewer ends the run: no more frames are needed.
  std::function<void(const StopNotice&)> enough = {};
};

/// Listens to the sources until all of them are done, the series has ended and nothing more can be
/// joined, a rule is reached, a viewer says stop, or Ctrl-C. Throws InvalidInput for sources that
/// cannot be opened; what goes wrong in them later is in `faults`.
LiveEnd run_live(const std::vector<SourceUrl>& sources, const LiveBasis& basis,
                 const std::optional<Model>& model, const InferOptions& infer,
                 const BackgroundOptions& background, const LiveOptions& options,
                 const std::filesystem::path& folder, Recorder* recorder, LiveBoard& board,
                 const LiveWatch& watch);

}  // namespace ptyche
