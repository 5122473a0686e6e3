#include "ptyche/core/parallel.h"

#include <ATen/Parallel.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "ptyche/core/messages.h"

namespace ptyche {
namespace {

/// Runs work() in `members` new threads, in each of which LibTorch uses one; they say nothing where
/// the caller's thread does not.
void with_team(std::int64_t members, const std::function<void()>& work) {
  const int threads = at::get_num_threads();
  const bool nothing = silent();
  std::vector<std::thread> team;
  for (std::int64_t i = 0; i < members; ++i)
    team.emplace_back([&] {
      at::set_num_threads(1);
      std::optional<Silence> silence;
      if (nothing) silence.emplace();
      work();
    });
  for (std::thread& each : team) each.join();
  at::set_num_threads(threads);
}

}  // namespace

void side_by_side(std::int64_t jobs, const std::function<void(std::int64_t)>& job) {
  const int threads = at::get_num_threads();
  if (jobs == 1) {  // a new thread would know nothing of what LibTorch has kept for this one
    at::set_num_threads(1);
    const auto restore = c10::make_scope_exit([&] { at::set_num_threads(threads); });
    job(0);
    return;
  }
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(jobs));
  std::atomic<std::int64_t> next = 0;
  with_team(std::min<std::int64_t>(threads, jobs), [&] {
    for (std::int64_t own = next++; own < jobs; own = next++) {
      try {
        job(own);
      } catch (...) {
        errors[static_cast<std::size_t>(own)] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

namespace {

/// Whose turn it is to be taken, and what went wrong.
struct Turns {
  std::mutex changing;
  std::condition_variable changed;
  std::int64_t turn = 0;
  std::exception_ptr error;

  /// Waits for the turn of `number` and takes what it has made; not after an error.
  void take(std::int64_t number, const std::function<void()>& work) {
    std::unique_lock lock(changing);
    changed.wait(lock, [&] { return turn == number || error; });
    if (error) return;
    lock.unlock();
    work();
    lock.lock();
    ++turn;
    changed.notify_all();
  }
  void fail(const std::exception_ptr& why) {
    const std::scoped_lock lock(changing);
    if (!error) error = why;
    changed.notify_all();
  }
  bool failed() {
    const std::scoped_lock lock(changing);
    return error != nullptr;
  }
};

}  // namespace

void side_by_side_in_order(std::int64_t jobs, const std::function<at::Tensor(std::int64_t)>& make,
                           const std::function<void(const at::Tensor&)>& take) {
  const std::int64_t members = std::min<std::int64_t>(at::get_num_threads(), jobs);
  if (members <= 1) {  // with all threads inside of a job
    for (std::int64_t number = 0; number < jobs; ++number) take(make(number));
    return;
  }
  Turns turns;
  std::atomic<std::int64_t> next = 0;
  with_team(members, [&] {
    try {
      for (std::int64_t own = next++; own < jobs && !turns.failed(); own = next++) {
        const at::Tensor made = make(own);
        turns.take(own, [&] { take(made); });
      }
    } catch (...) {
      turns.fail(std::current_exception());
    }
  });
  if (turns.error) std::rethrow_exception(turns.error);
}

}  // namespace ptyche
