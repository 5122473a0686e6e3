// A result on the page on which runs are looked at.
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "ptyche/commands/command_line.h"
#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/result.h"
#include "ptyche/live/view_server.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

struct ViewVerbOptions {
  fs::path result;
  ViewOptions view{.view = "8642", .token = ""};
  double seconds = 0;
};

/// The image, and what goes with it, as a board that nothing more happens to.
void show_result(LiveBoard& board, const fs::path& file) {
  Reconstruction image = read_result(file).image;
  if (!image.coverage.defined()) image.coverage = at::ones(image.object.sizes());
  const std::int64_t patterns = image.positions.defined() ? image.positions.size(0) : 0;
  if (patterns > 0) {
    const at::Tensor places = image.positions.to(at::kFloat).contiguous();
    board.publish_positions({places.data_ptr<float>(), places.data_ptr<float>() + places.numel()});
  }
  LiveStatus status{.source = file.string(), .state = "done", .expected = patterns};
  status.counts.joined = status.counts.frames = status.counts.positions = patterns;
  board.publish(std::make_shared<const LiveImage>(LiveImage{std::move(image), "result", patterns}),
                true);
  board.publish(status);
}

std::optional<fs::file_time_type> time_of(const fs::path& file) {
  std::error_code none;
  const fs::file_time_type time = fs::last_write_time(file, none);
  return none ? std::nullopt : std::optional(time);
}

void run_view(const ViewVerbOptions& options) {
  const CatchInterrupts catching;
  const fs::path file =
      fs::is_directory(options.result) ? options.result / "reconstruction.h5" : options.result;
  LiveBoard board;
  std::optional<fs::file_time_type> shown = time_of(file);
  show_result(board, file);
  const ViewServer server(board, options.view);
  show("{} shows {}; Ctrl-C ends it\n", server.address(), file.string());
  std::fflush(stdout);
  const Stopwatch watch;
  while (!interrupted() && (options.seconds <= 0 || watch.seconds() < options.seconds)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto now = time_of(file);
    if (!now || now == shown) continue;
    shown = now;
    try {
      show_result(board, file);
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
                  .help = "end by itself after so long; 0 = at Ctrl-C",
                  .range = {0, 1e9}});
  return {
      .name = "view",
      .summary = "a result on a web page, to zoom and to measure in",
      .description =
          "Shows a result of any known program on the page that `ptyche live --view` shows, and "
          "again whenever the file changes.",
      .arguments = {{"RESULT", &options->result,
                     "reconstruction.h5, another result, or its folder"}},
      .options = std::move(list),
      .references = {},
      .run = [options] { run_view(*options); }};
}

}  // namespace ptyche
