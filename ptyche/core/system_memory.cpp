#include "ptyche/core/system_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The number after `key` in a file of the system, or the file's first word where there is no key.
double stated(const fs::path& file, const std::string& key = "") {
  std::ifstream in(file);
  std::string word;
  double number = 0;
  if (key.empty()) return in >> number ? number : kInfinite;
  while (in >> word)
    if (word == key && in >> number) return number;
  return kInfinite;
}

double machine_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

double address_space_used() {
  return stated("/proc/self/statm") * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

/// What a version of control groups calls things.
struct GroupFiles {
  const char* root;
  const char *limit, *usage, *droppable;
};
constexpr GroupFiles kFirstVersion{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                   "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kSecondVersion{"/sys/fs/cgroup", "memory.max", "memory.current",
                                    "inactive_file"};

/// The group of this process and those above it, as far as they can be seen.
std::vector<fs::path> groups_of(const GroupFiles& files, const std::string& name) {
  std::vector<fs::path> groups;
  fs::path inner = fs::path(name).relative_path();
  for (;; inner = inner.parent_path()) {
    groups.push_back(files.root / inner);
    if (inner.empty()) return groups;
  }
}

struct GroupMemory {
  double limit = kInfinite, free = kInfinite;
};

GroupMemory memory_of(const GroupFiles& files, const std::string& name) {
  GroupMemory least;
  for (const fs::path& group : groups_of(files, name)) {
    const double limit = stated(group / files.limit);
    if (!std::isfinite(limit)) continue;
    const double used = stated(group / files.usage);
    const double droppable = stated(group / "memory.stat", files.droppable);
    const double taken =
        std::isfinite(used) ? used - (std::isfinite(droppable) ? droppable : 0) : 0;
    least.limit = std::min(least.limit, limit);
    least.free = std::min(least.free, limit - taken);
  }
  return least;
}

/// Of all groups that this process is in: the lines of /proc/self/cgroup are
/// number:controllers:name.
GroupMemory group_memory() {
  GroupMemory least;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const bool second_version = controllers == ",,";
    if (!second_version && controllers.find(",memory,") == std::string::npos) continue;
    const GroupMemory found =
        memory_of(second_version ? kSecondVersion : kFirstVersion, line.substr(second + 1));
    least.limit = std::min(least.limit, found.limit);
    least.free = std::min(least.free, found.free);
  }
  return least;
}

}  // namespace

double address_space() {
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<double>(limit.rlim_cur) : kInfinite;
}

double memory_there() {
  return std::min({machine_memory(), address_space(), group_memory().limit});
}

double free_memory() {
  const double available = 1024 * stated("/proc/meminfo", "MemAvailable:");
  return std::max(0.0, std::min({machine_memory(), available, group_memory().free,
                                 address_space() - address_space_used()}));
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double pages = 0;
  in >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace ptyche
