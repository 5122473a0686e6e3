// A result on the page on which runs are looked at.
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "ptyche/commands/command_line.h"
#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/io/product.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/result.h"
#include "ptyche/live/side_by_side.h"
#include "ptyche/live/view_server.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

struct ViewVerbOptions {
  fs::path result, other;
  ViewOptions view{.view = "8642", .token = ""};
  double seconds = 0;
};

/// As a board shows it.
SharedImage on_board(Reconstruction image, const fs::path& file, at::Tensor trust = {}) {
  if (!image.coverage.defined()) image.coverage = at::ones(image.projection().sizes());
  const std::int64_t patterns = image.positions.defined() ? image.positions.size(0) : 0;
  return std::make_shared<const LiveImage>(LiveImage{.image = std::move(image),
                                                     .by = file.string(),
                                                     .frames = patterns,
                                                     .trust = std::move(trust)});
}

/// What the result has of how sure it is, on the canvas of its object: where two starts differ, as
/// its verdict has it, or the expected error of a network's image; undefined where there is none.
at::Tensor trust_in(const fs::path& file, const at::Tensor& object) {
  StoredScores stored;
  try {
    stored = read_stored_scores(file);
  } catch (const InvalidInput&) {  // another program's result
  }
  if (stored.trust && stored.trust->map.defined() && stored.trust->map.sizes() == object.sizes())
    return stored.trust->map;
  const std::optional<Verdict>& verdict = stored.verdict;
  if (!verdict || !verdict->map.defined()) return {};
  const Window& window = verdict->window;
  if (window.row_end > object.size(0) || window.col_end > object.size(1)) return {};
  at::Tensor trust = at::full(object.sizes(), std::numeric_limits<float>::quiet_NaN(), at::kFloat);
  cut(trust, window).copy_(verdict->map);
  return trust;
}

/// The image, and what goes with it, as a board that nothing more happens to; a second one beside
/// it.
void show_results(LiveBoard& board, const fs::path& file, const fs::path& other) {
  Reconstruction image = read_result(file).image;
  at::Tensor trust = trust_in(file, image.projection());
  const SharedImage shown = on_board(std::move(image), file, std::move(trust));
  const at::Tensor& positions = shown->image.positions;
  if (shown->frames > 0) {
    const at::Tensor places = positions.to(at::kFloat).contiguous();
    board.publish_positions({places.data_ptr<float>(), places.data_ptr<float>() + places.numel()});
  }
  LiveStatus status{.source = file.string(), .state = "done", .expected = shown->frames};
  status.counts.joined = status.counts.frames = status.counts.positions = shown->frames;
  SharedImage beside;
  if (!other.empty())
    beside = with_context(other.string() + " beside " + file.string(), [&] {
      return on_board(brought_onto(shown->image, read_object_file(other)), other);
    });
  board.publish(shown, true);
  if (beside) board.publish_other(beside);
  board.publish(status);
}

std::optional<fs::file_time_type> time_of(const fs::path& file) {
  std::error_code none;
  const fs::file_time_type time = fs::last_write_time(file, none);
  return none ? std::nullopt : std::optional(time);
}

void run_view(const ViewVerbOptions& options) {
  const CatchInterrupts catching;
  const fs::path file = result_file(options.result), other = result_file(options.other);
  const auto times = [&] { return std::pair{time_of(file), time_of(other)}; };
  LiveBoard board;
  auto shown = times();
  show_results(board, file, other);
  const ViewServer server(board, options.view);
  show("{} shows {}{}; Ctrl-C ends it\n", server.address(), file.string(),
       other.empty() ? "" : " and " + other.string());
  std::fflush(stdout);
  const Stopwatch watch;
  while (!interrupted() && (options.seconds <= 0 || watch.seconds() < options.seconds)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto now = times();
    const bool there = now.first && (now.second || other.empty());
    if (!there || now == shown) continue;
    shown = now;
    try {
      show_results(board, file, other);
    } catch (const InvalidInput& error) {
      warn("{}", error.what());
    }
  }
}

}  // namespace

Command view_command() {
  const auto options = std::make_shared<ViewVerbOptions>();
  std::vector<Field> list = without(fields(options->view), {"token"});
  list.push_back({.name = "seconds",
                  .target = &options->seconds,
                  .unit = "s",
                  .help = "time after which the page ends by itself; 0 = at Ctrl-C",
                  .range = {0, 1e9}});
  return {
      .name = "view",
      .summary = "a result on a web page, to zoom and to measure in",
      .description =
          "Shows a result of any known program on the page that `ptyche live --view` shows, and "
          "again whenever the file changes. A second one is brought onto the first as `ptyche "
          "compare` does it, and seen beside it on the two sides of a divider.",
      .arguments = {{"RESULT", &options->result,
                     "reconstruction.h5, another result, or its folder"},
                    {"OTHER", &options->other, "a second one, or a simulated scan for its truth",
                     /*required=*/false}},
      .options = std::move(list),
      .references = {},
      .run = [options] { run_view(*options); }};
}

}  // namespace ptyche
