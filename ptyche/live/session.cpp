#include "ptyche/live/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/live/half_sets.h"
#include "ptyche/live/patch_maker.h"

namespace ptyche {

std::vector<Field> fields(LiveOptions& options) {
  return {
      {.name = "stop-when",
       .target = &options.stop_when,
       .help = "condition for an end before the scan's: frc=X (the images of even and odd patterns "
               "agree up to X "
               "cycles per pixel), deviance=X (of held-out patterns, per photon), or plateau"},
      {.name = "stop-notify",
       .target = &options.stop_notify,
       .help = "receiver of a notice when --stop-when or the page's Stop ends the run: "
               "http://HOST:PORT/PATH (a POST of JSON) or zmq+push://HOST:PORT (to a PULL socket)",
       .affects_result = false},
      {.name = "keep-every",
       .target = &options.keep_every_s,
       .unit = "s",
       .help = "time between two writings of reconstruction.h5 while the scan runs; 0 = at the end "
               "only",
       .range = {0, 1e6},
       .affects_result = false},
      {.name = "patience",
       .target = &options.patience_s,
       .unit = "s",
       .help = "time after the scan's end for which frames and positions may wait for each other",
       .range = {0, 1e6}},
      {.name = "frames-memory",
       .target = &options.memory_mb,
       .unit = "MB",
       .help = "most memory for frames; more wait in files in the output folder, and the solver, "
               "which has half of it, takes the last that fit; 0 = half of the machine's",
       .range = {0, 1e9},
       .affects_result = false},
      {.name = "only-receive",
       .target = &options.only_receive,
       .help = "reception alone: frames are joined, counted and recorded (--record), none is kept "
               "and no image made"},
      {.name = "background-solver",
       .target = &options.background,
       .help = "solver that works on what is there while the scan runs; off: only single patterns"},
      {.name = "live-seed",
       .target = &options.seed,
       .help = "seed of the choice of patterns that judge the images while the scan runs"}};
}

namespace {

constexpr std::size_t kMessagesAtOnce = 256;
constexpr std::int64_t kFramesAtOnce = 64;
constexpr std::int64_t kQueueBytes = std::int64_t{256} << 20;
constexpr double kPublishSeconds = 0.5;
/// A snapshot of a large canvas takes long: never more than this share of the time.
constexpr double kSnapshotShare = 0.1;
constexpr std::size_t kMostJudges = 128;
constexpr std::size_t kKeptLatencies = 20000;

std::int64_t memory_for_frames(const LiveOptions& options) {
  if (options.memory_mb > 0) return options.memory_mb << 20;
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
}

/// Of that, for the solver's copies; the rest is for frames as they came.
std::int64_t memory_for_solver(const LiveOptions& options) {
  const bool solves = options.background && !options.only_receive;
  return solves ? memory_for_frames(options) / 2 : 0;
}

/// The state of one run; its members are the steps of the loop.
class Session {
 public:
  Session(const LiveBasis& basis, std::optional<Model> model, const InferOptions& infer,
          const BackgroundOptions& background, const LiveOptions& options,
          const std::filesystem::path& folder, LiveBoard& board, const LiveWatch& watch)
      : options_(options),
        background_options_(background),
        basis_(basis),
        batch_(static_cast<std::size_t>(infer.batch > 0 ? infer.batch : kFramesAtOnce)),
        joiner_(folder, memory_for_frames(options) - memory_for_solver(options)),
        maker_(std::move(model), infer),
        board_(board),
        watch_(watch),
        rule_(stop_rule(options.stop_when)) {
    background_options_.solve = options.background;
    background_options_.seed = options.seed;
    if (!options.only_receive)
      solver_ = std::make_unique<BackgroundSolver>(background_options_, board);
  }

  void take(LiveMessage message, double now);
  /// One batch of waiting frames through the network; whether there was one.
  bool show_some(double now);
  void publish(double now, const std::string& state, std::size_t waiting_messages);
  /// Nothing more can come, or nothing more is to be waited for.
  bool ended(const std::vector<std::unique_ptr<RunningSource>>& sources, double now);
  LiveEnd end(double now, const std::vector<std::unique_ptr<RunningSource>>& sources);
  std::size_t waiting() const { return waiting_.size(); }
  bool stop_reached() const { return !stopped_by_.empty(); }

 private:
  void wait_for_image(const JoinedFrame& joined);
  void show_network(double now);
  void look_for_a_stop();
  void keep_shown(const LiveImage& shown);
  std::vector<JoinedFrame> frames_to_offer() const;
  void say_once(const std::string& what, bool& said);

