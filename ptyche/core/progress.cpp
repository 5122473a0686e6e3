#include "ptyche/core/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>

namespace ptyche {

namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kLogInterval = std::chrono::seconds(60);

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

thread_local int silences = 0;

}  // namespace

Silence::Silence() { ++silences; }

Silence::~Silence() { --silences; }

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(seconds, 0.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(std::string what, std::int64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(std::max<std::int64_t>(total, 1)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_ - kLogInterval) {}

Progress::~Progress() { finish(); }

void Progress::step(std::int64_t done, std::int64_t units, const std::string& detail) {
  const auto now = Clock::now();
  if (first_done_ < 0) {
    first_done_ = done;
    first_units_ = units;
    start_ = now;
  }
  const auto interval = terminal_ ? std::chrono::duration_cast<Clock::duration>(kTerminalInterval)
                                  : std::chrono::duration_cast<Clock::duration>(kLogInterval);
  if (done < total_ && now - last_ < interval) return;
  last_ = now;
  print(done, units, detail);
}

std::string Progress::pace(std::int64_t done, std::int64_t units) const {
  if (done <= first_done_) return "";
  const double elapsed = std::max(seconds_between(start_, Clock::now()), 1e-9);
  const double rate = static_cast<double>(units - first_units_) / elapsed;
  const double left =
      elapsed * static_cast<double>(total_ - done) / static_cast<double>(done - first_done_);
  return fmt::format("{:.0f} {}/s  {} left  ", rate, unit_, format_duration(left));
}

void Progress::print(std::int64_t done, std::int64_t units, const std::string& detail) {
  if (silences > 0) return;
  const auto filled = static_cast<std::size_t>(20 * done / total_);
  const std::string bar = std::string(filled, '#') + std::string(20 - filled, '.');
  const std::string line =
      fmt::format("{} [{}] {}/{}  {}{}", what_, bar, done, total_, pace(done, units), detail);
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
  line_open_ = terminal_;
}

void Progress::finish() {
  if (line_open_) fmt::print(stderr, "\n");
  line_open_ = false;
}

void print_note(const std::string& text) {
  if (silences == 0) fmt::print(stderr, "{}\n", text);
}

void print_warning(const std::string& text) {
  if (silences == 0) fmt::print(stderr, "warning: {}\n", text);
}

namespace {

volatile std::sig_atomic_t signal_came = 0;

extern "C" void remember(int signal) {
  if (signal_came != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  signal_came = 1;
}

}  // namespace

CatchInterrupts::CatchInterrupts()
    : interrupt_(std::signal(SIGINT, remember)), terminate_(std::signal(SIGTERM, remember)) {}

CatchInterrupts::~CatchInterrupts() {
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
}

bool interrupted() { return signal_came != 0; }

}  // namespace ptyche
