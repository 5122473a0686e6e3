#include "ptyche/core/parallel.h"

#include <ATen/Parallel.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace ptyche {

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
  const auto work = [&] {
    at::set_num_threads(1);
    for (std::int64_t own = next++; own < jobs; own = next++) {
      try {
        job(own);
      } catch (...) {
        errors[static_cast<std::size_t>(own)] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> team;
  const auto members = std::min<std::int64_t>(threads, jobs);
  for (std::int64_t i = 0; i < members; ++i) team.emplace_back(work);
  for (std::thread& each : team) each.join();
  at::set_num_threads(threads);
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace ptyche
