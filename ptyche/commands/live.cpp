// Images while the scan runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "ptyche/commands/automatic_run.h"
#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/run_result.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/product.h"
#include "ptyche/io/result.h"
#include "ptyche/live/session.h"
#include "ptyche/live/view_server.h"
#include "ptyche/prepare/first_probe.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

enum class AtEnd { go_on, solve, infer, nothing };

struct LiveVerbOptions {
  std::vector<fs::path> sources;
  ReadOptions read{.hold_out = std::nullopt};
  InferOptions infer;
  LiveOptions live;
  ViewOptions view;
  ProbeChoice probe;
  fs::path model, like, record, output;
  std::int64_t threads = 0;
  AtEnd at_end = AtEnd::go_on;
  bool overwrite = false, resume = false, keep_scan = true;
};

Command declare(const std::shared_ptr<LiveVerbOptions>& options);

constexpr const char* kScanFile = "scan.cxi";
constexpr const char* kListFile = "live.json";

RunFiles live_files() { return joined(image_files(), {.names = {kScanFile, kListFile}}); }

/// Without a probe of its own the scan's stands, or one is looked for in the first patterns.
LiveBasis basis_of(const LiveVerbOptions& options) {
  LiveBasis basis{.source = options.sources.front().string()};
  if (options.like.empty()) return basis;
  const Result like = read_result(options.like);
  require(like.image.probe.defined() && like.image.probe.numel() > 0,
          "{}: expected a result with a probe", options.like.string());
  basis.probe = like.image.main_probe();
  basis.probe_calibrated = true;
  basis.geometry = like.image.geometry;
  return basis;
}

/// --probe FILE instead of what the sources or --like say.
void choose_probe(LiveBasis& basis, const ProbeChoice& choice) {
  if (choice.probe == "auto" || choice.probe == "scan") return;
  require(fs::exists(choice.probe), "--probe: expected auto, scan or a file, found '{}'",
          choice.probe);
  basis.probe = read_probe_file(choice.probe);
  basis.probe_calibrated = false;
}