  LiveOptions options_;
  BackgroundOptions background_options_;
  LiveBasis basis_;
  std::size_t batch_;
  Joiner joiner_;
  PatchMaker maker_;
  GrowingCanvas canvas_;
  HalfSetLooks half_sets_;
  LiveBoard& board_;
  const LiveWatch& watch_;
  StopRule rule_;
  std::unique_ptr<BackgroundSolver> solver_;
  std::deque<JoinedFrame> waiting_;
  at::Tensor one_pixel_ = at::zeros({1, 1}, at::kByte);  // stands for frames that are not kept
  std::vector<LivePoint> points_;
  std::vector<float> shown_positions_;  // row, col in object pixels
  std::vector<double> latencies_;
  std::string stopped_by_;
  std::int64_t joined_before_ = 0, largest_joined_ = -1;
  double published_ = 0, next_snapshot_ = 0, kept_ = 0, rate_ = 0, frames_ended_ = -1,
         last_message_ = 0;
  bool positions_ended_ = false, said_series_ = false, said_shape_ = false, said_damage_ = false;
};

void Session::say_once(const std::string& what, bool& said) {
  if (!said) warn("{}", what);
  said = true;
}

void Session::wait_for_image(const JoinedFrame& joined) {
  largest_joined_ = std::max(largest_joined_, joined.index);
  if (!options_.only_receive) waiting_.push_back(joined);
}

void Session::take(LiveMessage message, double now) {
  // A series that goes on after the one that is taken keeps nobody waiting.
  const auto* const of_series = std::get_if<FrameMessage>(&message);
  if (of_series == nullptr || of_series->series == joiner_.series().value_or(of_series->series))
    last_message_ = now;
  if (auto* const frame = std::get_if<FrameMessage>(&message)) {
    if (options_.only_receive) frame->counts = one_pixel_;
    if (const auto joined = joiner_.add(*frame)) wait_for_image(*joined);
    const JoinCounts& counts = joiner_.counts();
    if (counts.other_series > 0)
      say_once(
          fmt::format("series {} began while series {} was taken: its frames are counted and not "
                      "mixed in",
                      frame->series, *joiner_.series()),
          said_series_);
    if (counts.other_shape > 0)
      say_once(fmt::format("frame {} has {} x {} pixels, the first one had {} x {}: it is left out",
                           frame->index, frame->counts.size(0), frame->counts.size(1),
                           joiner_.rows(), joiner_.cols()),
               said_shape_);
  } else if (const auto* places = std::get_if<PositionsMessage>(&message)) {
    for (const JoinedFrame& joined : joiner_.add(*places, now)) wait_for_image(joined);
  } else if (const auto* start = std::get_if<SeriesStart>(&message)) {
    joiner_.add(*start);
    if (joiner_.series() == start->series)
      basis_ = completed(std::move(basis_), *start);
    else if (joiner_.counts().frames > 0 && frames_ended_ < 0)
      frames_ended_ = now;  // aborted
  } else if (const auto* last = std::get_if<SeriesEnd>(&message)) {
    if (!last->of_frames)
      positions_ended_ = true;
    else if (joiner_.series() == last->series && frames_ended_ < 0)
      frames_ended_ = now;
  } else if (const auto* damaged = std::get_if<DamagedMessage>(&message)) {
    joiner_.add(*damaged);
    say_once(
        fmt::format("a message that cannot be read, this and others are counted: {}", damaged->why),
        said_damage_);
  }
}

bool Session::show_some(double now) {
  if (solver_) {
    if (const auto found = solver_->found_probe()) {
      basis_.probe = *found;
      basis_.probe_calibrated = true;
    }
  }
  if (waiting_.empty() || !basis_.probe.defined() || board_.paused) return false;
  std::vector<JoinedFrame> batch;
  std::vector<std::int64_t> indices;
  for (; batch.size() < batch_ && !waiting_.empty(); waiting_.pop_front()) {
    const JoinedFrame& next = waiting_.front();
    if (is_held_out(options_.seed, next.index)) continue;
    batch.push_back(next);
    indices.push_back(next.index);
  }
  if (batch.empty()) return true;
  const LiveFrames frames = frames_of(joiner_, batch);
  const Scan part = part_of_scan(frames, basis_, background_options_.read);
  if (!basis_.probe_calibrated && part.frames() > 1) {
    basis_.probe = part.probe();
    basis_.probe_calibrated = true;
  }
  const Stopwatch watch;
  maker_.add_to(canvas_, part, indices);
  const at::Tensor places = part.positions().to(at::kFloat).contiguous();
  shown_positions_.insert(shown_positions_.end(), places.data_ptr<float>(),
                          places.data_ptr<float>() + places.numel());
  for (const JoinedFrame& each : batch) latencies_.push_back(now + watch.seconds() - each.came);
  if (latencies_.size() > 2 * kKeptLatencies)
    latencies_.erase(latencies_.begin(),
                     latencies_.end() - static_cast<std::ptrdiff_t>(kKeptLatencies));
  board_.publish_pattern(frames.counts.back(), batch.back().index);
  return true;
}

/// A copy of the canvas as the image so far.
void Session::show_network(double now) {
  if (canvas_.empty() || now < next_snapshot_) return;
  const Stopwatch watch;
  LiveImage shown{.by = maker_.has_network() ? "network" : "single patterns",
                  .frames = canvas_.patches(),
                  .seconds = now};
  Reconstruction& image = shown.image;
  std::tie(image.object, image.coverage) = canvas_.picture();
  image.object = image.object.unsqueeze(0);
  image.origin_row = canvas_.extent().row_begin;
  image.origin_col = canvas_.extent().col_begin;
  image.probe = maker_.probe().unsqueeze(0);
  image.positions = at::tensor(shown_positions_).view({-1, 2}).to(at::kDouble);
  image.frame_use = at::zeros({image.positions.size(0)}, at::kByte);
  image.geometry = basis_.geometry;
  image.provenance.source = basis_.source;
  board_.publish(std::make_shared<const LiveImage>(std::move(shown)), false);
  next_snapshot_ = now + std::max(kPublishSeconds, watch.seconds() / kSnapshotShare);
}

/// What fits into memory, and enough for a probe; without a solver, once there is a probe, the
/// judges alone.
std::vector<JoinedFrame> Session::frames_to_offer() const {
  std::vector<JoinedFrame> all = joiner_.joined();
  if (options_.background || !basis_.probe.defined()) {
    const std::int64_t bytes = bytes_of_round(joiner_.store().frame(0));
    const std::int64_t most =
        std::max(memory_for_solver(options_) / bytes, background_options_.probe_frames);
    return last_of(std::move(all), most);
  }
  std::erase_if(all,
                [&](const JoinedFrame& each) { return !is_held_out(options_.seed, each.index); });
  if (all.size() > kMostJudges)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMostJudges));
  return all;
}

