// Independent pieces of work side by side, one thread each.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace ptyche {

/// Runs job(0) .. job(jobs - 1), as many at once as LibTorch may use threads. Inside a job LibTorch
/// and the kernels use one thread, so that what it computes does not depend on their number; it
/// says nothing where the caller is silent (messages.h). All jobs are run; then the first exception
/// by number is thrown on.
void side_by_side(std::int64_t jobs, const std::function<void(std::int64_t)>& job);

/// The same for work whose results belong in an order: make(0) .. make(jobs - 1) run side by side,
/// and take is given what each has made, one at a time, by number. No more results than threads are
/// kept. A single job has all threads for itself. The first exception ends it: jobs under way are
/// finished, no other one is begun.
void side_by_side_in_order(std::int64_t jobs, const std::function<at::Tensor(std::int64_t)>& make,
                           const std::function<void(const at::Tensor&)>& take);

}  // namespace ptyche
