// From joined frames to scans: the whole one, as if a file with these frames had been read, and
// parts of it while it grows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/live/joiner.h"

namespace ptyche {

/// What is known of the measurement beside frames and positions.
struct LiveBasis {
  Geometry geometry = {};
  at::Tensor mask = {};           ///< (rows, cols) bool, true = counted; undefined = all
  at::Tensor probe = {};          ///< (modes, N, N) complex64; undefined = not known yet
  bool probe_calibrated = false;  ///< it is in sqrt(photon)
  std::string source = "live";    ///< what messages and results call the scan
};

/// What a sender says, where nothing was known.
LiveBasis completed(LiveBasis basis, const SeriesStart& start);

/// Some joined frames, their counts shared with the store.
struct LiveFrames {
  std::vector<JoinedFrame> places;
  std::vector<at::Tensor> counts;
  double ceiling = 0;

  std::size_t size() const { return places.size(); }
};
/// Bytes that a solver's round takes for a pattern like this one: its counts in the scan that is
/// cut out of the stream and in what the solver keeps of it, and the model's, float32.
std::int64_t bytes_of_round(const at::Tensor& counts);
/// The last `most` of them: neighbours in the scan, so that an image can be made of them.
///   places  by index
std::vector<JoinedFrame> last_of(std::vector<JoinedFrame> places, std::int64_t most);
LiveFrames frames_of(const Joiner& joiner, const std::vector<JoinedFrame>& places);

/// All of them, in their order, by the options of reading a file. Throws as read_scan does, and
/// where some positions are in metres and others in pixels.
Scan whole_scan(const LiveFrames& frames, const LiveBasis& basis, const ReadOptions& options);

/// Some of them while the scan runs: none rejected, none held out, and the positions in a frame
/// that does not depend on which are there (--flip-x changes the sign of the column and does not
/// mirror about the middle of what came so far). Without a probe, one of the mean pattern stands
/// in.
Scan part_of_scan(const LiveFrames& frames, const LiveBasis& basis, const ReadOptions& options);

/// Whether a pattern is kept from all images while the scan runs, so that it can judge them: one in
/// kLiveHoldOut, by its index alone.
bool is_held_out(std::uint64_t seed, std::int64_t index);
inline constexpr double kLiveHoldOut = 1.0 / 16;

/// part_of_scan with these patterns held out.
Scan judged_part(const LiveFrames& frames, const LiveBasis& basis, const ReadOptions& options,
                 std::uint64_t seed);

/// Deviance per photon of the held-out patterns of which the image shows nearly all that their
/// probe lights; NaN where there are fewer than kFewestJudges.
double live_deviance(const Reconstruction& image, const Scan& scan);
inline constexpr std::int64_t kFewestJudges = 3;

}  // namespace ptyche