void Session::publish(double now, const std::string& state, std::size_t waiting_messages) {
  if (now - published_ < kPublishSeconds && state == "running") return;
  const double seconds = std::max(now - published_, 1e-3);
  const std::int64_t joined = joiner_.counts().joined;
  rate_ = static_cast<double>(joined - joined_before_) / seconds;
  joined_before_ = joined;
  published_ = now;
  show_network(now);
  if (solver_ && joined > 0 && solver_->wants_more()) {
    const std::vector<JoinedFrame> offered = frames_to_offer();
    solver_->offer(frames_of(joiner_, offered), basis_, now,
                   static_cast<std::int64_t>(offered.size()) < joined);
  }
  board_.publish_positions(shown_positions_);
  const SharedImage network = board_.network(), solved = board_.solver();
  LivePoint point{.seconds = now, .joined = joined, .rate = rate_};
  if (network) point.network_deviance = network->deviance;
  if (solved) point.solver_deviance = solved->deviance;
  if (std::isnan(point.network_deviance) && !points_.empty())
    point.network_deviance = points_.back().network_deviance;
  half_sets_.look(canvas_, now);
  point.half_set_frc = half_sets_.crossing();
  points_.push_back(point);
  board_.add(point);
  if (stopped_by_.empty()) look_for_a_stop();
  board_.publish(
      LiveStatus{.source = basis_.source,
                 .state = board_.paused ? "paused" : state,
                 .counts = joiner_.counts(),
                 .expected = joiner_.expected(),
                 .behind = static_cast<std::int64_t>(waiting_.size()),
                 .waiting_messages = static_cast<std::int64_t>(waiting_messages),
                 .seconds = now,
                 .rate = rate_,
                 .lag_seconds = waiting_.empty() ? 0 : now - waiting_.front().came,
                 .bytes_in_memory = joiner_.store().bytes() - joiner_.store().bytes_on_disk(),
                 .bytes_on_disk = joiner_.store().bytes_on_disk(),
                 .stopped_by = stopped_by_});
  const bool due = options_.keep_every_s > 0 && now - kept_ > options_.keep_every_s;
  if ((due || board_.keep.exchange(false)) && watch_.keep) {
    kept_ = now;
    if (const SharedImage shown = board_.shown()) keep_shown(*shown);
  }
}

