// A scan that was measured once, as a stream that does what real ones do: frames and positions
// apart, some lost, some out of order, some twice, positions late.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/live/record.h"
#include "ptyche/live/source.h"
#include "ptyche/prepare/scan_rotation.h"

namespace ptyche {
namespace {

struct ReplayPlan {
  double rate = 0;           ///< frames a second; 0 = as fast as they are taken
  double loss = 0;           ///< share of frames that never come
  double duplicates = 0;     ///< share of frames that come twice
  double late = 0;           ///< s by which positions come after their frame
  std::int64_t shuffle = 0;  ///< frames within which the order is random
  std::uint64_t seed = 1;
};

/// The frames' order: each block of `shuffle` in a random one.
std::vector<std::int64_t> order_of(std::int64_t frames, const ReplayPlan& plan) {
  std::vector<std::int64_t> order;
  const std::int64_t block = std::max<std::int64_t>(1, plan.shuffle);
  for (std::int64_t first = 0; first < frames; first += block) {
    const std::int64_t count = std::min(block, frames - first);
    const RandomStream stream(plan.seed, Purpose::live_replay, static_cast<std::uint64_t>(first));
    for (const std::int64_t i : permutation(count, stream)) order.push_back(first + i);
  }
  return order;
}

/// Whether something that happens to a share of the frames happens to this one.
bool happens(double share, std::int64_t index, std::uint64_t what, const ReplayPlan& plan) {
  RandomStream stream(plan.seed, Purpose::live_replay,
                      (std::uint64_t{1} << 40) * what + static_cast<std::uint64_t>(index));
  return stream.uniform() < share;
}

/// Waits until `at` seconds; false once nobody listens.
bool wait_until(SourceSink& sink, const Stopwatch& watch, double at) {
  while (watch.seconds() < at) {
    if (sink.queue.closed()) return false;
    const double left = at - watch.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.05)));
  }
  return true;
}

SeriesStart start_of(const Scan& scan) {
  return {.series = 1,
          .frames = scan.frames(),
          .geometry = scan.geometry(),
          .mask = scan.mask(),
          .probe = scan.probe_given() ? scan.probe() : at::Tensor(),
          .probe_calibrated = scan.probe_given()};
}

bool send_position(SourceSink& sink, const Scan& scan, std::int64_t index) {
  return pass_on(sink,
                 PositionsMessage{index, scan.positions().narrow(0, index, 1).clone(), false});
}

void replay_scan(const Scan& scan, const ReplayPlan& plan, SourceSink& sink) {
  if (!pass_on(sink, start_of(scan))) return;
  const Stopwatch watch;
  std::multimap<double, std::int64_t> due;  // positions by the time at which they are sent
  const auto send_due = [&](double until) {
    for (; !due.empty() && due.begin()->first <= until; due.erase(due.begin()))
      if (!wait_until(sink, watch, due.begin()->first) ||
          !send_position(sink, scan, due.begin()->second))
        return false;
    return true;
  };
  double at = 0;
  for (const std::int64_t index : order_of(scan.frames(), plan)) {
    if (!send_due(at) || !wait_until(sink, watch, at)) return;
    due.emplace(at + plan.late, index);
    const int times = happens(plan.loss, index, 1, plan)         ? 0
                      : happens(plan.duplicates, index, 2, plan) ? 2
                                                                 : 1;
    for (int i = 0; i < times; ++i)
      if (!pass_on(sink, FrameMessage{
                             .series = 1, .index = index, .counts = scan.counts()[index].clone()}))
        return;
    if (plan.rate > 0) at += 1 / plan.rate;
  }
  if (send_due(at + plan.late + 1) && pass_on(sink, SeriesEnd{1, true}))
    pass_on(sink, SeriesEnd{1, false});
}

ReplayPlan plan_of(const SourceUrl& url) {
  return {.rate = url.number("rate", 0, 0, 1e6),
          .loss = url.number("loss", 0, 0, 1),
          .duplicates = url.number("duplicates", 0, 0, 1),
          .late = url.number("late", 0, 0, 1e4),
          .shuffle = static_cast<std::int64_t>(url.number("shuffle", 0, 0, 1e6)),
          .seed = static_cast<std::uint64_t>(url.number("seed", 1, 0, 1e9))};
}

}  // namespace

SourceWork open_replay(const SourceUrl& url) {
  const ReplayPlan plan = plan_of(url);
  if (is_record(url.place))
    return [url, plan, options = dialect_options(url)](SourceSink& sink) {
      const Stopwatch watch;
      DialectState state;
      read_record(url.place, [&](const RawMessage& raw, double time) {
        return (plan.rate == 0 || wait_until(sink, watch, time)) &&
               pass_on(sink, raw, options, state);
      });
    };
  // Here and not in the thread: reading a file takes the HDF5 library.
  ReadOptions options{.file = url.place};
  const std::lock_guard guard(hdf5_lock());
  const Scan scan = read_turned_scan(options);
  return [scan, plan](SourceSink& sink) { replay_scan(scan, plan, sink); };
}

}  // namespace ptyche
