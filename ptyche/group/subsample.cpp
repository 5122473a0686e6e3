#include "ptyche/group/subsample.h"

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/core/random.h"

namespace ptyche {

Scan subsample(const Scan& scan, const SubsampleOptions& options) {
  require(options.count >= 0, "--n-subsample: expected 0 or more, found {}", options.count);
  at::Tensor order = scan.frames_with(FrameUse::used);
  const std::int64_t patterns = order.size(0);
  if (options.count > patterns)
    note("--n-subsample {}: the scan has {} patterns that may be used; all are kept", options.count,
         patterns);
  if (options.count == 0 || options.count >= patterns) return scan;
  if (!options.first) {
    const RandomStream stream(options.seed, Purpose::subsample);
    order = order.index_select(0, at::tensor(permutation(patterns, stream), at::kLong));
  }
  return scan.with_frame_use(scan.frame_use().index_fill(
      0, order.slice(0, options.count), static_cast<std::int64_t>(FrameUse::rejected)));
}

}  // namespace ptyche
