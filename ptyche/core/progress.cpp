#include "ptyche/core/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "ptyche/core/events.h"

namespace ptyche {

namespace {

constexpr auto kBarInterval = std::chrono::milliseconds(100);
constexpr auto kEventInterval = std::chrono::milliseconds(100);
constexpr auto kLineInterval = std::chrono::seconds(60);

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

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
      drawn_(start_ - kBarInterval),
      said_(start_),
      sent_(start_ - kEventInterval) {}

Progress::~Progress() { finish(); }

void Progress::step(std::int64_t done, std::int64_t units, const std::string& detail, double loss) {
  const auto now = Clock::now();
  const bool first = first_done_ < 0, last = done >= total_;
  if (first) {
    first_done_ = done;
    first_units_ = units;
    start_ = now;
  }
  if (terminal_ && (last || now - drawn_ >= kBarInterval)) {
    drawn_ = now;
    print_bar(line(done, units, detail));
  }
  if (first || last || now - sent_ >= kEventInterval) {
    sent_ = now;
    send(done, units, detail, loss);
  }
  const bool after_a_minute = now - said_ >= kLineInterval;
  if (!first && !last && !after_a_minute) return;
  said_ = now;
  print_message(after_a_minute && !terminal_ ? MessageLevel::info : MessageLevel::debug,
                line(done, units, detail));
}

std::optional<Progress::Pace> Progress::pace(std::int64_t done, std::int64_t units) const {
  if (done <= first_done_) return std::nullopt;
  const double elapsed = std::max(seconds_between(start_, Clock::now()), 1e-9);
  const double rate = static_cast<double>(units - first_units_) / elapsed;
  const double left =
      elapsed * static_cast<double>(total_ - done) / static_cast<double>(done - first_done_);
  return Pace{rate, left};
}

void Progress::send(std::int64_t done, std::int64_t units, const std::string& detail,
                    double loss) const {
  if (!sends_events()) return;
  const auto now = pace(done, units);
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  send_event("progress", {{"what", what_},
                          {"done", done},
                          {"total", total_},
                          {"unit", unit_},
                          {"rate", now ? now->rate : unknown},
                          {"seconds_left", now ? now->seconds_left : unknown},
                          {"loss", loss},
                          {"detail", detail}});
}

std::string Progress::line(std::int64_t done, std::int64_t units, const std::string& detail) const {
  const auto filled = static_cast<std::size_t>(20 * done / total_);
  const std::string bar = std::string(filled, '#') + std::string(20 - filled, '.');
  const auto now = pace(done, units);
  const std::string speed = now ? fmt::format("{:.0f} {}/s  {} left  ", now->rate, unit_,
                                              format_duration(now->seconds_left))
                                : "";
  return fmt::format("{} [{}] {}/{}  {}{}", what_, bar, done, total_, speed, detail);
}

void Progress::finish() { remove_bar(); }

namespace {

volatile std::sig_atomic_t signal_came = 0;

extern "C" void remember(int signal) {
  if (signal_came != 0 && signal != SIGHUP) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  signal_came = 1;
}

}  // namespace

CatchInterrupts::CatchInterrupts()
    : interrupt_(std::signal(SIGINT, remember)),
      terminate_(std::signal(SIGTERM, remember)),
      hang_up_(std::signal(SIGHUP, remember)) {
  if (hang_up_ == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

CatchInterrupts::~CatchInterrupts() {
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
  std::signal(SIGHUP, hang_up_);
}

bool interrupted() {
  if (signal_came == 0) return false;
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  if (!said.test_and_set())
    send_event("cancelling", {{"message", "the state is saved, then the work ends"}});
  return true;
}

}  // namespace ptyche
