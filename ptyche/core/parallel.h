// Independent pieces of work side by side, one thread each.
#pragma once

#include <cstdint>
#include <functional>

namespace ptyche {

/// Runs job(0) .. job(jobs - 1), as many at once as LibTorch may use threads. Inside a job LibTorch
/// and the kernels use one thread, so that what it computes does not depend on their number. All
/// jobs are run; then the first exception by number is thrown on.
void side_by_side(std::int64_t jobs, const std::function<void(std::int64_t)>& job);

}  // namespace ptyche
