#include "ptyche/group/subsample.h"

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/core/random.h"

namespace ptyche {

Scan subsample(const Scan& scan, const SubsampleOptions& options) {
  require_in_range(options);
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

std::vector<Field> fields(SubsampleOptions& options) {
  return {{.name = "n-subsample",
           .target = &options.count,
           .unit = "patterns",
           .help = "how many patterns are used at all; 0 = every one",
           .range = {0, 1e9}},
          {.name = "subsample-seed", .target = &options.seed, .help = "draws these"},
          {.name = "subsample-first", .target = &options.first, .internal = true}};
}

}  // namespace ptyche
