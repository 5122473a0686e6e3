#include "ptyche/live/background_solver.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/core/progress.h"
#include "ptyche/solve/solve.h"

namespace ptyche {
namespace {

/// Rounds on the same frames, before it waits for more.
constexpr int kRoundsOnTheSame = 4;

}  // namespace

BackgroundSolver::BackgroundSolver(const BackgroundOptions& options, LiveBoard& board)
    : options_(options), board_(board), thread_([this] { work(); }) {}

BackgroundSolver::~BackgroundSolver() { finish(); }

void BackgroundSolver::finish() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    offered_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool BackgroundSolver::stopping() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void BackgroundSolver::offer(const LiveFrames& frames, const LiveBasis& basis, double seconds,
                             bool partial) {
  const std::lock_guard lock(mutex_);
  offer_ = Offer{frames, basis, seconds, partial};
  offered_.notify_all();
}

bool BackgroundSolver::wants_more() const {
  const std::lock_guard lock(mutex_);
  return !offer_;
}

std::optional<at::Tensor> BackgroundSolver::found_probe() {
  const std::lock_guard lock(mutex_);
  return std::exchange(probe_, std::nullopt);
}

void BackgroundSolver::work() {
  const Silence silence;
  std::string said;
  while (true) {
    Offer taken;
    {
      std::unique_lock lock(mutex_);
      offered_.wait(lock, [&] { return stop_ || offer_; });
      if (stop_) return;
      taken = *std::exchange(offer_, std::nullopt);
    }
    try {
      round(taken);
    } catch (const Interrupted&) {
      return;
    } catch (const std::exception& error) {
      // The scan goes on: the next round has more patterns. The same reason is said once.
      if (said != error.what())
        print_message(MessageLevel::debug, std::string("solver: ") + error.what());
      said = error.what();
    }
  }
}

/// The deviance of the newest image of single patterns by the patterns of this state of the scan.
void BackgroundSolver::judge(const Scan& scan) {
  const SharedImage network = board_.network();
  if (!network || !std::isnan(network->deviance)) return;
  LiveImage judged = *network;
  judged.image.positions = scan.positions();
  judged.image.frame_use = scan.frame_use();
  judged.deviance = live_deviance(judged.image, scan);
  if (std::isnan(judged.deviance)) return;
  board_.publish(std::make_shared<const LiveImage>(std::move(judged)), false);
}

void BackgroundSolver::round(const Offer& offer) {
  const auto frames = static_cast<std::int64_t>(offer.frames.size());
  const SharedImage network = board_.network();
  const bool judges = network && std::isnan(network->deviance);
  if (frames == 0 || (!options_.solve && offer.basis.probe.defined() && !judges)) return;
  const Scan scan = judged_part(offer.frames, offer.basis, options_.read, options_.seed);
  if (!offer.basis.probe.defined()) {
    if (frames < options_.probe_frames) return;
    const FirstProbe first = with_first_probe(scan, options_.probe);
    const std::lock_guard lock(mutex_);
    probe_ = first.scan.probe();
    return;
  }
  judge(scan);
  if (!options_.solve || frames < options_.fewest_frames || board_.paused) return;
  const std::pair here{frames, offer.frames.places.back().index};
  rounds_here_ = here == last_frames_ ? rounds_here_ + 1 : 0;
  last_frames_ = here;
  if (rounds_here_ >= kRoundsOnTheSame) return;
  const Stopwatch watch;
  SolveResult result = solve(scan, last_, last_ ? options_.next : options_.first,
                             {.stop = [this](std::int64_t) { return stopping(); }});
  const double deviance = live_deviance(result.image, scan);
  // One that the end of the scan has cut short is shown only if it is better already.
  const bool better = result.end == ChainEnd::done ||
                      (result.end == ChainEnd::interrupted && deviance < last_deviance_);
  if (!better) return;
  last_ = std::move(result.image);
  last_deviance_ = deviance;
  board_.publish(
      std::make_shared<const LiveImage>(LiveImage{.image = *last_,
                                                  .by = "solver",
                                                  .frames = frames,
                                                  .partial = offer.partial,
                                                  .seconds = offer.seconds + watch.seconds(),
                                                  .deviance = deviance}),
      true);
}

}  // namespace ptyche