void Session::look_for_a_stop() {
  stopped_by_ = reached(rule_, points_);
  if (stopped_by_.empty() && board_.stop) stopped_by_ = "viewer";
  if (stopped_by_.empty() || !watch_.enough) return;
  const LivePoint& last = points_.back();
  watch_.enough({.why = stopped_by_,
                 .index = largest_joined_,
                 .frames = last.joined,
                 .expected = joiner_.expected(),
                 .network_deviance = last.network_deviance,
                 .solver_deviance = last.solver_deviance,
                 .half_set_frc = last.half_set_frc,
                 .seconds = last.seconds});
}

/// A disk that is full now may not be at the end.
void Session::keep_shown(const LiveImage& shown) {
  try {
    watch_.keep(shown);
  } catch (const std::exception& error) {
    warn("the image on show could not be kept: {}", error.what());
  }
}

bool Session::ended(const std::vector<std::unique_ptr<RunningSource>>& sources, double now) {
  const bool all_done = std::ranges::all_of(sources, [](const auto& each) { return each->done(); });
  if (all_done) return true;
  if (frames_ended_ < 0) return false;
  if (joiner_.complete()) return true;
  return now - std::max(frames_ended_, last_message_) > options_.patience_s;
}

LiveEnd Session::end(double now, const std::vector<std::unique_ptr<RunningSource>>& sources) {
  if (solver_) solver_->finish();
  LiveEnd end{.basis = basis_,
              .counts = joiner_.counts(),
              .expected = joiner_.expected(),
              .missing_frames = joiner_.missing_frames(),
              .without_position = joiner_.without_position(),
              .without_frame = joiner_.without_frame(),
              .stopped_by = interrupted() ? "interrupt" : stopped_by_,
              .seconds = now,
              .latencies_s = latencies_};
  if (!options_.only_receive) end.frames = frames_of(joiner_, joiner_.joined());
  for (const auto& source : sources)
    if (source->done() && !source->fault().empty()) end.faults.push_back(source->fault());
  return end;
}

/// Until the run ends; what is in the queue then is taken too.
void listen(Session& session, MessageQueue& queue,
            const std::vector<std::unique_ptr<RunningSource>>& sources, const Stopwatch& clock) {
  bool done = false;
  while (!done) {
    const auto wait = std::chrono::milliseconds(session.waiting() > 0 ? 0 : 20);
    // Asked before the queue is: what a source put into it before its end is still taken.
    const bool last_look = session.ended(sources, clock.seconds());
    std::vector<LiveMessage> messages = queue.take(wait, kMessagesAtOnce);
    for (LiveMessage& message : messages) session.take(std::move(message), clock.seconds());
    const bool shown = session.show_some(clock.seconds());
    session.publish(clock.seconds(), "running", queue.size());
    done = (last_look && messages.empty() && !shown) || session.stop_reached() || interrupted();
  }
  session.publish(clock.seconds(), "ending", queue.size());
  queue.close();
  for (std::vector<LiveMessage> rest; !(rest = queue.take({}, kMessagesAtOnce)).empty();)
    for (LiveMessage& message : rest) session.take(std::move(message), clock.seconds());
}

}  // namespace

LiveEnd run_live(const std::vector<SourceUrl>& urls, const LiveBasis& basis,
                 const std::optional<Model>& model, const InferOptions& infer,
                 const BackgroundOptions& background, const LiveOptions& options,
                 const std::filesystem::path& folder, Recorder* recorder, LiveBoard& board,
                 const LiveWatch& watch) {
  const CatchInterrupts catching;
  require_in_range(options);
  const Stopwatch clock;
  MessageQueue queue(kQueueBytes);
  SourceSink sink{queue, recorder, clock};
  Session session(basis, model, infer, background, options, folder, board, watch);
  std::vector<std::unique_ptr<RunningSource>> sources;
  // However this ends, the sources are told before they are waited for.
  struct Closing {
    MessageQueue& queue;
    ~Closing() { queue.close(); }
  };
  try {
    for (const SourceUrl& url : urls) sources.push_back(std::make_unique<RunningSource>(url, sink));
  } catch (...) {
    queue.close();
    throw;
  }
  const Closing closing{queue};
  std::string fault;
  try {
    listen(session, queue, sources, clock);
  } catch (const std::exception& error) {  // what came is kept all the same
    fault = error.what();
    warn("the live image ends: {}", fault);
  }
  queue.close();
  LiveEnd end = session.end(clock.seconds(), sources);
  if (!fault.empty()) {
    end.faults.push_back(fault);
    end.stopped_by = "fault";
  }
  return end;
}

}  // namespace ptyche
