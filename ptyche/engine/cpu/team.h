// Threads that share the work on one canvas.
#pragma once

#include <omp.h>

#include <cstdint>

namespace ptyche::cpu {

/// Threads that work on one canvas together: members first..first + size - 1.
struct Team {
  int first = 0, size = 1;
};

/// work(i, thread) for i in 0..count-1, in blocks of consecutive i per thread.
template <class Work>
void share(const Team& team, std::int64_t count, const Work& work) {
  if (team.size == 1) {
    for (std::int64_t i = 0; i < count; ++i) work(i, team.first);
    return;
  }
#pragma omp parallel for num_threads(team.size) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) work(i, team.first + omp_get_thread_num());
}

/// The rows of a canvas that one member of a team owns.
struct Band {
  std::int64_t first, last;
};

inline Band band_of(std::int64_t member, int members, std::int64_t rows) {
  return {rows * member / members, rows * (member + 1) / members};
}

}  // namespace ptyche::cpu
