// All messages of a live run in one HDF5 file, with their times: written while the run goes on,
// whole at any moment (a killed program leaves what it had written), and replayed later message by
// message.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ptyche/core/progress.h"
#include "ptyche/live/message.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// The HDF5 library is one for the process and knows no threads: whoever calls it while sources run
/// holds this.
std::mutex& hdf5_lock();

/// Appends messages. Content of the file, group `live_record`:
///   bytes     uint8, all parts of all messages, one behind the other
///   parts     int64, where each part ends in `bytes`
///   messages  int64 (n, 2), where each message ends in `parts`, and its dialect
///   times     float64, s since the record began
/// Where the disk is nearly full it stops, with a warning, before the library fails on it.
class Recorder {
 public:
  /// A new file. Throws InvalidInput where it cannot be made.
  explicit Recorder(const std::filesystem::path& file);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// From any thread.
  void add(const RawMessage& message);
  /// To the disk, all of it; also done twice a second by `add`.
  void flush();
  /// Whether all that was added is on the disk, now that it has been flushed.
  bool whole();
  std::int64_t messages() const { return written_messages_; }

 private:
  struct Table;
  void append_locked();
  std::filesystem::path file_;
  std::mutex mutex_;
  std::unique_ptr<Table> table_;
  std::string bytes_;
  std::vector<std::int64_t> parts_, messages_;
  std::vector<double> times_;
  std::int64_t written_bytes_ = 0, written_parts_ = 0, written_messages_ = 0;
  Stopwatch watch_;
  double flushed_ = 0;
  bool full_ = false;
};

/// Whether the file is a record.
bool is_record(const std::filesystem::path& file);

/// Gives every message of a record and its time in their order, until `take` says false. Throws
/// InvalidInput for a file that is none or is damaged.
void read_record(const std::filesystem::path& file,
                 const std::function<bool(RawMessage, double)>& take);

}  // namespace ptyche
