// Which file it is, and whether it has changed: what was found out about a file need not be found
// out again as long as it stays the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>

namespace ptyche {

/// Device, number, size, and the times of the last change to its bytes and to itself (ns).
using FileIdentity =
    std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

/// Throws InvalidInput where the file cannot be looked at.
FileIdentity identity_of(const std::filesystem::path& file);

/// What was found out, by file. Any number of threads.
template <typename Finding>
class KnownFiles {
 public:
  /// The finding about the file as it is now: the one of before, or that of `find`.
  template <typename Find>
  Finding of(const std::filesystem::path& file, Find&& find) {
    const FileIdentity identity = identity_of(file);
    const std::lock_guard lock(mutex_);
    const auto known = findings_.find(identity);
    if (known != findings_.end()) return known->second;
    return findings_.emplace(identity, find()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<FileIdentity, Finding> findings_;
};

}  // namespace ptyche