nlohmann::ordered_json counted(const LiveEnd& end) {
  std::vector<double> late = end.latencies_s;
  std::ranges::sort(late);
  const auto quantile = [&](double share) {
    return late.empty()
               ? 0
               : 1e3 * late[static_cast<std::size_t>(share * static_cast<double>(late.size() - 1))];
  };
  std::vector<std::int64_t> indices;
  for (const JoinedFrame& each : end.frames.places) indices.push_back(each.index);
  nlohmann::ordered_json list = {{"seconds", end.seconds},
                                 {"ended_by", end.stopped_by.empty() ? "the scan" : end.stopped_by},
                                 {"expected", end.expected}};
  list.update(to_json(end.counts));
  list.update({{"latency_ms", {{"median", quantile(0.5)}, {"p99", quantile(0.99)}}},
               {"missing_frames", ranges_text(end.missing_frames, 100'000)},
               {"frames_without_position", ranges_text(end.without_position, 100'000)},
               {"positions_without_frame", ranges_text(end.without_frame, 100'000)},
               {"indices", ranges_text(indices, 100'000)},
               {"faults", end.faults}});
  return list;
}

/// What came, on the terminal: one line, and one for each thing that went wrong.
void say_end(const LiveEnd& end) {
  const JoinCounts& counts = end.counts;
  summarise("live      {} of {} patterns joined in {:.1f} s{}\n", counts.joined, end.expected,
            end.seconds, end.stopped_by.empty() ? "" : ", ended by " + end.stopped_by);
  const auto say = [](const char* what, const std::vector<std::int64_t>& list) {
    if (!list.empty()) warn("{} {}: {}", list.size(), what, ranges_text(list));
  };
  say("frames never came", end.missing_frames);
  say("frames have no position", end.without_position);
  if (counts.repeated_frames > 0)
    note("{} frames came more than once; the first of each is kept{}", counts.repeated_frames,
         counts.different_frames > 0
             ? fmt::format(", {} were not the same again", counts.different_frames)
             : "");
  if (counts.different_positions > 0)
    warn("{} positions came again with other values; the first of each is kept",
         counts.different_positions);
  if (counts.other_series > 0)
    warn("{} frames of another series are not in the image", counts.other_series);
  if (counts.other_shape > 0)
    warn("{} frames of another size are not in the image", counts.other_shape);
  if (counts.damaged_messages > 0) warn("{} messages could not be read", counts.damaged_messages);
  for (const std::string& fault : end.faults) warn("{}", fault);
}

/// The image that the run is left with.
struct Final {
  Reconstruction image;
  bool stamped = false;
};

Final final_image(const LiveVerbOptions& options, const LiveEnd& end, const Scan& scan,
                  const std::optional<Model>& model, const LiveBoard& board,
                  const RunRecord& record) {
  const SharedImage shown = board.shown();
  const bool cut_short = end.stopped_by == "interrupt";
  if (options.at_end == AtEnd::infer && !cut_short) {
    Final done;
    const Model lit = model_for(scan, *model);
    done.image = network_image(lit, scan, options.infer);
    record.stamp(done.image, lit, {});
    return {std::move(done.image), true};
  }
  if (options.at_end == AtEnd::nothing || cut_short) {
    require(shown != nullptr, "no image yet: the patterns are in {}",
            (options.output / kScanFile).string());
    return {shown->image};
  }
  std::optional<Reconstruction> start;
  if (options.at_end == AtEnd::go_on && shown &&
      scan.frames() == static_cast<std::int64_t>(end.frames.size())) {
    start = shown->image;
    start->positions = scan.positions();
    start->frame_use = scan.frame_use();
  }
  const AutomaticOptions automatic{.seed = options.live.seed,
                                   .start_is_solved = start && shown->by == "solver"};
  AutomaticResult found = run_automatically(scan, start, automatic, options.output,
                                            /*resume=*/false, record);
  require_whole(found.end, options.output, false);
  return {std::move(found.image), true};
}

/// The scan's judges stay what they were while it ran, unless it is solved anew.
Scan scan_at_end(const LiveVerbOptions& options, const LiveEnd& end) {
  ReadOptions read = options.read;
  if (options.at_end == AtEnd::solve) return whole_scan(end.frames, end.basis, read);
  read.hold_out = 0.0;
  const Scan scan = whole_scan(end.frames, end.basis, read);
  if (options.at_end == AtEnd::infer) return scan;
  at::Tensor use = scan.frame_use().clone();
  for (std::size_t i = 0; i < end.frames.size(); ++i)
    if (const auto row = static_cast<std::int64_t>(i);
        is_held_out(options.live.seed, end.frames.places[i].index) && use[row].item<int>() == 0)
      use[row] = static_cast<int>(FrameUse::held_out);
  return scan.with_frame_use(use);
}

/// With what has come so far of telling the control system.
void write_list(const LiveVerbOptions& options, const LiveEnd& end,
                const std::optional<NoticeOutcome>& notice) {
  nlohmann::ordered_json list = counted(end);
  if (notice)
    list["stop_notice"] = {{"to", options.live.stop_notify},
                           {"told", notice->told},
                           {"failures", notice->failures},
                           {"fault", notice->fault}};
  write_text(options.output / kListFile, list.dump(2) + "\n");
}

void finish(const LiveVerbOptions& options, const LiveEnd& end, const std::optional<Model>& model,
            const LiveBoard& board, const RunRecord& record, const Stopwatch& watch) {
  say_end(end);
  if (options.live.only_receive) return;
  const Scan scan = scan_at_end(options, end);
  if (options.keep_scan) write_cxi(options.output / kScanFile, scan);
  Final done = final_image(options, end, scan, model, board, record);
  if (!done.stamped) record.stamp(done.image, {});
  if (done.image.positions.size(0) != scan.frames()) {
    done.image.positions = scan.positions();
    done.image.frame_use = scan.frame_use();
  }
  write_image(options.output, done.image, scan, {.seconds = watch.seconds()}, {});
}

void require_sense(const LiveVerbOptions& options) {
  as_usage([&] {
    stop_rule(options.live.stop_when);
    if (!options.live.stop_notify.empty()) notice_place(options.live.stop_notify);
  });
  if (options.at_end == AtEnd::infer && options.model.empty())
    throw UsageError("--at-end infer: it is the image of a network; --model names it");
  if (options.resume && options.record.empty())
    throw UsageError("--resume: it replays what --record has kept; name that file");
  require(options.record.empty() || options.resume || !fs::exists(options.record),
          "--record {}: expected a new file, found one that is there; --resume goes on with it",
          options.record.string());
}

/// The sources; before them what earlier runs have recorded, which this one records again.
std::vector<SourceUrl> sources_of(const LiveVerbOptions& options, std::vector<fs::path>& earlier) {
  std::vector<SourceUrl> urls;
  const auto kept = [&](int number) {
    return fs::path(options.record).concat(fmt::format(".before-{}", number));
  };
  int number = 1;
  for (; options.resume && fs::exists(kept(number)); ++number) earlier.push_back(kept(number));
  if (options.resume && fs::exists(options.record)) {
    fs::rename(options.record, kept(number));
    earlier.push_back(kept(number));
  }
  for (const fs::path& each : earlier)
    urls.push_back({.text = each.string(), .scheme = "file", .place = each.string()});
  for (const fs::path& each : options.sources) {
    urls.push_back(source_url(each.string()));
    // Records hold raw messages, which are to be understood as those that still come.
    for (std::size_t i = 0; i < earlier.size(); ++i)
      urls[i].options.merge(std::map(urls.back().options));
  }
  return urls;
}

void run_live_verb(const LiveVerbOptions& options, const std::string& options_json) {
  const Stopwatch watch;
  const RunRecord record(options_json, options.live.seed);
  require_sense(options);
  use_threads(options.threads);
  for (const fs::path& each : options.sources) source_url(each.string());  // refused at once
  const OutputFolder folder(options.output, folder_use(options.overwrite || options.resume),
                            live_files());
  std::vector<fs::path> earlier;
  const std::vector<SourceUrl> urls = sources_of(options, earlier);
  std::optional<Model> model;
  if (!options.model.empty())
    model = read_model(fs::is_directory(options.model) ? options.model / "model.ptyche"
                                                       : options.model);
  LiveBasis basis = basis_of(options);
  choose_probe(basis, options.probe);
  LiveBoard board;
  std::optional<StopNotifier> notifier;
  if (!options.live.stop_notify.empty())
    notifier.emplace(notice_place(options.live.stop_notify), options.output.string());
  std::unique_ptr<Recorder> recorder;
  if (!options.record.empty()) recorder = std::make_unique<Recorder>(options.record);
  std::unique_ptr<ViewServer> server;
  if (!options.view.view.empty()) {
    server = std::make_unique<ViewServer>(board, options.view);
    show("{} shows the run; the token to stop, keep or pause it is {}\n", server->address(),
         server->token());
    std::fflush(stdout);  // whoever reads it through a pipe waits for it
  }
  const auto keep = [&](const LiveImage& shown) {
    Reconstruction image = shown.image;
    record.stamp(image, {});
    const std::lock_guard lock(hdf5_lock());
    write_reconstruction(options.output / "reconstruction.h5", image);
  };
  LiveWatch hooks{.keep = keep};
  if (notifier) hooks.enough = [&](const StopNotice& notice) { notifier->tell(notice); };
  const LiveEnd end =
      run_live(urls, basis, model, options.infer, {.read = options.read, .probe = options.probe},
               options.live, options.output, recorder.get(), board, hooks);
  const bool whole = recorder && recorder->whole();
  recorder.reset();
  if (whole && end.stopped_by.empty() && end.faults.empty())
    remove_if_possible(earlier);  // the new record has it all
  write_list(options, end, notifier ? std::optional(notifier->outcome()) : std::nullopt);
  finish(options, end, model, board, record, watch);
  if (notifier) write_list(options, end, notifier->finish());
  if (end.stopped_by == "interrupt")
    throw Interrupted("stopped; all that came is kept in " + options.output.string());
}

std::vector<Field> read_fields(ReadOptions& options) {
  return without(fields(options),
                 {"format", "patterns", "positions", "scan-shape", "scan-step", "flyback",
                  "scan-rotation", "scan-index", "frames", "near-field", "source-distance",
                  "hold-out", "hold-out-file", "unseen-half", "bin"});
}

Command declare(const std::shared_ptr<LiveVerbOptions>& options) {
  return {
      .name = "live",
      .summary = "images while the scan runs",
      .description =
          "Takes frames and positions as they come, joins them by index, shows what single "
          "patterns say at "
          "once, and lets a solver work on what is there. A SOURCE is a file or folder that grows, "
          "or "
          "replay:SCAN, zmq+eiger2://HOST:PORT, zmq+eiger1://HOST:PORT, zmq+json://HOST:PORT, "
          "pva://PV (EPICS); several give "
          "frames and positions apart. Ctrl-C keeps all that came. docs/live.md has the messages.",
      .arguments = {{"SOURCE", &options->sources, "where frames and positions come from"}},
      .options = joined(
          {{output_dir_option(options->output),
            overwrite_option(options->overwrite),
            {.name = "model",
             .target = &options->model,
             .help = "model.ptyche by train, or its folder; none = images of single patterns by "
                     "physics alone, without a network",
             .short_name = "m"},
            {.name = "like",
             .target = &options->like,
             .help = "earlier result that gives probe, energy, distance and pixels"},
            {.name = "record",
             .target = &options->record,
             .help = "HDF5 file for all messages with their times, for replay:FILE",
             .affects_result = false},
            {.name = "resume",
             .target = &options->resume,
             .help = "continuation of a run that was ended: the messages of --record, then those "
                     "that still come"},
            {.name = "at-end",
             .target = choice(options->at_end, {{"go-on", AtEnd::go_on},
                                                {"solve", AtEnd::solve},
                                                {"infer", AtEnd::infer},
                                                {"none", AtEnd::nothing}}),
             .help = "the final image: go-on = the solver goes on from the live one until it "
                     "rests; solve = anew, as reconstruct does; infer = the network's alone; "
                     "none = the one on show"},
            {.name = "keep-scan",
             .target = &options->keep_scan,
             .help = "joined patterns as scan.cxi, too",
             .affects_result = false}},
           fields(options->live),
           fields(options->view),
           without(fields(options->infer), {"device"}),
           without(fields(options->probe), {}),
           read_fields(options->read),
           {threads_option(options->threads)}}),
      .references = {},
      .run = [options] { run_live_verb(*options, options_as_json(declare(options))); },
      .basic = {"output-dir", "model", "like", "probe", "record", "at-end", "stop-when",
                "overwrite", "threads"},
      .secret = {"token"}};
}

}  // namespace

Command live_command() { return declare(std::make_shared<LiveVerbOptions>()); }

}  // namespace ptyche
